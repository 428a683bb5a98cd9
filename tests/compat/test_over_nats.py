"""A thread goes through all four pairings of published and our SDK and engine, over a real broker.

Every side is a process in an environment of its own; see ``remote_exchange.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from naas_abi_sdk.tokens import module_key
from tests.support.nats_server import nats_server

pytestmark = [pytest.mark.compat, pytest.mark.timeout(600)]

HERE = Path(__file__).parent
MODULE = "acme.chat"
SECRET = "a secret of at least thirty-two characters"
#: Small, so that the thread's larger documents have to go in pieces.
MAX_PAYLOAD = 128 * 1024


def environment() -> dict[str, str]:
    """Of this environment nothing may reach the other but what any process needs."""
    kept = {name: os.environ[name] for name in {"PATH", "HOME", "LANG"} & os.environ.keys()}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def engine(python: Path | str, script: str, url: str, folder: Path) -> Iterator[None]:
    """An engine, from when it serves to its end."""
    folder.mkdir()
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [python, "-W", "ignore", HERE / script, url, SECRET, folder],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, b"")
        assert b"ready\n" in lines, (folder / "errors").read_text("utf-8")[-3000:]
        yield
    finally:
        try:
            process.communicate(timeout=90)
        finally:
            process.kill()
            process.wait()


class Sdk:
    """One SDK; every call is a process, and answers with the thread's snapshot and documents."""

    def __init__(self, python: Path | str, script: str, url: str, folder: Path) -> None:
        self._command = [python, "-W", "ignore", HERE / script, url, module_key(SECRET, MODULE)]
        self._folder = folder

    def __call__(self, *command: str | Path) -> tuple[Any, Any]:
        files = [self._folder / "documents", self._folder / "snapshot"]
        answer = subprocess.run(
            [*self._command, *files, *command],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        documents, snapshot = (json.loads(file.read_text("utf-8")) for file in files)
        return documents, snapshot


def questions(snapshot: Any) -> list[str]:
    """Ids of the questions asked, as the newest checkpoint of the outer graph has them."""
    outer = [entry for entry in snapshot if not entry["config"]["configurable"]["checkpoint_ns"]]
    _kind, *messages = outer[0]["checkpoint"]["channel_values"]["messages"]
    return [message["id"] for message in messages if message["message"] == "human"]


def test_one_thread_through_four_pairings(published_python: Path, tmp_path: Path) -> None:
    options = {"max_payload": MAX_PAYLOAD, "jetstream": {"store_dir": str(tmp_path / "jetstream")}}
    with nats_server(**options) as broker:
        published = Sdk(published_python, "published_sdk.py", broker.url, tmp_path)
        ours = Sdk(sys.executable, "our_sdk.py", broker.url, tmp_path)

        folder = tmp_path / "published-engine"
        with engine(published_python, "published_engine.py", broker.url, folder):
            written = published("begin")
            assert "__interrupt__" in json.dumps(written[1][0]["writes"])
            assert ours("read") == written
            continued = ours("go-on")
            assert published("read") == continued
        moved = tmp_path / "moved"
        (tmp_path / "documents").rename(moved)

        with engine(sys.executable, "our_engine.py", broker.url, tmp_path / "our-engine"):
            assert published("bring-in", moved) == continued
            assert ours("read") == continued
            another = published("another", "fifth")
            assert ours("read") == another
            last = ours("another", "sixth")
            assert published("read") == last
    assert questions(last[1]) == ["q-1", "q-2", "q-3", "q-more", "q-fifth", "q-sixth"]
    collections = {entry["collection"] for entry in last[0]}
    assert "langgraph_parts_v2" in collections
