from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import ABI, Abi, environment, interruptible

NEW_THREAD = re.compile(r"thread (\d{4}-\d\d-\d\d-\d{6}-[0-9a-f]{4})\n")

ASKING = '''
from langgraph.types import interrupt


def sail(where: str) -> str:
    """Sail somewhere."""
    return "sailed: " + interrupt("Really sail?")
'''


def test_a_reply_on_stdout_and_all_else_on_stderr(abi: Abi, project: Path) -> None:
    ended = abi("chat", "Roll a die with 1 sides")
    assert (ended.code, ended.out) == (0, "[demonstration] roll_dice answered: 1 of 1\n")
    assert "→ roll_dice\n← 1 of 1\n" in ended.err
    assert NEW_THREAD.search(ended.err)


def test_json(abi: Abi, project: Path) -> None:
    ended = abi("chat", "Roll a die with 1 sides", "--thread", "t", "--json")
    answer = ended.json
    (tool,) = answer.pop("tools")
    assert (tool["name"], tool["text"], tool["status"]) == ("roll_dice", "1 of 1", "success")
    assert answer == {
        "agent": "assistant",
        "thread_id": "t",
        "reply": "[demonstration] roll_dice answered: 1 of 1",
        "questions": [],
    }
    assert ended.err == ""


def test_each_chat_without_a_thread_is_a_new_one(abi: Abi, project: Path) -> None:
    abi("chat", "My name is Ada")
    assert "not told" in abi("chat", "What is my name?").out
    assert len(abi("thread", "list", "--json").json) == 2


def test_piped_input_is_one_message(script: Abi, project: Path) -> None:
    ended = script("chat", "--json", said="My name is Ada.\nI like tea.\n", cwd=project)
    assert (ended.code, ended.json["reply"][:27]) == (0, "[demonstration] Hello Ada. ")


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_to_say(abi: Abi, project: Path, text: str) -> None:
    ended = abi("chat", text)
    assert ended.code == 2
    assert "there is nothing to say" in ended.err


@pytest.mark.parametrize(
    "thread_id", ["ünï çode 🚢", "a\x1b[31mb", "x" * 3000, "a/b:c|d", " ", "-- --x", "1\n2"]
)
def test_odd_thread_ids_are_ids_like_others(abi: Abi, project: Path, thread_id: str) -> None:
    assert abi("chat", "My name is Ada", f"--thread={thread_id}").code == 0
    assert "Ada" in abi("chat", "What is my name?", f"--thread={thread_id}").out
    listed = abi("thread", "list", "--json").json
    assert [each["thread_id"] for each in listed] == [thread_id]
    for command in (["list"], ["show", "--", thread_id], ["history", "--", thread_id]):
        ended = abi("thread", *command)
        assert ended.code == 0
        assert "\x1b" not in ended.out + ended.err
    assert abi("thread", "delete", "--yes", "--", thread_id).code == 0
    assert abi("thread", "list", "--json").json == []


@pytest.mark.parametrize(
    ("thread_id", "told"), [("", "the thread id is empty"), ("a\udcff", "is not UTF-8 text")]
)
def test_thread_ids_that_are_none(abi: Abi, project: Path, thread_id: str, told: str) -> None:
    ended = abi("chat", "hi", f"--thread={thread_id}")
    assert ended.code == 2
    assert told in ended.err
    assert not (project / "storage").exists()


def test_an_unknown_agent_names_those_there_are(abi: Abi, project: Path) -> None:
    ended = abi("chat", "hi", "--agent", "asistant")
    assert ended.code == 2
    assert "there is no agent 'asistant'; did you mean 'assistant'?" in ended.err
    assert "The agents are: assistant." in ended.err


def test_the_agent_named_serves(abi: Abi, project: Path) -> None:
    assert abi("chat", "hi", "--agent", "assistant", "--json").json["agent"] == "assistant"


def test_a_conversation_that_will_be_lost_is_said_to_be(abi: Abi, project: Path) -> None:
    module = project / project.name / "__init__.py"
    text = module.read_text()
    module.write_text(text.replace("services=[DocumentService]", ""))
    config = project / "config.yaml"
    config.write_text(config.read_text().partition("services:")[0])
    ended = abi("chat", "hi", "--thread", "t")
    assert ended.code == 0
    assert "Warning: this conversation ends with this process: no loaded module" in ended.err


def with_a_question(project: Path) -> None:
    assistant = project / project.name / "agents" / "assistant.py"
    text = assistant.read_text().replace("tools=[roll_dice]", "tools=[roll_dice, sail]")
    assistant.write_text(text.replace("\n@tool", ASKING + "\n\n@tool", 1))


def test_text_does_not_answer_a_question_unless_told_to(abi: Abi, project: Path) -> None:
    with_a_question(project)
    asked = abi("chat", "sail home", "-t", "t")
    assert asked.out == "question: Really sail?\n"
    assert "Answer with: abi chat --answer --thread t 'TEXT'" in asked.err
    refused = abi("chat", "what?", "-t", "t")
    assert refused.code == 1
    assert "a tool waits for an answer: Really sail?" in refused.err
    assert "Add --answer" in refused.err
    answered = abi("chat", "aye", "-t", "t", "--answer")
    assert answered.out == "[demonstration] sail answered: sailed: aye\n"
    again = abi("chat", "aye", "-t", "t", "--answer")
    assert (again.code, "no tool waits" in again.err) == (1, True)


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._mine, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [ABI, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=environment(TERM="xterm", NO_COLOR="1", COLUMNS="80"),
            start_new_session=True,
            preexec_fn=interruptible,  # noqa: PLW1509 -- it gives the new process its signals only
        )
        os.close(theirs)
        self.seen = ""
        self._waited = 0

    def until(self, text: str) -> None:
        """Wait for ``text`` after what was waited for before; both may come at once."""
        deadline = time.monotonic() + 60
        while (found := self.seen.find(text, self._waited)) < 0:
            ready, _, _ = select.select([self._mine], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{text!r} did not appear in {self.seen!r}"
            try:
                self.seen += os.read(self._mine, 4096).decode(errors="replace")
            except OSError:
                break
        assert found >= 0 or text in self.seen[self._waited :], self.seen
        self._waited = self.seen.index(text, self._waited) + len(text)

    def write(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C, again if need be: one that comes as Python starts to read may be lost."""
        for _ in range(5):
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                continue
            return

    def end(self) -> int:
        code = self.process.wait(timeout=60)
        os.close(self._mine)
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def test_a_conversation_on_a_terminal(project: Path) -> None:
    terminal = Terminal("chat", "--thread", "t", cwd=project)
    try:
        terminal.until("> ")
        terminal.write("My name is Ada\n")
        terminal.until("Hello Ada.")
        terminal.until("> ")
        terminal.write("What is my name?\n")
        terminal.until("Your name is Ada.")
        terminal.until("> ")
        terminal.write("\x04")
        terminal.until("Go on later with: abi chat --thread t")
        assert terminal.end() == 0
    finally:
        terminal.kill()
    assert "Traceback" not in terminal.seen


def test_ctrl_c_ends_a_conversation_with_130(project: Path) -> None:
    terminal = Terminal("chat", cwd=project)
    try:
        terminal.until("> ")
        terminal.interrupt()
        assert terminal.end() == 130
    finally:
        terminal.kill()


def test_json_needs_a_text(project: Path) -> None:
    terminal = Terminal("chat", "--json", cwd=project)
    try:
        terminal.until("--json needs a text to say")
        assert terminal.end() == 2
    finally:
        terminal.kill()
