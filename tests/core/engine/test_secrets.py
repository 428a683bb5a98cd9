"""References to secrets, where they come from, and that nothing prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from naas_abi_core.engine.secrets import read_dotenv
from naas_abi_core.errors import ConfigurationError
from tests.core.engine.test_configuration import error_of, read


def settings_of(directory: Path, value: str, **environment: str) -> object:
    configuration = read(
        directory, f"chat_model: {{name: m, settings: {{x: {value}}}}}", **environment
    )
    return configuration.chat_model.settings["x"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("'${KEY}'", "s3cret"),
        ("'Bearer ${KEY}!'", "Bearer s3cret!"),
        ("{secret: KEY}", "s3cret"),
        ("['${KEY}']", ["s3cret"]),
        ("'$${KEY}'", "${KEY}"),
        ("'$KEY'", "$KEY"),
        ("{secret: KEY, other: 1}", {"secret": "KEY", "other": 1}),
        ("'${EMPTY}'", ""),
    ],
)
def test_references_are_replaced(tmp_path: Path, written: str, meant: object) -> None:
    assert settings_of(tmp_path, written, KEY="s3cret", EMPTY="") == meant


def test_the_environment_comes_before_dotenv(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=from-file\nOTHER=only-file\n")
    assert settings_of(tmp_path, "'${KEY} ${OTHER}'", KEY="from-env") == "from-env only-file"


def test_a_secret_does_not_bring_in_another(tmp_path: Path) -> None:
    assert settings_of(tmp_path, "'${KEY}'", KEY="${OTHER}", OTHER="x") == "${OTHER}"


def test_missing_secrets_are_all_named(tmp_path: Path) -> None:
    text = "chat_model:\n  settings:\n    a: ${NOT_A}\n    b: [{secret: NOT_B}, '${not a name}']\n"
    assert error_of(tmp_path, text) == (
        "DIR/config.yaml:3: chat_model.settings.a: the secret NOT_A is set neither in the "
        "environment nor in .env. Set NOT_A, or write $${NOT_A} for the text itself.\n"
        "DIR/config.yaml:4: chat_model.settings.b[0]: the secret NOT_B is set neither in the "
        "environment nor in .env. Set NOT_B, or write $${NOT_B} for the text itself.\n"
        "DIR/config.yaml:4: chat_model.settings.b[1]: 'not a name' is not the name of an "
        "environment variable. Write ${NAME} with letters, digits and underscores, or $${ for "
        "the text itself."
    )


def test_a_wrong_value_that_is_secret_is_not_printed(tmp_path: Path) -> None:
    text = "modules:\n  - module: ${KEY}\n    enabled: ${KEY}\n"
    assert "s3cret" not in error_of(tmp_path, text, KEY="s3cret value")


def test_shown_values_mask_secrets(tmp_path: Path) -> None:
    text = """\
        default_agent: a
        chat_model:
          name: m
          settings: {key: '${KEY}', url: 'https://u:${KEY}@host', pin: '${PIN}', n: 7, ok: true}
        """
    shown = read(tmp_path, text, KEY="s3cret", PIN="7").masked()
    assert shown["chat_model"]["settings"] == {
        "key": "***",
        "url": "https://u:***@host",
        "pin": "***",
        "n": "***",  # equal to a secret, so it may be one
        "ok": True,
    }
    assert shown["default_agent"] == "a"
    assert shown["modules"] == []


def test_a_configuration_does_not_show_where_secrets_come_from(tmp_path: Path) -> None:
    configuration = read(tmp_path, "default_agent: a", KEY="s3cret")
    assert "s3cret" not in repr(configuration)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A=b", "b"),
        ("A = b ", "b"),
        ("A='b # c'", "b # c"),
        ('A="b"  # comment', "b"),
        ("A=b # comment", "b"),
        ("A=b#c", "b#c"),
        ("A=", ""),
        ("A=b=c", "b=c"),
        ('A="b', '"b'),
        ("A=$B", "$B"),
    ],
)
def test_dotenv_lines(tmp_path: Path, line: str, value: str) -> None:
    file = tmp_path / ".env"
    file.write_text(f"# first\n\n{line}\n", encoding="utf-8")
    assert read_dotenv(file) == {"A": value}


def test_no_dotenv_is_nothing(tmp_path: Path) -> None:
    assert read_dotenv(tmp_path / ".env") == {}


def test_a_bad_dotenv_line_is_numbered_and_not_shown(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("A=b\nhunter2\n", encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        read_dotenv(file)
    assert str(caught.value) == (
        f"{file}:2: this line is not NAME=value. Correct it, or start it with # to have it ignored."
    )
