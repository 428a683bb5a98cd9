"""Threads that write at the same time share a commit, and nothing else."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic

import pytest

from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.adapters.sqlite_committing import Committer
from naas_abi_sdk.document.types import CollectionSpec, FieldSpec, Keep, Put, Require
from naas_abi_sdk.errors import DocumentStorageError, UniqueViolation


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteDocuments]:
    with closing(SQLiteDocuments(tmp_path / "documents.sqlite")) as opened:
        opened.ensure_collection("n", CollectionSpec("c", [FieldSpec("a", "int", unique=True)]))
        yield opened


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(12) as executor:
        yield executor


def committer_of(store: SQLiteDocuments) -> Committer:
    return store._connections.current().committer


def wait_until_queued(store: SQLiteDocuments, count: int) -> None:
    committer = committer_of(store)
    deadline = monotonic() + 30
    while len(committer._waiting) + committer._led < count:
        assert monotonic() < deadline, "they never queued"
        threading.Event().wait(0.001)


@contextmanager
def held(store: SQLiteDocuments) -> Iterator[None]:
    """Nobody can write to the file for a while."""
    with store._connections.writing():
        yield


@contextmanager
def counted_commits(store: SQLiteDocuments) -> Iterator[list[str]]:
    """The commits of the connection that is lent first from now on."""
    statements: list[str] = []
    connection = store._connections._process.idle[-1]
    connection.set_trace_callback(statements.append)
    commits: list[str] = []
    yield commits
    connection.set_trace_callback(None)
    commits.extend(text for text in statements if text == "COMMIT")


def test_those_that_wait_share_one_commit(
    store: SQLiteDocuments, threads: ThreadPoolExecutor
) -> None:
    with counted_commits(store) as commits:
        with held(store):
            writers = [threads.submit(store.put, "n", "c", f"d{n}", {"n": n}) for n in range(10)]
            wait_until_queued(store, 10)
        assert [writer.result(timeout=30).version for writer in writers] == [1] * 10
    assert store.count("n", "c") == 10
    assert len(commits) <= 2  # the holder's own, and one for all


def test_a_batch_that_fails_takes_no_other_with_it(
    store: SQLiteDocuments, threads: ThreadPoolExecutor
) -> None:
    store.put("n", "c", "taken", {"a": 1})
    with held(store):
        good = threads.submit(store.put, "n", "c", "x", {"a": 2})
        bad = threads.submit(store.put, "n", "c", "y", {"a": 1})
        batch = threads.submit(
            store.write,
            "n",
            [Keep("c", "kept", {}), Require("c", "absent"), Put("c", "skipped", {})],
        )
        wait_until_queued(store, 3)
    assert good.result(timeout=30).version == 1
    assert isinstance(bad.exception(timeout=30), UniqueViolation)
    assert [outcome.state for outcome in batch.result(timeout=30)] == [
        "done",
        "conflict",
        "skipped",
    ]
    assert {item.id for item in store.find("n", "c").items} == {"taken", "x", "kept"}


def test_a_batch_is_undone_whole_within_the_shared_transaction(
    store: SQLiteDocuments, threads: ThreadPoolExecutor
) -> None:
    def half(connection: sqlite3.Connection) -> None:
        (table,) = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'd%'"
        ).fetchone()
        connection.execute(f"UPDATE {table} SET version = 99")
        raise ValueError("in the middle")

    store.put("n", "c", "x", {})
    with held(store):
        broken = threads.submit(store._connections.commit, half)
        good = threads.submit(store.put, "n", "c", "y", {})
        wait_until_queued(store, 2)
    assert isinstance(broken.exception(timeout=30), DocumentStorageError)
    assert good.result(timeout=30).version == 1
    assert store.get("n", "c", "x").version == 1


def test_when_the_shared_transaction_fails_each_tries_again(
    store: SQLiteDocuments, threads: ThreadPoolExecutor
) -> None:
    """The first to perform ends the transaction under everyone, as a full disk would."""
    ended = threading.Event()

    def end(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        ended.set()
        raise sqlite3.OperationalError("disk I/O error")

    with held(store):
        leader = threads.submit(store._connections.commit, end)
        wait_until_queued(store, 1)
        others = [threads.submit(store.put, "n", "c", f"d{n}", {}) for n in range(4)]
        wait_until_queued(store, 5)
    assert leader.exception(timeout=30) is not None
    assert ended.is_set()
    assert [other.result(timeout=30).version for other in others] == [1] * 4


def test_an_interrupted_leader_hands_over(
    store: SQLiteDocuments, threads: ThreadPoolExecutor
) -> None:
    def interrupted(_: sqlite3.Connection) -> None:
        raise KeyboardInterrupt

    with held(store):
        leader = threads.submit(store._connections.commit, interrupted)
        wait_until_queued(store, 1)
        other: Future[object] = threads.submit(store.put, "n", "c", "x", {})
        wait_until_queued(store, 2)
    assert isinstance(leader.exception(timeout=30), KeyboardInterrupt)
    other.result(timeout=30)
    assert store.get("n", "c", "x").version == 1
    assert not committer_of(store)._led


def test_one_that_waited_too_long_withdraws(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    with closing(SQLiteDocuments(tmp_path / "d.sqlite", timeout=0.2)) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        with held(store):
            writers = [threads.submit(store.put, "n", "c", f"d{n}", {}) for n in range(5)]
            errors = [writer.exception(timeout=30) for writer in writers]
        assert {type(error) for error in errors} == {DocumentStorageError}
        assert all("kept writing for 0.2 s" in str(error) for error in errors)
        assert store.count("n", "c") == 0
        assert store.put("n", "c", "x", {}).version == 1
