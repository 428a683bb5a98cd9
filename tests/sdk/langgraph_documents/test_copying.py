"""A copied thread is whole at every moment, and nobody's but its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from naas_abi_sdk.document.commands import Operation
from naas_abi_sdk.errors import (
    CheckpointConflict,
    CheckpointDamaged,
    CheckpointError,
    InvalidCheckpointConfig,
    ThreadBusy,
)
from naas_abi_sdk.langgraph_documents import CHECKPOINTS, LEASES, WRITES, operations
from naas_abi_sdk.langgraph_documents.copying import copy_thread
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import (
    Codec,
    all_documents,
    checkpoint_id,
    config,
    make_checkpoint,
    small_pages,
)
from tests.support.steps import Step

MESSAGES = [f"message {number} " + "m" * 60 for number in range(40)]
LONG = "0123456789abcdef" * 20_000  # two parts
EVERYWHERE: Any = {"configurable": {"thread_id": "t-1"}}


def source() -> tuple[Any, Codec]:
    """A thread with chunks, parts, pending writes, a subgraph, and a clock that stepped back."""
    documents = MemoryDocuments().for_namespace("n")
    codec = Codec(documents)
    codec.put(config(), make_checkpoint(1, {"messages": MESSAGES[:39]}))
    codec.put(config(number=1), make_checkpoint(2, {"messages": MESSAGES, "long": LONG}))
    codec.put_writes(config(number=2), [("messages", LONG + "!"), ("__interrupt__", "ask")])
    codec.put(config(checkpoint_ns="child:1"), make_checkpoint(4, {"n": 1}))
    codec.put(config(number=2), make_checkpoint(0, {"messages": MESSAGES, "n": "back"}))
    return documents, codec


def contents(codec: Codec, thread_id: str) -> list[Any]:
    """All that can be read of a thread, without its id."""
    found = codec.history({"configurable": {"thread_id": thread_id}})
    latest = codec.get_tuple(config(thread_id))
    return [latest and latest.checkpoint["id"]] + [
        (
            item.config["configurable"] | {"thread_id": ""},
            item.checkpoint,
            item.metadata,
            item.parent_config and item.parent_config["configurable"]["checkpoint_id"],
            item.pending_writes,
        )
        for item in found
    ]


def of_thread(documents: Any, thread_id: str) -> dict[Any, Any]:
    found = all_documents(documents).items()
    return {key: data for key, data in found if data.get("thread_id") == thread_id}


@pytest.mark.parametrize("pages", [1000, 2])
def test_all_of_a_thread_is_copied_and_the_source_is_not_touched(pages: int) -> None:
    documents, codec = source()
    before = documents.snapshot()
    Codec(documents, perform_with=small_pages(documents, pages)).copy_thread("t-1", "copy")
    after = documents.snapshot()
    assert all(after[name][key] == text for name in before for key, text in before[name].items())
    assert contents(Codec(documents), "copy") == contents(codec, "t-1")
    assert len(of_thread(documents, "copy")) == len(of_thread(documents, "t-1"))
    assert not any(collection == LEASES for collection, _ in all_documents(documents))


@pytest.mark.parametrize("deleted", ["t-1", "copy"])
def test_deleting_one_thread_never_harms_the_other(deleted: str) -> None:
    """C084."""
    documents, codec = source()
    expected = contents(codec, "t-1")
    codec.copy_thread("t-1", "copy")
    codec.delete_thread(deleted)
    left = "copy" if deleted == "t-1" else "t-1"
    assert contents(Codec(documents), left) == expected
    assert of_thread(documents, deleted) == {}


def test_a_copy_goes_on_by_itself() -> None:
    documents, codec = source()
    codec.copy_thread("t-1", "copy")
    latest = codec.get_tuple(config("copy"))
    codec.put(latest.config, make_checkpoint(5, {"messages": [*MESSAGES, "more"]}))
    assert codec.get_tuple(config("copy")).checkpoint["channel_values"]["messages"][-1] == "more"
    assert codec.get_tuple(config()).checkpoint["channel_values"]["messages"] == MESSAGES
    before = all_documents(documents)
    with pytest.raises(CheckpointConflict, match="'copy' has checkpoints that 't-1' does not"):
        codec.copy_thread("t-1", "copy")
    assert all_documents(documents) == before


def test_repeating_a_copy_leaves_what_is_there_alone() -> None:
    documents, codec = source()
    codec.copy_thread("t-1", "copy")
    codec.put_writes(config("copy", 2), [("__interrupt__", "changed")])
    before = all_documents(documents)
    codec.copy_thread("t-1", "copy")
    assert all_documents(documents) == before
    codec.put(config(number=0), make_checkpoint(7, {"n": 7}))
    codec.copy_thread("t-1", "copy")
    assert codec.get_tuple(config("copy")).checkpoint["channel_values"] == {"n": 7}
    assert dict(item[1:] for item in codec.get_tuple(config("copy", 2)).pending_writes) == {
        "messages": LONG + "!",
        "__interrupt__": "changed",
    }


def test_what_cannot_be_copied() -> None:
    documents, codec = source()
    before = all_documents(documents)
    codec.copy_thread("absent", "copy")
    assert all_documents(documents) == before
    with pytest.raises(InvalidCheckpointConfig, match="'1' cannot be copied to itself"):
        codec.copy_thread(1, "1")
    key = next(key for key in before if key[0] == CHECKPOINTS)
    documents.put(*key, before[key] | {"_schema": 3})
    with pytest.raises(CheckpointDamaged, match="has schema 3"):
        codec.copy_thread("t-1", "copy")


def test_two_sources_are_not_copied_to_one_target_at_once() -> None:
    documents, codec = source()
    codec.put(config("other"), make_checkpoint(9, {"n": 9}))
    first = Step(documents, copy_thread(codec.memory, "t-1", "copy"))
    for _ in range(4):
        first.move()
    with pytest.raises(ThreadBusy, match="'t-1' is being copied to 'copy', or a copy was stopped"):
        codec.copy_thread("other", "copy")
    first.finish()
    assert contents(codec, "copy") == contents(codec, "t-1")
    with pytest.raises(CheckpointConflict, match="'copy' has checkpoints that 'other' does not"):
        codec.copy_thread("other", "copy")


def test_a_marker_that_vanishes_while_it_is_looked_at_is_made_again() -> None:
    documents, codec = source()
    first = Step(documents, copy_thread(codec.memory, "t-1", "copy"))
    for _ in range(3):
        first.move()
    second = Step(documents, copy_thread(codec.memory, "t-1", "copy"))
    second.move()
    second.move()  # refused: the first has it
    first.finish()
    second.finish()
    assert second.refused is None
    assert contents(codec, "copy") == contents(codec, "t-1")


def put_and_writes(codec: Codec) -> Operation[Any]:
    values = {"messages": [*MESSAGES, "late"], "long": LONG + "late"}
    metadata: Any = {"source": "loop", "step": 3, "parents": {}}
    yield from operations.put(codec.memory, config(number=2), make_checkpoint(3, values), metadata)
    yield from operations.put_writes(codec.memory, config(number=2), [("n", LONG + "?")], "late")


def delete_target(codec: Codec) -> Operation[Any]:
    return operations.delete_thread(codec.memory, "copy")


def delete_source(codec: Codec) -> Operation[Any]:
    return operations.delete_thread(codec.memory, "t-1")


@pytest.mark.parametrize("other", [put_and_writes, delete_target, delete_source])
def test_what_is_copied_is_whole_whatever_happens_meanwhile(
    other: Callable[[Codec], Operation[Any]],
) -> None:
    """One stops anywhere, the other goes on for any while, then both end."""
    documents, codec = source()
    moves = Step(documents, copy_thread(codec.memory, "t-1", "copy")).finish()
    refused: set[type[CheckpointError] | None] = set()
    latest = checkpoint_id(3)
    for first in range(1, moves + 1):
        for second in (1, 2, 4, 7, 11, 30):
            documents, codec = source()
            copying = Step(documents, copy_thread(Codec(documents).memory, "t-1", "copy"))
            others = Step(documents, other(codec))
            for step, count in ((copying, first), (others, second)):
                for _ in range(count):
                    step.move()
            check_whole(documents)
            copying.finish()
            check_whole(documents)
            others.finish()
            check_whole(documents)
            refused.add(copying.refused and type(copying.refused))
            if other is delete_target and others.done and copying.refused:
                assert not any(key[0] == WRITES for key in of_thread(documents, "copy"))
            if other is put_and_writes:
                assert contents(Codec(documents), "copy")[0] in (checkpoint_id(0), latest)
    assert refused == ({None, ThreadBusy} if other is delete_target else {None})


def check_whole(documents: Any) -> None:
    found = list(Codec(documents).history({"configurable": {"thread_id": "copy"}}))
    stored = [key for key in of_thread(documents, "copy") if key[0] == CHECKPOINTS]
    assert len(found) == len(stored)
