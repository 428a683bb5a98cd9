"""Wrong input of every kind ends in one message that names the thing and the mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Abi

READING = [["chat", "hi"], ["thread", "list"], ["agent", "list"], ["config", "check"]]


@pytest.mark.parametrize("command", READING)
def test_no_configuration(
    abi: Abi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = abi(*command)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "Error: there is no config.yaml here\n"
        f"  where: {tmp_path}\n"
        "  mend: Go to a project's directory, name the file, or run 'abi new project'.\n"
    )


BAD = [
    ("modules: [", "it is not valid YAML", "config.yaml:1"),
    ("colour: red", "there is no such key", "colour"),
    ("default_agent: 7", "text is expected, not a number", "default_agent"),
    ("- a", "it holds a list", "config.yaml"),
    ("modules: [{module: no_such_module}]", "there is no Python package", "modules[0].module"),
    ("chat_model: {name: '${NO_SUCH_SECRET}'}", "NO_SUCH_SECRET is set neither", "chat_model.name"),
    (
        "services: {document: {document_adapter: {adapter: sqlit}}}",
        "no document adapter is called 'sqlit'; did you mean 'sqlite'?",
        "services.document.document_adapter.adapter",
    ),
    ("chat_model: {name: gpt}", "there is no chat model 'gpt'", "config.yaml:1: chat_model.name"),
    ("chat_model: {name: 'openai:'}", "there is no chat model 'openai:'", "chat_model.name"),
    (
        "chat_model: {name: 'opnai:gpt'}",
        "LangChain knows no provider 'opnai'; did you mean 'openai'?",
        "chat_model.name",
    ),
    ("default_agent: nobody", "no module has an agent 'nobody'", "default_agent"),
]


@pytest.mark.parametrize(("text", "what", "where"), BAD)
def test_bad_configuration(abi: Abi, tmp_path: Path, text: str, what: str, where: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(text)
    ended = abi("config", "check", "--config", str(config))
    assert (ended.code, ended.out) == (2, "")
    first, second, third, *_ = ended.err.splitlines()
    assert first.startswith("Error: ")
    assert what in first
    assert second.startswith("  where: ")
    assert where in second
    assert third.startswith("  mend: ")
    told = abi("config", "check", "--config", str(config), "--json")
    assert (told.code, what in told.json["error"]["what"]) == (2, True)


def test_every_problem_is_told(abi: Abi, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("colour: red\nsize: 7\n")
    ended = abi("config", "check", "--config", str(config))
    assert "colour" in ended.err
    assert "  also: " in ended.err
    assert "size" in ended.err.split("  also: ")[1]


def test_secrets_are_masked(abi: Abi, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "hunter2-hunter2")
    config = project / "config.yaml"
    text = config.read_text()
    config.write_text(
        text.replace(
            "  name: demonstration", "  name: demonstration\n  settings: {key: {secret: MY_KEY}}"
        )
    )
    for ended in (abi("config", "check"), abi("config", "check", "--json")):
        assert ended.code == 0
        assert "hunter2" not in ended.out + ended.err
        assert "***" in ended.out


def test_a_module_that_fails_names_itself(abi: Abi, project: Path) -> None:
    (project / project.name / "__init__.py").write_text("raise RuntimeError('broken')")
    ended = abi("chat", "hi")
    assert ended.code == 1
    assert f"where: module {project.name}" in ended.err
    assert "RuntimeError: broken" in ended.err


@pytest.mark.parametrize("command", [["chat", "hi"], ["thread", "list"]])
def test_a_corrupt_database_is_named_and_left_alone(
    abi: Abi, project: Path, command: list[str]
) -> None:
    database = project / "storage" / "documents.sqlite"
    database.parent.mkdir()
    database.write_bytes(b"this is no database" * 1000)
    ended = abi(*command)
    assert ended.code == 1
    assert str(database) in ended.err
    assert "  mend: " in ended.err
    assert database.read_bytes() == b"this is no database" * 1000


def test_a_folder_that_cannot_be_written(abi: Abi, project: Path) -> None:
    (project / "storage").write_text("a file where the folder is to be")
    ended = abi("chat", "hi")
    assert ended.code == 1
    assert str(project / "storage") in ended.err


def test_a_provider_that_is_not_installed(abi: Abi, project: Path) -> None:
    config = project / "config.yaml"
    text = config.read_text()
    config.write_text(text.replace("  name: demonstration", "  name: fireworks:x"))
    ended = abi("chat", "hi")
    assert ended.code == 1
    assert "pip install langchain-fireworks" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["thread", "nothing"],
        ["chat", "hi", "--nothing"],
        ["thread", "show"],
        ["thread", "history", "t", "--limit", "0"],
        ["demo", "--turns", "many"],
        ["demo", "--turns", "3"],
    ],
)
def test_a_wrong_call(abi: Abi, project: Path, arguments: list[str]) -> None:
    ended = abi(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "Usage: abi" in ended.err


def test_the_traceback_is_shown_when_asked_for(
    abi: Abi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABI_DEBUG", "1")
    ended = abi("agent", "list")
    assert ended.code == 2
    assert "Traceback (most recent call last)" in ended.err
