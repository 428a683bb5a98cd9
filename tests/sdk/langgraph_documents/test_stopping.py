"""A process killed anywhere leaves whole checkpoints only, and the retry succeeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from naas_abi_sdk.langgraph_documents import CHECKPOINTS, TOMBSTONES
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import (
    Codec,
    all_documents,
    checkpoint_id,
    config,
    make_checkpoint,
)
from tests.support.stopping import Killed, one_by_one

MESSAGES = [f"message {number} " + "m" * 60 for number in range(70)]
LONG = "0123456789abcdef" * 20_000  # two parts


def history(documents: Any) -> Codec:
    """A thread of three checkpoints with chunks, a split value and pending writes."""
    codec = Codec(documents)
    codec.put(config(), make_checkpoint(1, {"messages": MESSAGES[:40], "note": "a"}))
    codec.put(config(number=1), make_checkpoint(2, {"messages": MESSAGES[:41], "long": LONG}))
    codec.put_writes(config(number=2), [("messages", ["x" * 2000]), ("__interrupt__", "ask")])
    codec.put(config("other"), make_checkpoint(1, {"messages": MESSAGES[:40]}))
    return codec


def put(codec: Codec) -> None:
    values = {"messages": MESSAGES, "long": LONG + "!", "big": "b" * 3000}
    codec.put(config(number=2), make_checkpoint(3, values))


def put_writes(codec: Codec) -> None:
    codec.put_writes(
        config(number=2), [("long", LONG + "?"), ("b", 1), ("__error__", "e")], "task-2"
    )


def delete_thread(codec: Codec) -> None:
    codec.delete_thread("t-1")


def copy_thread(codec: Codec) -> None:
    codec.copy_thread("t-1", "copy")


OPERATIONS = [put, put_writes, delete_thread, copy_thread]


def check_whole(documents: Any) -> list[Any]:
    """Every stored checkpoint, read by a new process."""
    stored = [key for collection, key in all_documents(documents) if collection == CHECKPOINTS]
    loaded = list(Codec(documents).history())
    assert len(loaded) == len(stored)
    for item in loaded:
        again = Codec(documents).get_tuple(item.config)
        assert again.checkpoint == item.checkpoint
    return loaded


@pytest.mark.parametrize("warm", [True, False], ids=["same process", "new process"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_stopping_after_every_write(operation: Callable[[Codec], None], warm: bool) -> None:
    reference = MemoryDocuments().for_namespace("n")
    operation(history(reference))
    finished = all_documents(reference)

    stop_after = 0
    while True:
        documents = MemoryDocuments().for_namespace("n")
        before = history(documents)
        acknowledged = {item.config["configurable"]["checkpoint_id"] for item in before.history()}
        recall = before.recall if warm else None
        codec = Codec(documents, recall=recall, perform_with=one_by_one(documents, stop_after))
        try:
            operation(codec)
        except Killed:
            left = check_whole(documents)
            if operation is not delete_thread:
                kept = {item.config["configurable"]["checkpoint_id"] for item in left}
                assert kept >= acknowledged
            operation(Codec(documents))
            assert all_documents(documents) == finished
            stop_after += 1
        else:
            assert all_documents(documents) == finished
            break
    assert stop_after >= 4, "the operation made too few writes for this test to mean anything"


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_repeating_an_operation_changes_nothing(operation: Callable[[Codec], None]) -> None:
    documents = MemoryDocuments().for_namespace("n")
    codec = history(documents)
    operation(codec)
    finished = all_documents(documents)
    operation(codec)
    operation(Codec(documents))
    assert all_documents(documents) == finished


def test_deleting_a_thread_leaves_nothing_of_it_and_all_of_the_others() -> None:
    """C074: but for its tombstone, which holds no content and not the thread's id."""
    alone = MemoryDocuments().for_namespace("n")
    Codec(alone).put(config("other"), make_checkpoint(1, {"messages": MESSAGES[:40]}))
    documents = MemoryDocuments().for_namespace("n")
    history(documents).delete_thread("t-1")
    left = all_documents(documents)
    (tombstone,) = [key for key in left if key[0] == TOMBSTONES]
    assert left.pop(tombstone) == {"agent_id": "engine.v1", "_schema": 2, "last": checkpoint_id(2)}
    assert left == all_documents(alone)
