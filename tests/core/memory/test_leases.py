"""Turns at once on one thread: branches, or with a lease one after the other."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.service import DocumentService
from naas_abi_sdk.errors import RunLeaseConflict, ThreadDeleted
from naas_abi_sdk.langgraph_documents import LEASES
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.postgresql_documents import temporary_schema
from tests.support.turns import graph, saver_at, saver_over, start

THREAD: Any = {"configurable": {"thread_id": "t-1"}}


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[SQLiteDocuments]:
    adapter = SQLiteDocuments(tmp_path / "documents.sqlite")
    yield adapter
    adapter.close()


def until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    deadline = monotonic() + 30
    while not holds():
        assert monotonic() < deadline
        pause.wait(0.005)


def test_the_second_turn_is_told_who_has_the_thread(adapter: SQLiteDocuments) -> None:
    saver, other = saver_over(adapter), saver_over(adapter)

    def meanwhile() -> None:
        with (
            pytest.raises(RunLeaseConflict, match="thread 't-1' is held by 'worker 1' until"),
            other.run_lease("t-1", holder="worker 2"),
        ):
            pass

    with saver.run_lease("t-1", holder="worker 1") as lease:
        graph(saver, meanwhile).invoke({"said": ["hi"]}, lease.config)
    with other.run_lease("t-1") as lease:
        answer = graph(other).invoke({"said": ["again"]}, lease.config)
    assert {"hi", "again"} <= set(answer["said"])
    assert DocumentService(adapter, "n").count(LEASES) == 0


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_turn_whose_lease_was_taken_over_stores_nothing_more(
    adapter: SQLiteDocuments, durability: str
) -> None:
    """The whole process paused for longer than the lease: its next step is refused."""
    saver, other = saver_over(adapter), saver_over(adapter)
    documents = DocumentService(adapter, "n")
    stored: list[int] = []

    def taken_over() -> None:
        (held,) = documents.iterate(LEASES)
        documents.put(LEASES, held.id, held.data | {"token": "other", "holder": "worker 2"})
        stored.append(len(list(other.list(None))))

    with (
        pytest.raises(RunLeaseConflict, match="'worker 1' lost its run lease"),
        saver.run_lease("t-1", holder="worker 1") as lease,
    ):
        graph(saver, taken_over).invoke({"said": ["hi"]}, lease.config, durability=durability)
    left = list(other.list(None))
    assert all("first" not in item.checkpoint["channel_values"].get("said", []) for item in left)
    assert len(left) == stored[0]
    (held,) = documents.iterate(LEASES)
    assert held.data["holder"] == "worker 2"


def test_a_lease_is_renewed_as_long_as_the_turn_takes(adapter: SQLiteDocuments) -> None:
    saver = saver_over(adapter)
    documents = DocumentService(adapter, "n")
    with saver.run_lease("t-1", ttl=0.03):
        (first,) = documents.iterate(LEASES)
        until(lambda: documents.get(LEASES, first.id).version >= 4)
        documents.put(LEASES, first.id, first.data | {"token": "other"})
        renewing = next(it for it in threading.enumerate() if it.name == "run-lease-renewal")
        renewing.join(10)
        assert not renewing.is_alive(), "what is lost is not renewed"
    assert not [it for it in threading.enumerate() if it.name == "run-lease-renewal"]


def test_a_store_that_is_down_for_a_while_does_not_end_the_renewals(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryDocuments()
    saver = saver_over(store)
    with caplog.at_level(logging.WARNING), saver.run_lease("t-1", ttl=0.03):
        (found,) = store.for_namespace("n").find(LEASES).items
        store.fail_after(0)
        until(lambda: "could not be renewed" in caplog.text)
        store.fail_after(None)
        version = store.get("n", LEASES, found.id).version
        until(lambda: store.get("n", LEASES, found.id).version > version)


def test_the_same_from_a_loop(adapter: SQLiteDocuments) -> None:
    saver, other = saver_over(adapter), saver_over(adapter)

    async def scenario() -> Any:
        async with saver.arun_lease("t-1", holder="worker 1") as lease:
            with pytest.raises(RunLeaseConflict, match="'worker 1'"):
                async with other.arun_lease("t-1"):
                    pass
            await graph(saver).ainvoke({"said": ["hi"]}, lease.config)
        with pytest.raises(ZeroDivisionError):
            async with saver.arun_lease("t-1"):
                raise ZeroDivisionError
        async with other.arun_lease("t-1"):
            return await other.aget_tuple(THREAD)

    assert asyncio.run(scenario()) is not None


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_run_whose_thread_is_deleted_ends_with_an_error_and_leaves_nothing(
    adapter: SQLiteDocuments, durability: str
) -> None:
    """C073: in the middle of a turn of a thread that has turns already."""
    saver, other = saver_over(adapter), saver_over(adapter)
    graph(saver).invoke({"said": ["hi"]}, THREAD)
    with pytest.raises(ThreadDeleted, match="thread 't-1' was deleted"):
        graph(saver, lambda: other.delete_thread("t-1")).invoke(
            {"said": ["again"]}, THREAD, durability=durability
        )
    assert list(other.list(None)) == []
    assert graph(saver).invoke({"said": ["new"]}, THREAD)["said"][0] == "new"
    assert len({item.config["configurable"]["thread_id"] for item in other.list(None)}) == 1


def test_two_turns_at_once_are_branches_in_one_process() -> None:
    """C087: in threads of one process, which share a saver."""
    saver = saver_over(MemoryDocuments())
    graph(saver).invoke({"said": ["hi"]}, THREAD)
    head = saver.get_tuple(THREAD)
    both = threading.Barrier(2, timeout=20)

    def turn(text: str) -> None:
        graph(saver, both.wait).invoke({"said": [text]}, head.config)

    turns = [threading.Thread(target=turn, args=(text,)) for text in ("left", "right")]
    for it in turns:
        it.start()
    for it in turns:
        it.join()
    check_branches(saver, head)


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_two_turns_at_once_are_branches_in_two_processes(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """C087: both go on from one checkpoint, at the same time."""
    with ExitStack() as stack:
        if store == "sqlite":
            place = [str(tmp_path / "documents.sqlite")]
        else:
            server = request.getfixturevalue("postgres_server")
            place = [server, stack.enter_context(temporary_schema(server))]
        saver = stack.enter_context(saver_at(place))
        graph(saver).invoke({"said": ["hi"]}, THREAD)
        head = saver.get_tuple(THREAD)
        assert head is not None
        at = head.config["configurable"]["checkpoint_id"]
        turns = [stack.enter_context(start(place, text, at)) for text in ("left", "right")]
        for turn in turns:
            assert turn.stdout is not None
            assert turn.stdout.readline() == "working\n"
        errors = [turn.communicate("go on\n", timeout=60)[1] for turn in turns]
        assert [turn.returncode for turn in turns] == [0, 0], errors
        check_branches(saver, head)


def check_branches(saver: Any, head: Any) -> None:
    """Both turns reach from their last checkpoint back to the head, and both can be found."""
    found = list(saver.list({"configurable": {"thread_id": "t-1", "checkpoint_ns": ""}}))
    for text in ("left", "right"):
        last = next(it for it in found if text in it.checkpoint["channel_values"].get("said", ()))
        said = last.checkpoint["channel_values"]["said"]
        assert {"left", "right"} - set(said) == {"left", "right"} - {text}
        assert head.config["configurable"]["checkpoint_id"] in saver.lineage(last.config)
        assert saver.get_tuple(last.config).checkpoint == last.checkpoint
    assert saver.get_tuple(THREAD).config == found[0].config
