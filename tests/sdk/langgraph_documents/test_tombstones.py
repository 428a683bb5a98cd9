"""A late writer cannot bring a deleted thread back; a new conversation may use its id (C073)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from naas_abi_sdk.document.commands import Apply, Get, Together
from naas_abi_sdk.document.performing import perform
from naas_abi_sdk.errors import ThreadDeleted
from naas_abi_sdk.langgraph_documents import CHECKPOINTS, TOMBSTONES, WRITES, operations
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.tombstones import bury, is_buried
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import (
    AGENT_ID,
    Codec,
    all_documents,
    checkpoint_id,
    config,
    make_checkpoint,
)
from tests.support.steps import Step, schedules

VALUES = {"messages": ["m" * 2000]}


@pytest.fixture
def documents() -> Any:
    return MemoryDocuments().for_namespace("n")


@pytest.fixture
def late(documents: Any) -> Codec:
    """A process in the middle of a run whose thread another process deletes."""
    late = Codec(documents)
    late.put(config(), make_checkpoint(1, VALUES))
    late.put(config(number=1), make_checkpoint(2, VALUES))
    late.put(config(checkpoint_ns="child:1"), make_checkpoint(3, VALUES))
    Codec(documents).delete_thread("t-1")
    return late


def collections(documents: Any) -> set[str]:
    return {collection for collection, _ in all_documents(documents)}


def put(codec: Codec) -> None:
    codec.put(config(number=2), make_checkpoint(4, VALUES))


def put_writes(codec: Codec) -> None:
    codec.put_writes(config(number=2), [("messages", "x" * 300_000)])


def put_of_a_subgraph(codec: Codec) -> None:
    """The first checkpoint of a subgraph has no parent, but it is called from one."""
    metadata = {"source": "input", "step": -1, "parents": {"": checkpoint_id(2)}}
    codec.put(config(checkpoint_ns="child:2"), make_checkpoint(4, VALUES), metadata)


CALLS = [put, put_writes, put_of_a_subgraph]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("warm", [True, False], ids=["same process", "restarted"])
def test_a_late_writer_is_refused_and_stores_nothing(
    documents: Any, late: Codec, call: Callable[[Codec], None], warm: bool
) -> None:
    writer = late if warm else Codec(documents)
    for _ in range(2):
        with pytest.raises(ThreadDeleted, match=r"'t-1' was deleted, and with it checkpoint '.*2'"):
            call(writer)
    assert collections(documents) == {TOMBSTONES}


def test_the_rest_of_a_late_run_is_refused_too(documents: Any, late: Codec) -> None:
    """LangGraph stores the next checkpoint even though the one before was refused."""
    for number in range(4, 8):
        with pytest.raises(ThreadDeleted):
            late.put(
                config(number=number - 2 if number == 4 else number - 1),
                make_checkpoint(number, VALUES),
            )
    assert collections(documents) == {TOMBSTONES}


@pytest.mark.parametrize("when", range(1, 12))
def test_a_subgraph_that_stored_before_its_late_caller_was_refused_leaves_nothing(
    documents: Any, late: Codec, when: int
) -> None:
    """LangGraph stores in the background: what is called may be stored before its caller."""
    fresh = Codec(documents)
    fresh.put(config(), make_checkpoint(20, VALUES))
    key = (CHECKPOINTS, document_id(AGENT_ID, "t-1", "child:9", checkpoint_id(21)))
    fresh.put(config(checkpoint_ns="child:9"), make_checkpoint(21, VALUES))
    documents.put(*key, documents.get(*key).data | {"metadata": {"kind": "?", "payload": b""}})
    caller: Any = {"source": "loop", "step": 2, "parents": {}}
    called: Any = {"source": "input", "step": -1, "parents": {"": checkpoint_id(30)}}
    child = config(checkpoint_ns="child:2")
    calling = Step(
        documents,
        operations.put(late.memory, config(number=2), make_checkpoint(30, VALUES), caller),
    )
    first = Step(documents, operations.put(late.memory, child, make_checkpoint(31, VALUES), called))
    for _ in range(when):
        first.move()
    calling.finish()
    first.finish()
    assert isinstance(calling.refused, ThreadDeleted)
    assert first.refused is None or isinstance(first.refused, ThreadDeleted)
    with pytest.raises(ThreadDeleted):
        late.put(config(number=31, checkpoint_ns="child:2"), make_checkpoint(32, VALUES), called)
    with pytest.raises(ThreadDeleted):
        late.put_writes(config(number=31, checkpoint_ns="child:2"), [("a", 1)])
    left = {
        data["checkpoint_id"]
        for key, data in all_documents(documents).items()
        if key[0] == CHECKPOINTS
    }
    assert left == {checkpoint_id(20), checkpoint_id(21)}, "the new conversation is not touched"


def test_the_id_may_be_used_again(documents: Any, late: Codec) -> None:
    fresh = Codec(documents)
    fresh.put(config(), make_checkpoint(11, {"n": 11}))
    fresh.put_writes(config(number=11), [("a", 1)])
    fresh.put(config(number=11), make_checkpoint(12, {"n": 12}))
    fresh.put(
        config(checkpoint_ns="child:1"),
        make_checkpoint(13, {}),
        {"parents": {"": checkpoint_id(12)}},
    )
    for call in CALLS:
        with pytest.raises(ThreadDeleted):
            call(late)
    assert [item.checkpoint["id"] for item in fresh.history(config())] == [
        checkpoint_id(12),
        checkpoint_id(11),
    ]


def test_going_on_from_a_checkpoint_that_was_never_there_or_was_pruned_is_fine(
    documents: Any, late: Codec
) -> None:
    codec = Codec(documents)
    codec.put(config(number=20), make_checkpoint(21, VALUES))
    codec.put_writes(config(number=22), [("a", 1)])
    documents.delete(CHECKPOINTS, document_id(AGENT_ID, "t-1", "", checkpoint_id(21)))
    codec.put(config(number=21), make_checkpoint(23, VALUES))
    assert codec.get_tuple(config()).checkpoint["channel_values"] == VALUES


def looks_for_the_tombstone(command: Any) -> bool:
    return isinstance(command, Together) and any(
        isinstance(read, Get) and read.collection == TOMBSTONES for read in command.reads
    )


@pytest.mark.parametrize("call", [put, put_writes])
def test_a_thread_deleted_right_after_the_writer_looked_takes_what_it_stored_along(
    documents: Any, call: Callable[[Codec], None]
) -> None:
    """The writer's checkpoint 2 is pruned; the thread is deleted while it stores all the same."""
    codec = Codec(documents)
    codec.put(config(), make_checkpoint(5, VALUES))
    perform_it = codec.perform
    looked: list[Any] = []

    def performing(command: Any) -> Any:
        if looks_for_the_tombstone(command):
            looked.append(command)
            answer = perform(documents, command)
            if len(looked) == 1:
                documents.delete(CHECKPOINTS, document_id(AGENT_ID, "t-1", "", checkpoint_id(5)))
                run = Codec(documents)
                run.run(bury(run.memory, "t-1", [checkpoint_id(5)]))
            return answer
        return perform_it(command)

    codec.perform = performing
    with pytest.raises(ThreadDeleted):
        call(codec)
    assert len(looked) == (3 if call is put else 2)
    assert not collections(documents) & {CHECKPOINTS, WRITES}


def test_two_who_delete_at_once_note_the_later_checkpoint() -> None:
    for schedule in schedules(4, 4):
        documents = MemoryDocuments().for_namespace("n")
        codec = Codec(documents)
        steps = [Step(documents, bury(codec.memory, "t-1", [checkpoint_id(n)])) for n in (3, 7)]
        for second in schedule:
            steps[second].move()
        for step in steps:
            step.finish()
        assert codec.run(is_buried(codec.memory, "t-1", checkpoint_id(7)))
        assert not codec.run(is_buried(codec.memory, "t-1", checkpoint_id(8)))
        assert not codec.run(is_buried(codec.memory, "t-2", checkpoint_id(1)))


def test_a_store_set_up_before_there_were_tombstones_gets_them(documents: Any) -> None:
    codec = Codec(documents)
    codec.put(config(), make_checkpoint(1, VALUES))
    for name in ("langgraph_tombstones_v2", "langgraph_leases_v2"):
        documents.store.drop_collection("n", name)
    Codec(documents).delete_thread("t-1")
    with pytest.raises(ThreadDeleted):
        codec.put(config(number=1), make_checkpoint(2, VALUES))


def test_pending_writes_that_overtake_their_checkpoint_are_stored_at_once() -> None:
    """LangGraph stores both in threads of their own; neither waits for the other."""
    documents = MemoryDocuments().for_namespace("n")
    codec = Codec(documents)
    codec.run(operations.setup())
    commands: list[Any] = []
    perform_with = codec.perform
    codec.perform = lambda command: (commands.append(command), perform_with(command))[1]
    codec.put_writes(config(number=1), [("a", 1)])
    assert sum(isinstance(command, Apply) for command in commands) == 1
    codec.put(config(), make_checkpoint(1, {}))
    assert [write[1:] for write in codec.get_tuple(config()).pending_writes] == [("a", 1)]
