from __future__ import annotations

import json
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from naas_abi_core.services.document.service import DocumentService
from tests.cli.conftest import Abi
from tests.cli.test_chat import Terminal

STEERING = "\x1b]0;title\x07\x1b[31mred\u202eder\u2028 [bold]markup[/bold] \x9b1m"


@pytest.fixture
def stored(abi: Abi, project: Path) -> Path:
    """A project with two threads."""
    abi("chat", "My name is Ada", "--thread", "first")
    abi("chat", "Roll a die with 1 sides", "--thread", "second")
    return project


def test_list_is_newest_first(abi: Abi, stored: Path) -> None:
    rows = abi("thread", "list").out.splitlines()
    assert [row.split()[0] for row in rows] == ["thread", "second", "first"]
    listed = abi("thread", "list", "--json").json
    assert [(each["thread_id"], each["checkpoints"]) for each in listed] == [
        ("second", 5),
        ("first", 3),
    ]
    assert set(listed[0]) == {
        "thread_id",
        "checkpoints",
        "created_at",
        "updated_at",
    }


def read_of(
    service: DocumentService,
    method: Callable[..., Any],
    read: set[str],
    collection: str,
    *args: Any,
    **kwargs: Any,
) -> Any:
    read.add(collection)
    return method(service, collection, *args, **kwargs)


@pytest.mark.parametrize("command", [["list"], ["history", "second"]])
def test_no_message_is_read_to_list(
    abi: Abi, stored: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: set[str] = set()
    for name in ("get", "find", "groups"):
        watched = partialmethod(read_of, getattr(DocumentService, name), read)
        monkeypatch.setattr(DocumentService, name, watched)
    assert abi("thread", *command).code == 0
    assert read == {"langgraph_checkpoints_v2"}


def test_nothing_stored_yet(abi: Abi, project: Path) -> None:
    assert "No conversation is stored yet" in abi("thread", "list").out
    assert abi("thread", "list", "--json").json == []


def test_show(abi: Abi, stored: Path) -> None:
    assert abi("thread", "show", "second").out == (
        "person: Roll a die with 1 sides\n"
        'agent asks roll_dice {"sides": 1}\n'
        "tool roll_dice: 1 of 1\n"
        "agent: [demonstration] roll_dice answered: 1 of 1\n"
    )
    shown = abi("thread", "show", "second", "--json").json
    assert [each["role"] for each in shown["messages"]] == ["person", "agent", "tool", "agent"]
    assert shown["messages"][1]["tool_calls"] == [{"name": "roll_dice", "args": {"sides": 1}}]
    assert "messages" in shown["channels"]


def test_show_an_earlier_state(abi: Abi, stored: Path) -> None:
    history = abi("thread", "history", "second", "--json").json
    second = next(each["checkpoint_id"] for each in history if each["step"] == 0)
    shown = abi("thread", "show", "second", "--checkpoint", second)
    assert shown.out == "person: Roll a die with 1 sides\n"
    missing = abi("thread", "show", "second", "--checkpoint", "nothing")
    assert (missing.code, "no checkpoint 'nothing'" in missing.err) == (1, True)


def test_stored_text_does_not_steer_the_terminal(abi: Abi, project: Path) -> None:
    abi("chat", STEERING, "--thread", "t")
    shown = abi("thread", "show", "t").out
    assert not set(shown) & set("\x1b\x07\x9b\u202e\u2028")
    assert r"person: \x1b]0;title\x07\x1b[31mred\u202eder\u2028 [bold]markup[/bold] \x9b1m" in shown
    assert abi("thread", "show", "t", "--json").json["messages"][0]["text"] == STEERING


def test_a_reply_does_not_steer_the_terminal_while_it_streams(abi: Abi, project: Path) -> None:
    assert "\x1b" not in abi("chat", STEERING).out


def test_history_is_newest_first(abi: Abi, stored: Path) -> None:
    history = abi("thread", "history", "second", "--json").json
    assert [each["step"] for each in history] == [3, 2, 1, 0, -1]
    assert [each["source"] for each in history] == ["loop"] * 4 + ["input"]
    assert [each["parent_id"] for each in history[:-1]] == [
        each["checkpoint_id"] for each in history[1:]
    ]
    assert all(500 < each["size"] < 3000 for each in history)
    table = abi("thread", "history", "second", "--limit", "2").out.splitlines()
    assert table[0].split() == ["step", "source", "stored", "bytes", "checkpoint"]
    assert [row.split()[0] for row in table[1:]] == ["3", "2"]


@pytest.mark.parametrize("command", [["show"], ["history"], ["delete", "--yes"]])
def test_a_missing_thread(abi: Abi, stored: Path, command: list[str]) -> None:
    ended = abi("thread", *command, "third")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "Error: there is no such thread\n"
        "  where: thread 'third'\n"
        "  mend: 'abi thread list' shows which there are.\n"
    )
    told = abi("thread", *command, "third", "--json")
    assert (told.code, told.json["error"]["what"]) == (1, "there is no such thread")


def test_delete(abi: Abi, stored: Path) -> None:
    assert abi("thread", "delete", "first", "--yes").out == "Deleted thread first.\n"
    assert abi("thread", "delete", "second", "-y", "--json").json == {"deleted": "second"}
    assert abi("thread", "list", "--json").json == []


def test_delete_refuses_where_nobody_can_be_asked(script: Abi, stored: Path) -> None:
    ended = script("thread", "delete", "first", said="y\n", cwd=stored)
    assert (ended.code, "Add --yes" in ended.err) == (2, True)
    assert "first" in script("thread", "list", cwd=stored).out


@pytest.mark.parametrize(("answer", "code", "left"), [("n", 1, 2), ("y", 0, 1)])
def test_delete_asks_on_a_terminal(
    abi: Abi, stored: Path, answer: str, code: int, left: int
) -> None:
    terminal = Terminal("thread", "delete", "first", cwd=stored)
    try:
        terminal.until("Delete thread first for good?")
        terminal.write(f"{answer}\n")
        assert terminal.end() == code
    finally:
        terminal.kill()
    assert len(abi("thread", "list", "--json").json) == left


def test_memory_elsewhere_is_said(abi: Abi, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_URL", "postgresql://nowhere/x")
    ended = abi("thread", "list")
    assert ended.code == 1
    assert "POSTGRES_URL is set" in ended.err


def test_a_thread_of_another_folder(script: Abi, stored: Path, tmp_path: Path) -> None:
    ended = script("thread", "list", "--json", "--config", str(stored / "config.yaml"))
    assert {each["thread_id"] for each in json.loads(ended.out)} == {"first", "second"}
    assert not (tmp_path / "storage").exists()
