"""What reaches stdout and stderr when modules print, fail late, or the streams do not work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ABI, Abi, Ended, environment

PRINTS = """
import os

print("by the module")


@tool(description="Print.")
def shout() -> str:
    print("by the tool")
    os.system("echo by a program")
    return "shouted"
"""

LATE = """
    def on_unloaded(self) -> None:
        raise RuntimeError("too late")
"""


def shell(line: str, cwd: Path) -> Ended:
    """Run a line of shell in which ``abi`` is our command."""
    ended = subprocess.run(
        ["sh", "-c", f'abi() {{ {ABI} "$@"; }}\n{line}'],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def with_a_tool(project: Path, code: str, name: str) -> None:
    assistant = project / project.name / "agents" / "assistant.py"
    text = assistant.read_text().replace("tools=[roll_dice]", f"tools=[roll_dice, {name}]")
    assistant.write_text(text.replace("\n@tool", f"{code}\n\n@tool", 1))


def with_a_late_failure(project: Path) -> None:
    module = project / project.name / "__init__.py"
    module.write_text(module.read_text() + LATE)


def test_what_modules_and_tools_print_stays_out_of_the_document(script: Abi, project: Path) -> None:
    with_a_tool(project, PRINTS, "shout")
    ended = script("chat", "shout", "--json", cwd=project)
    assert (ended.code, ended.json["reply"]) == (0, "[demonstration] shout answered: shouted")
    for printed in ("by the module", "by the tool", "by a program"):
        assert f"{printed}\n" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing", "--json"],
        ["thread", "show", "--json"],
        ["chat", "hi", "--json", "--nothing"],
        ["demo", "--turns", "many", "--json"],
    ],
)
def test_a_wrong_call_is_a_document_too(abi: Abi, project: Path, arguments: list[str]) -> None:
    ended = abi(*arguments)
    assert ended.code == 2
    assert set(ended.json) == {"error"}
    assert (ended.json["error"]["kind"], ended.json["error"]["where"]) == (
        "WrongCall",
        "the command line",
    )
    assert ended.json["error"]["what"] in ended.err


def test_json_after_two_dashes_is_text(abi: Abi, project: Path) -> None:
    ended = abi("chat", "--nothing", "--", "--json")
    assert (ended.code, ended.out) == (2, "")


@pytest.mark.parametrize("buffered", ["", "PYTHONUNBUFFERED=1"])
@pytest.mark.parametrize("command", ["thread list --json", "thread list", "chat hi", "--version"])
def test_a_result_that_cannot_be_written_is_told_in_one_line(
    project: Path, command: str, buffered: str
) -> None:
    line = f"unset PYTHONUNBUFFERED; {buffered} abi {command} > /dev/full"
    ended = shell(line, project)
    assert (ended.code, ended.err) == (
        1,
        "Error: the result cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize("option", ["", " --json"])
def test_a_module_that_fails_at_shutdown_does_not_hide_the_reply(
    project: Path, option: str
) -> None:
    with_a_late_failure(project)
    ended = shell(f"abi chat 'My name is Ada'{option}", project)
    assert ended.code == 1
    assert "Hello Ada." in (ended.json["reply"] if option else ended.out)
    assert "its on_unloaded failed: RuntimeError: too late" in ended.err


def test_a_failure_at_shutdown_does_not_hide_the_failure_before_it(abi: Abi, project: Path) -> None:
    with_a_late_failure(project)
    ended = abi("chat", "aye", "--answer", "--json")
    assert (ended.code, ended.json["error"]["what"]) == (1, "no tool waits for an answer")
    assert "too late" in ended.json["error"]["further"][0]
    assert "also: While shutting down: " in ended.err


def test_closed_streams_are_empty_or_take_everything(project: Path) -> None:
    assert shell("abi chat 'My name is Ada' -t t >&-", project).code == 0
    asked = shell("abi chat -t t <&-", project)
    assert (asked.code, "the text is empty" in asked.err) == (2, True)
    listed = shell("abi thread list --json <&- 2>&-", project)
    assert [each["thread_id"] for each in listed.json] == ["t"]


def test_a_tool_that_ends_the_program_does_not(abi: Abi, project: Path) -> None:
    code = "\n@tool(description='Leave.')\ndef leave() -> str:\n    raise SystemExit(0)\n"
    with_a_tool(project, code, "leave")
    ended = abi("chat", "leave", "-t", "t", "--json")
    assert (ended.code, ended.json["tools"][0]["status"]) == (0, "error")
    assert abi("chat", "My name is Ada", "-t", "t").code == 0


@pytest.mark.parametrize("command", [["config", "check"], ["chat", "hi"]])
def test_a_module_that_ends_the_program_is_told(
    abi: Abi, project: Path, command: list[str]
) -> None:
    (project / project.name / "__init__.py").write_text("raise SystemExit(0)\n")
    ended = abi(*command)
    assert ended.code != 0
    assert "its import failed: SystemExit: 0" in ended.err


def test_a_long_id_is_cut_in_a_table_only(
    abi: Abi, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    thread_id = "x" * 3000
    abi("chat", "hi", "-t", thread_id)
    assert "x" * 79 + "…" in abi("thread", "list").out
    assert "x" * 80 not in abi("thread", "list").out
    assert abi("thread", "list", "--json").json[0]["thread_id"] == thread_id


def test_a_generated_project_works_without_docstrings(project: Path) -> None:
    command = "from naas_abi_cli.main import main; main()"
    ended = subprocess.run(
        [sys.executable, "-OO", "-c", command, "chat", "Roll a die with 1 sides"],
        cwd=project,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (
        0,
        "[demonstration] roll_dice answered: 1 of 1\n",
    ), ended.stderr
