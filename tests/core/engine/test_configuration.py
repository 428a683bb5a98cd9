"""What a configuration may say, and the exact words of what it may not."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from naas_abi_core.engine.configuration import (
    ChatModelSettings,
    EngineConfiguration,
    find_configuration,
)
from naas_abi_core.errors import ConfigurationError

FULL = """\
default_agent: support
chat_model:
  name: demonstration
  settings: {temperature: 0}
agents:
  support:
    chat_model:
      name: openai:gpt-4.1
modules:
  - module: shop.support
    enabled: false
    path: src
    config: {greeting: Hello}
services:
  document:
    document_adapter:
      adapter: memory
      config: {size: 1}
"""


def read(directory: Path, text: str, **environment: str) -> EngineConfiguration:
    file = directory / "config.yaml"
    file.write_text(dedent(text), encoding="utf-8")
    return EngineConfiguration.from_file(file, environment)


def error_of(directory: Path, text: str, **environment: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(directory, text, **environment)
    return str(caught.value).replace(str(directory), "DIR")


def test_every_key_is_read(tmp_path: Path) -> None:
    configuration = read(tmp_path, FULL)
    assert configuration.default_agent == "support"
    assert configuration.modules[0].module == "shop.support"
    assert configuration.modules[0].enabled is False
    assert configuration.modules[0].path == Path("src")
    assert configuration.modules[0].config == {"greeting": "Hello"}
    assert configuration.services.document.document_adapter.adapter == "memory"
    assert configuration.document_adapter_config() == {"size": 1}
    assert configuration.chat_model_of("support") == ChatModelSettings(name="openai:gpt-4.1")
    assert configuration.chat_model_of("another").settings == {"temperature": 0}
    assert configuration.chat_model_of(None).name == "demonstration"


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    configuration = read(tmp_path, "")
    assert configuration.masked() == EngineConfiguration().masked()
    assert configuration.directory == tmp_path
    assert configuration.document_adapter_config() == {
        "path": str(tmp_path / "storage/documents.sqlite")
    }


def test_only_comments_are_an_empty_file(tmp_path: Path) -> None:
    assert read(tmp_path, "# nothing yet\n").masked() == EngineConfiguration().masked()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("data/d.sqlite", "DIR/data/d.sqlite"),
        ("/var/d.sqlite", "/var/d.sqlite"),
        (":memory:", ":memory:"),
    ],
)
def test_paths_are_relative_to_the_file(tmp_path: Path, written: str, meant: str) -> None:
    text = f"services: {{document: {{document_adapter: {{config: {{path: '{written}'}}}}}}}}"
    assert read(tmp_path, text).document_adapter_config() == {
        "path": meant.replace("DIR", str(tmp_path))
    }


def test_whether_a_store_is_configured_is_known(tmp_path: Path) -> None:
    assert not read(tmp_path, "modules: []").names_document_store
    assert read(tmp_path, "services: {document: {}}").names_document_store


WRONG = {
    "unknown key at the top": (
        "default_agnet: a\n",
        (
            "DIR/config.yaml:1: default_agnet: there is no such key; did you mean 'default_agent'? "
            "Valid here: agent_memory, agents, chat_model, default_agent, modules, nats, services."
        ),
    ),
    "unknown key without a near one": (
        "\nzzz: a\n",
        (
            "DIR/config.yaml:2: zzz: there is no such key. "
            "Valid here: agent_memory, agents, chat_model, default_agent, modules, nats, services."
        ),
    ),
    "unknown key below": (
        "services:\n  document:\n    document_adaptor:\n      adapter: sqlite\n",
        (
            "DIR/config.yaml:3: services.document.document_adaptor: there is no such key; did you "
            "mean 'document_adapter'? Valid here: document_adapter."
        ),
    ),
    "unknown key of a module": (
        "modules:\n  - module: shop\n    enable: true\n",
        (
            "DIR/config.yaml:3: modules[0].enable: there is no such key; did you mean 'enabled'? "
            "Valid here: config, enabled, module, path."
        ),
    ),
    "unknown key of an agent": (
        "agents:\n  support:\n    chat_model: {name: m, nam: x}\n",
        (
            "DIR/config.yaml:3: agents.support.chat_model.nam: there is no such key; did you mean "
            "'name'? Valid here: name, settings."
        ),
    ),
    "missing key": (
        "modules:\n  - enabled: true\n",
        "DIR/config.yaml:2: modules[0].module: this key is missing. Add it.",
    ),
    "wrong type": (
        "modules:\n  - module: shop\n    enabled: perhaps\n",
        (
            "DIR/config.yaml:3: modules[0].enabled: true or false is expected, not text. "
            "Correct the value."
        ),
    ),
    "text for a list": (
        "modules: shop\n",
        "DIR/config.yaml:1: modules: a list is expected, not text. Correct the value.",
    ),
    "text for a mapping": (
        "services: document\n",
        "DIR/config.yaml:1: services: keys and values are expected, not text. Correct the value.",
    ),
    "nothing for text": (
        "chat_model:\n  name:\n",
        "DIR/config.yaml:2: chat_model.name: text is expected, not nothing. Correct the value.",
    ),
    "empty text": (
        "chat_model: {name: ''}\n",
        "DIR/config.yaml:1: chat_model.name: it is empty. Correct the value.",
    ),
    "a module name that is a path": (
        "modules:\n  - module: ./shop\n",
        (
            "DIR/config.yaml:2: modules[0].module: it is not the dotted name of a Python package, "
            "such as 'shop.support'. Correct the value."
        ),
    ),
    "bad YAML": (
        "modules:\n  - module: shop\n   enabled: true\n",
        (
            "DIR/config.yaml:3: it is not valid YAML: expected <block end>, but found "
            "'<block mapping start>'. Check the indentation, colons and quotes on this line and "
            "the one before."
        ),
    ),
    "an impossible date": (
        "default_agent: 2026-99-99\n",
        (
            "DIR/config.yaml: it is not valid YAML: a value cannot be understood. Check the "
            "indentation, colons and quotes on this line and the one before."
        ),
    ),
    "a control character": (
        "default_agent: \x01\n",
        (
            "DIR/config.yaml: it is not valid YAML: a value cannot be understood. Check the "
            "indentation, colons and quotes on this line and the one before."
        ),
    ),
    "a YAML tag": (
        "default_agent: !!python/object/apply:os.getcwd []\n",
        (
            "DIR/config.yaml:1: it is not valid YAML: YAML tags (!...) are not allowed here. Check "
            "the indentation, colons and quotes on this line and the one before."
        ),
    ),
    "a key twice": (
        "default_agent: a\nmodules: []\ndefault_agent: b\n",
        "DIR/config.yaml:3: default_agent: this key is already on line 1. Keep one of the two.",
    ),
    "a key twice, below": (
        "chat_model:\n  settings:\n    a: 1\n    a: 2\n",
        (
            "DIR/config.yaml:4: chat_model.settings.a: this key is already on line 3. "
            "Keep one of the two."
        ),
    ),
    "a key that is not text": (
        "chat_model:\n  on: 1\n",
        (
            "DIR/config.yaml:2: chat_model: YAML does not read the key 'on' as text. "
            "Put the key between quotes."
        ),
    ),
    "a list": (
        "- module: shop\n",
        (
            "DIR/config.yaml:1: it holds a list, not keys and values. "
            "Write keys such as 'default_agent: NAME'."
        ),
    ),
    "two documents": (
        "modules: []\n---\nmodules: []\n",
        (
            "DIR/config.yaml:2: it is not valid YAML: but found another document. Check the "
            "indentation, colons and quotes on this line and the one before."
        ),
    ),
    "an anchor in itself": (
        "chat_model: &a\n  settings: {x: *a}\n",
        "DIR/config.yaml: it is nested too deeply, or an anchor contains itself. Write it flatter.",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_exactly(tmp_path: Path, case: str) -> None:
    text, told = WRONG[case]
    assert error_of(tmp_path, text) == told


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, "modules: shop\nchat_model: {name: 1}\n")
    problems = caught.value.problems
    assert [(problem.key, problem.line) for problem in problems] == [
        ("modules", 1),
        ("chat_model.name", 2),
    ]
    assert (caught.value.key, caught.value.line) == ("modules", 1)
    assert caught.value.mend == "Correct the value."


def test_anchors_and_merges_are_allowed(tmp_path: Path) -> None:
    text = """\
        chat_model: &model {name: m, settings: {a: 1}}
        agents:
          support: {chat_model: {<<: *model, name: n}}
        """
    assert read(tmp_path, text).chat_model_of("support") == ChatModelSettings(
        name="n", settings={"a": 1}
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        EngineConfiguration.from_file(tmp_path / "none.yaml")
    assert str(caught.value) == (
        f"{tmp_path}/none.yaml: no such file. Check the path, or run 'abi new project'."
    )


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        EngineConfiguration.from_file(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: it cannot be read: Is a directory. Check that it is a file you may read."
    )


def test_a_file_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"default_agent: \xff\xfe\n")
    with pytest.raises(ConfigurationError) as caught:
        EngineConfiguration.from_file(tmp_path / "config.yaml")
    assert str(caught.value) == f"{tmp_path}/config.yaml: it is not UTF-8 text. Save it as UTF-8."


@pytest.mark.parametrize(
    ("files", "environment", "found"),
    [
        (["config.yaml"], {}, "config.yaml"),
        (["config.yaml", "config.dev.yaml"], {}, "config.yaml"),
        (["config.yaml", "config.dev.yaml"], {"ENV": "dev"}, "config.dev.yaml"),
        (["config.yaml"], {"ENV": "dev"}, "config.yaml"),
        (["config.yaml"], {"ENV": "../dev"}, "config.yaml"),
    ],
)
def test_which_file_is_found(
    tmp_path: Path, files: list[str], environment: dict[str, str], found: str
) -> None:
    for name in files:
        (tmp_path / name).touch()
    assert find_configuration(tmp_path, environment) == tmp_path / found


def test_no_file_is_an_error_that_names_both(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_configuration(tmp_path, {"ENV": "dev"})
    assert str(caught.value) == (
        f"{tmp_path}: there is no config.dev.yaml or config.yaml here. "
        "Go to a project's directory, name the file, or run 'abi new project'."
    )


@pytest.mark.parametrize("written", ["'no'", "'false'", "0", "'${SHOP}'"])
def test_enabled_is_true_or_false_and_nothing_like_it(tmp_path: Path, written: str) -> None:
    text = f"modules: [{{module: shop, enabled: {written}}}]"
    told = error_of(tmp_path, text, SHOP="no")
    assert "modules[0].enabled: true or false is expected, not" in told


LEVELS = "abcdefghi"

BOMBS = {
    "lists": "".join(
        f"{name}: &{name} [{', '.join(['*' + before] * 10 if before else ['x'] * 10)}]\n"
        for before, name in zip(["", *LEVELS], LEVELS, strict=False)
    ),
    "merges": "".join(
        f"{name}: &{name} {{<<: [{', '.join(['*' + before] * 10)}]}}\n" if before
        else f"{name}: &{name} {{x: 1}}\n"
        for before, name in zip(["", *LEVELS], LEVELS, strict=False)
    ),
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_aliases_that_stand_for_too_much_are_refused(tmp_path: Path, bomb: str) -> None:
    told = error_of(tmp_path, BOMBS[bomb])
    assert told == (
        "DIR/config.yaml: it holds more than 100,000 values once its aliases are put in. "
        "Remove aliases (*name) that repeat other aliases."
    )


def test_merged_keys_are_read(tmp_path: Path) -> None:
    text = """\
    modules:
      - &first {module: shop, path: src}
      - {<<: *first, module: crew}
    """
    assert [each.path for each in read(tmp_path, text).modules] == [Path("src")] * 2
