from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from naas_abi_cli import builtin, specs
from naas_abi_cli.main import build_app, run
from naas_abi_core.plugins.manager import create_plugin_manager
from naas_abi_core.plugins.specs import hookimpl
from tests.cli.conftest import ABI, Abi, environment, interruptible

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def commands(app: typer.Typer) -> Iterator[tuple[str, list[str]]]:
    """Every command, and its options as written."""
    yield from _below(typer.main.get_command(app), "abi")


def _below(command: object, name: str) -> Iterator[tuple[str, list[str]]]:
    children = getattr(command, "commands", None)
    if children is None:
        options = [
            written
            for parameter in command.params  # type: ignore[attr-defined]  # a click command
            for written in parameter.opts
            if written.startswith("-")
        ]
        yield name, options
        return
    for child_name, child in children.items():
        yield from _below(child, f"{name} {child_name}")


def test_every_command_and_option_is_documented(app: typer.Typer) -> None:
    documented = REFERENCE.read_text(encoding="utf-8")
    heading = re.compile(r"^#{2,3} (abi [^\n]+)\n(.*?)(?=^#{2,3} |\Z)", re.MULTILINE | re.DOTALL)
    sections = dict(heading.findall(documented))
    found = dict(commands(app))
    assert len(found) == 14
    for name, options in found.items():
        assert name in sections, f"{name} has no section in {REFERENCE.name}"
        for option in options:
            assert f"`{option}`" in sections[name], f"{name} {option} is not documented"
    documented_commands = {name for name in sections if name in found or name.count(" ") == 2}
    assert documented_commands == set(found)


@pytest.mark.parametrize("name", ["abi", "abi thread", "abi thread show", "abi demo"])
def test_help(app: typer.Typer, name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split()[1:], "--help"])
    assert shown.exit_code == 0
    assert f"Usage: {name}" in shown.output


def test_help_imports_nothing_heavy() -> None:
    code = """
import sys
sys.argv = ["abi", "--help"]
from naas_abi_cli.main import main
try:
    main()
except SystemExit:
    pass
heavy = ["langchain", "langchain_core", "langgraph", "naas_abi_core.engine", "psycopg", "sqlite3"]
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    assert ended.stderr == "[]\n"


def test_version(script: Abi) -> None:
    assert re.fullmatch(r"naas-abi-cli \d+\.\d+\.\d+\n", script("--version").out)


def test_completion_knows_the_commands(script: Abi) -> None:
    completed = script(_ABI_COMPLETE="complete_bash", COMP_WORDS="abi thread ", COMP_CWORD="2")
    assert completed.out.split() == ["list", "show", "history", "delete"]
    shown = script(_ABI_COMPLETE="source_bash")
    assert "_ABI_COMPLETE=complete_bash" in shown.out


@pytest.mark.parametrize("command", [["agent", "list"], ["--help"], ["--version"]])
def test_a_closed_pipe_is_no_error(project: Path, command: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(
            [ABI, *command],
            stdout=writer,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            cwd=project,
            env=environment(),
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert ended.stderr == ""
    assert ended.returncode == 1


def test_ctrl_c(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [ABI, "demo", "--turns", "200", "--keep", str(tmp_path / "kept")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=interruptible,  # noqa: PLW1509 -- it gives the new process its signals only
    )
    try:
        assert process.stderr is not None
        assert "First process" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "Traceback" not in told
    assert not [each for each in _command_lines() if str(tmp_path) in each]


def _command_lines() -> list[str]:
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def test_agent_list(abi: Abi, project: Path) -> None:
    assert abi("agent", "list", "--json").json == [
        {
            "name": "assistant",
            "module": project.name,
            "description": "Answers, rolls dice, and remembers.",
            "default": True,
        }
    ]
    assert "assistant (default)" in abi("agent", "list").out


def test_a_project_without_agents(abi: Abi, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("")
    assert "No module" in abi("agent", "list", "--config", str(config)).out
    ended = abi("thread", "list", "--config", str(config))
    assert (ended.code, "no loaded module declares the document service" in ended.err) == (1, True)


def test_plugins_without_a_project(
    abi: Abi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = abi("plugins", "--json").json
    hooks = {hook["name"]: [each["plugin"] for each in hook["answers"]] for hook in told["hooks"]}
    assert set(hooks) >= {"abi_chat_model", "abi_checkpointer", "abi_commands"}
    assert hooks["abi_checkpointer"][-3:] == ["engine", "postgresql", "memory"]
    assert hooks["abi_commands"][-1] == "commands"
    assert "InMemorySaver" in told["memory"]["source"]
    assert told["memory"]["project"] == "no project here"


def test_plugins_say_where_memory_goes(
    abi: Abi, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = abi("plugins").out
    assert "abi_checkpointer\n" in told
    assert "1. engine (naas-abi-core" in told
    assert "DocumentCheckpointSaver" in told.split("\nmemory=None\n")[1]
    assert "adapter 'sqlite'" in told
    monkeypatch.setenv("POSTGRES_URL", "postgresql://someone:hunter2@nowhere/x")
    ended = abi("plugins", "--json")
    assert "PostgresSaver" in ended.json["memory"]["source"]
    assert "hunter2" not in ended.out + ended.err


def test_a_plugin_adds_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    class Greeting:
        @hookimpl
        def abi_commands(self, app: typer.Typer) -> None:
            @app.command()
            def hello() -> None:
                """Say hello."""
                typer.echo("Hello")

    manager = create_plugin_manager(
        False,
        extra_specs=[specs],
        extra_plugins=[("commands", builtin), ("greeting", Greeting())],
    )
    assert run(lambda: build_app(manager), ["hello"]) == 0
    assert capsys.readouterr().out == "Hello\n"
    assert run(lambda: build_app(manager), ["demo", "--help"]) == 0


def test_no_colour_where_none_is_wanted(script: Abi) -> None:
    ended = script("agent", "list", NO_COLOR="1")
    assert "\x1b" not in ended.err
