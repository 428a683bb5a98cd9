"""A thread moves between the last published packages and these, through exported documents.

The two cannot be imported into one process, so each side is a process in an environment of its own;
see ``exchange.py`` for what a side is asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.compat, pytest.mark.timeout(600)]

HERE = Path(__file__).parent

#: ``ask(command, *paths)`` runs one command of one side.
Ask = Callable[..., None]
Both = tuple[Ask, Ask]


def _side(python: Path | str, script: str, folder: Path) -> Ask:
    def ask(command: str, *paths: Path) -> None:
        # Of this environment nothing may reach the other but what any process needs.
        kept = {"PATH", "HOME", "LANG"} & os.environ.keys()
        environment = {name: os.environ[name] for name in kept}
        answer = subprocess.run(
            [python, "-W", "ignore", HERE / script, command, *paths],
            env=environment | {"EXCHANGE_FOLDER": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr

    return ask


@pytest.fixture(params=["from the published packages", "to the published packages"])
def origin_and_other(
    request: pytest.FixtureRequest, published_python: Path, tmp_path: Path
) -> Both:
    published = _side(published_python, "published.py", tmp_path)
    ours = _side(sys.executable, "ours.py", tmp_path)
    return (published, ours) if request.param.startswith("from") else (ours, published)


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def last_state(path: Path) -> dict[str, Any]:
    """Channel values of the newest checkpoint of the outer graph."""
    outer = [entry for entry in read(path) if not entry["config"]["configurable"]["checkpoint_ns"]]
    values: dict[str, Any] = outer[0]["checkpoint"]["channel_values"]
    return values


def test_a_thread_is_read_back_equal_and_continued_and_returned(
    origin_and_other: Both, tmp_path: Path
) -> None:
    origin, other = origin_and_other
    documents, snapshot = tmp_path / "documents", tmp_path / "snapshot"

    origin("begin", documents, snapshot)
    waiting = read(snapshot)[0]
    assert "__interrupt__" in json.dumps(waiting["writes"])

    other("read", tmp_path / "documents-there", tmp_path / "snapshot-there", documents)
    assert read(tmp_path / "snapshot-there") == read(snapshot)
    assert read(tmp_path / "documents-there") == read(documents)

    other("go-on", tmp_path / "continued", tmp_path / "snapshot-continued", documents)
    origin("read", tmp_path / "returned", tmp_path / "snapshot-returned", tmp_path / "continued")
    assert read(tmp_path / "snapshot-returned") == read(tmp_path / "snapshot-continued")
    assert len(read(tmp_path / "snapshot-returned")) > len(read(snapshot))

    state = last_state(tmp_path / "snapshot-returned")
    assert state["decision"] == "approved more"
    kind, *log = state["log"]
    assert (kind, [(entry["turn"], entry["entry"]) for entry in log]) == (
        "list",
        [(turn, entry) for turn in range(1, 5) for entry in range(20)],
    )
    asked = [message["id"] for message in state["messages"][1:] if message["message"] == "human"]
    assert asked == ["q-1", "q-2", "q-3", "q-more"]


def test_the_same_puts_are_stored_as_the_same_bytes(published_python: Path, tmp_path: Path) -> None:
    published, ours = tmp_path / "published", tmp_path / "ours"
    _side(published_python, "published.py", tmp_path)("fixed-puts", published)
    _side(sys.executable, "ours.py", tmp_path)("fixed-puts", ours)

    stored = read(published)
    assert {entry["collection"].split("_")[1] for entry in stored} == {
        *("checkpoints", "writes", "blobs", "items", "parts"),
    }
    theirs = {(entry["collection"], entry["id"]): entry["data"] for entry in stored}
    mine = {(entry["collection"], entry["id"]): entry["data"] for entry in read(ours)}
    assert mine.keys() == theirs.keys()
    assert [key for key in theirs if mine[key] != theirs[key]] == []
