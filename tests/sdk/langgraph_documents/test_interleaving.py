"""Two processes on one thread, interleaved command by command.

No checkpoint is left dangling, and no late writer brings a deleted thread back (C073).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from naas_abi_sdk.document.commands import Operation
from naas_abi_sdk.errors import ThreadDeleted
from naas_abi_sdk.langgraph_documents import TOMBSTONES, operations
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import Codec, all_documents, config, make_checkpoint
from tests.support.steps import Step, schedules

MESSAGES = [f"message {number} " + "m" * 60 for number in range(34)]
METADATA: Any = {"source": "loop", "step": 0, "parents": {}}


def late_put(codec: Codec) -> Operation[Any]:
    """A step that goes on from checkpoint 1 and adds one message."""
    checkpoint = make_checkpoint(2, {"messages": [*MESSAGES, "late " * 50], "note": "n" * 2000})
    return operations.put(codec.memory, config(number=1), checkpoint, METADATA)


def fork_put(codec: Codec) -> Operation[Any]:
    """Another step from checkpoint 1 that brings a value back which no checkpoint has."""
    checkpoint = make_checkpoint(3, {"messages": MESSAGES[:33], "note": "n" * 2000})
    return operations.put(codec.memory, config(number=1), checkpoint, METADATA)


def delete(codec: Codec) -> Operation[Any]:
    return operations.delete_thread(codec.memory, "t-1")


def prepared() -> tuple[Any, Codec]:
    documents = MemoryDocuments().for_namespace("n")
    codec = Codec(documents)
    codec.put(config(), make_checkpoint(1, {"messages": MESSAGES, "note": "n" * 1500}))
    return documents, codec


def check_whole(documents: Any) -> None:
    for item in Codec(documents).history():
        assert Codec(documents).get_tuple(item.config).checkpoint == item.checkpoint


def late_writes(codec: Codec) -> Operation[Any]:
    """A task of checkpoint 1 that ends late."""
    writes = [("note", "x" * 300_000), ("__interrupt__", "ask")]
    return operations.put_writes(codec.memory, config(number=1), writes, "task-1")


@pytest.mark.parametrize(
    ("writer", "warm", "moves"),
    [(late_put, True, 3), (late_put, False, 2), (fork_put, True, 2), (late_writes, True, 2)],
    ids=["append", "append, knowing nothing", "fork", "writes"],
)
def test_a_put_and_a_delete_in_every_order(
    writer: Callable[[Codec], Any], warm: bool, moves: int
) -> None:
    documents, codec = prepared()
    moves_of_delete = Step(documents, delete(codec)).finish()
    tried = 0
    refused = set()
    for schedule in schedules(moves_of_delete, moves):
        documents, codec = prepared()
        deleting = Step(documents, delete(Codec(documents)))
        writing = Step(documents, writer(codec if warm else Codec(documents)))
        for is_writer in schedule:
            if (writing if is_writer else deleting).move():
                check_whole(documents)
        deleting.finish()
        writing.finish()
        assert {collection for collection, _ in all_documents(documents)} == {TOMBSTONES}
        refused.add(type(writing.refused))
        tried += 1
    assert tried > 100
    assert refused == {ThreadDeleted, type(None)}


def test_two_forks_in_every_order_keep_both() -> None:
    for schedule in schedules(3, 3):
        documents, codec = prepared()
        other = Codec(documents)
        other.get_tuple(config())
        steps = [Step(documents, late_put(codec)), Step(documents, fork_put(other))]
        for second in schedule:
            steps[second].move()
        for step in steps:
            step.finish()
        ids = [item.checkpoint["id"][-1] for item in Codec(documents).history(config())]
        assert ids == ["3", "2", "1"]
        check_whole(documents)
