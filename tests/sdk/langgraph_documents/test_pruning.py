"""Pruning deletes what is asked for, and nothing that a kept checkpoint is rebuilt from."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from naas_abi_sdk.errors import CheckpointDamaged, InvalidCheckpointConfig
from naas_abi_sdk.langgraph_documents import CHECKPOINTS, ORDERS, TOMBSTONES, WRITES, operations
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.deltas import delta_history
from naas_abi_sdk.langgraph_documents.pruning import prune
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import (
    AGENT_ID,
    Codec,
    all_documents,
    checkpoint_id,
    config,
    make_checkpoint,
    small_pages,
)
from tests.support.steps import Step
from tests.support.stopping import Killed, one_by_one

MESSAGES = [f"message {number} " + "m" * 60 for number in range(40)]


@pytest.fixture
def documents() -> Any:
    return MemoryDocuments().for_namespace("n")


@pytest.fixture
def codec(documents: Any) -> Codec:
    return Codec(documents)


def metadata(run_id: Any = "run", *deltas: str) -> Any:
    found: Any = {"source": "loop", "step": 0, "parents": {}, "run_id": run_id}
    if deltas:
        found["counters_since_delta_snapshot"] = dict.fromkeys(deltas, (1, 1))
    return found


def thread(codec: Codec, numbers: range, thread_id: str = "t-1", **changes: Any) -> None:
    """A chain of checkpoints, each of a run of its own, each with a pending write."""
    for number in numbers:
        parent = number - 1 if number > numbers[0] else None
        at = config(thread_id, parent, changes.get("checkpoint_ns", ""))
        values = {"messages": [*MESSAGES, number]}
        codec.put(at, make_checkpoint(number, values), metadata(f"run-{number}"))
        codec.put_writes(config(thread_id, number, changes.get("checkpoint_ns", "")), [("a", 1)])


def numbers(codec: Codec, thread_id: str = "t-1", checkpoint_ns: str = "") -> list[int]:
    found = codec.history(config(thread_id, checkpoint_ns=checkpoint_ns))
    return [int(item.checkpoint["id"][-4:]) for item in found]


def writes_of(documents: Any) -> set[int]:
    found = all_documents(documents).items()
    return {int(data["checkpoint_id"][-4:]) for key, data in found if key[0] == WRITES}


@pytest.mark.parametrize("pages", [1000, 2])
def test_the_latest_of_every_namespace_is_kept(documents: Any, codec: Codec, pages: int) -> None:
    thread(codec, range(1, 6))
    thread(codec, range(6, 9), checkpoint_ns="child:1")
    thread(codec, range(1, 4), "other")
    thread(codec, range(1, 3), "unlisted")
    Codec(documents, perform_with=small_pages(documents, pages)).prune(["t-1", "other", "absent"])
    reader = Codec(documents)
    assert numbers(reader) == [5]
    assert numbers(reader, checkpoint_ns="child:1") == [8]
    assert numbers(reader, "other") == [3]
    assert numbers(reader, "unlisted") == [2, 1]
    latest = reader.get_tuple(config())
    assert latest.checkpoint["channel_values"] == {"messages": [*MESSAGES, 5]}
    assert latest.pending_writes == [("task-1", "a", 1)]
    assert latest.parent_config == config(number=4)
    assert writes_of(documents) == {1, 2, 3, 5, 8}
    codec.put(config(number=5), make_checkpoint(9, {"messages": [*MESSAGES, 5, 9]}))
    assert numbers(reader) == [9, 5]


def test_after_the_clock_stepped_back_the_child_is_the_latest(documents: Any, codec: Codec) -> None:
    """C070."""
    codec.put(config(), make_checkpoint(50, {"n": 50}))
    codec.put(config(number=50), make_checkpoint(10, {"n": 10}))
    codec.put(config(number=10), make_checkpoint(11, {"n": 11}))
    Codec(documents).prune(["t-1"])
    assert numbers(codec) == [11]
    assert codec.get_tuple(config()).checkpoint["channel_values"] == {"n": 11}
    assert [key for key in all_documents(documents) if key[0] == ORDERS] == [
        (ORDERS, document_id(AGENT_ID, "t-1", "", checkpoint_id(11)))
    ]


def test_deleting_as_a_strategy_is_deleting_the_threads(documents: Any, codec: Codec) -> None:
    thread(codec, range(1, 4))
    thread(codec, range(1, 4), "other")
    codec.prune(["t-1", "t-1"], "delete")
    assert numbers(codec) == []
    assert numbers(codec, "other") == [3, 2, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda codec: codec.prune("t-1"), "thread_ids must be a list of ids, got str"),
        (lambda codec: codec.prune(None), "thread_ids must be a list of ids, got NoneType"),
        (lambda codec: codec.prune(["t-1", True]), "'thread_id'] must be text, got bool"),
        (lambda codec: codec.prune(["t-1"], "keep"), "one of keep_latest, delete, not 'keep'"),
        (lambda codec: codec.delete_for_runs("run-1"), "run_ids must be a list of ids, got str"),
        (lambda codec: codec.delete_for_runs(["run-1", None]), "must hold text, got NoneType"),
    ],
)
def test_what_names_no_threads_or_runs_is_refused_before_anything_is_done(
    documents: Any, codec: Codec, call: Any, message: str
) -> None:
    """C078."""
    thread(codec, range(1, 4))
    before = all_documents(documents)
    with pytest.raises(InvalidCheckpointConfig) as caught:
        call(codec)
    assert message in str(caught.value)
    codec.prune([])
    codec.prune(["absent"])
    codec.delete_for_runs([])
    codec.delete_for_runs(["absent"])
    assert all_documents(documents) == before


@pytest.mark.parametrize("pages", [1000, 2])
def test_runs_are_deleted_wherever_they_stored_anything(
    documents: Any, codec: Codec, pages: int
) -> None:
    unique = UUID("00000000-0000-4000-8000-000000000001")
    thread(codec, range(1, 6))
    thread(codec, range(3, 6), checkpoint_ns="child:1")
    thread(codec, range(2, 4), "other")
    codec.put(config("by-uuid"), make_checkpoint(1, {}), metadata(unique))
    codec.put(config("no-run"), make_checkpoint(1, {}))
    codec.put(config("no-text"), make_checkpoint(1, {}), metadata(1))
    performing = small_pages(documents, pages)
    Codec(documents, perform_with=performing).delete_for_runs(["run-2", "run-3", str(unique), "1"])
    assert numbers(codec) == [5, 4, 1]
    assert numbers(codec, checkpoint_ns="child:1") == [5, 4]
    assert numbers(codec, "other") == numbers(codec, "by-uuid") == []
    assert numbers(codec, "no-run") == numbers(codec, "no-text") == [1]
    assert writes_of(documents) == {1, 4, 5}
    left = [data for data in all_documents(documents).values() if data["thread_id"] == "other"]
    assert left == [], "a thread that has no checkpoint left keeps no values either"
    assert not any(key[0] == TOMBSTONES for key in all_documents(documents))


def delta_thread(codec: Codec) -> None:
    """Two snapshots of ``log``, at 1 and 4; ``never`` is a delta channel nobody wrote to."""
    for number in range(1, 8):
        snapshot = number in (1, 4)
        values: Any = {"plain": number} | ({"log": [f"seed {number}"]} if snapshot else {})
        versions = {"plain": number, "log": number}
        deltas = ("never",) if snapshot else ("log", "never")
        checkpoint = make_checkpoint(number, values, versions)
        codec.put(config(number=number - 1 or None), checkpoint, metadata(f"run-{number}", *deltas))
        codec.put_writes(config(number=number), [("log", number)])


def log_of(documents: Any, number: int | None = None) -> Any:
    codec = Codec(documents)
    return codec.run(delta_history(codec.memory, config(number=number), ["log"]))


def test_what_a_delta_channel_is_rebuilt_from_is_kept(documents: Any, codec: Codec) -> None:
    """C076: and a thread with one does not hold others back."""
    delta_thread(codec)
    thread(codec, range(1, 4), "other")
    before = log_of(documents)
    assert before["log"]["seed"] == ["seed 4"]
    Codec(documents).prune(["t-1", "other"])
    assert numbers(codec) == [7, 6, 5, 4]
    assert numbers(codec, "other") == [3]
    assert log_of(documents) == before
    Codec(documents).delete_for_runs(["run-4", "run-5", "run-7"])
    assert numbers(codec) == [6, 5, 4], "6 needs what runs 4 and 5 stored"
    assert [value for _, _, value in log_of(documents)["log"]["writes"]] == [4, 5]


def test_a_delta_channel_without_any_snapshot_keeps_its_whole_history(
    documents: Any, codec: Codec
) -> None:
    for number in range(1, 4):
        checkpoint = make_checkpoint(number, {}, {"log": number})
        codec.put(config(number=number - 1 or None), checkpoint, metadata("run", "log"))
    codec.prune(["t-1"])
    assert numbers(codec) == [3, 2, 1]


def test_a_thread_whose_needs_cannot_be_read_is_left_alone(documents: Any, codec: Codec) -> None:
    """C083."""
    thread(codec, range(1, 4))
    key = (CHECKPOINTS, document_id(AGENT_ID, "t-1", "", checkpoint_id(2)))
    stored = documents.get(*key).data
    documents.put(*key, stored | {"metadata": {"kind": "msgpack", "payload": b"\xc1"}})
    before = all_documents(documents)
    for call in (lambda: codec.prune(["t-1"]), lambda: codec.delete_for_runs(["run-1"])):
        with pytest.raises(CheckpointDamaged, match=r"metadata of checkpoint '.*2' of "):
            call()
    assert all_documents(documents) == before


def test_long_metadata_is_read_too(documents: Any, codec: Codec) -> None:
    codec.put(config(), make_checkpoint(1, {"n": 1}), metadata("run-1") | {"long": "x" * 600_000})
    codec.put(config(number=1), make_checkpoint(2, {"n": 2}), metadata("run-2"))
    Codec(documents).delete_for_runs(["run-1"])
    assert numbers(codec) == [2]


def test_stopped_anywhere_what_is_left_can_be_read_and_the_next_prune_ends_the_same() -> None:
    stop_after = 0
    while True:
        documents = MemoryDocuments().for_namespace("n")
        delta_thread(Codec(documents))
        expected = {number: log_of(documents, number) for number in range(1, 8)}
        try:
            Codec(documents, perform_with=one_by_one(documents, stop_after)).prune(["t-1"])
        except Killed:
            left = numbers(Codec(documents))
            rebuilt = [number for number in left if number not in (1, 4)]  # they have the value
            assert [log_of(documents, number) for number in rebuilt] == [
                expected[number] for number in rebuilt
            ]
            Codec(documents).prune(["t-1"])
            assert numbers(Codec(documents)) == [7, 6, 5, 4]
            stop_after += 1
        else:
            break
    assert stop_after == 6


def test_a_turn_meanwhile_is_whole() -> None:
    """A child of the latest, and a fork from a checkpoint that is being deleted."""
    values = {"messages": [*MESSAGES, "late"], "note": "n" * 2000}
    for parent in (5, 2):
        for first in range(1, 8):
            for second in range(1, 6, 2):
                documents = MemoryDocuments().for_namespace("n")
                codec = Codec(documents)
                thread(codec, range(1, 6))
                pruning = Step(documents, prune(Codec(documents).memory, ["t-1"]))
                checkpoint = make_checkpoint(9, values)
                put = operations.put(codec.memory, config(number=parent), checkpoint, metadata())
                writing = Step(documents, put)
                for step, moves in ((pruning, first), (writing, second)):
                    for _ in range(moves):
                        step.move()
                pruning.finish()
                writing.finish()
                assert (pruning.refused, writing.refused) == (None, None)
                reader = Codec(documents)
                assert set(numbers(reader)) in ({9, 5}, {9})
                assert reader.get_tuple(config()).checkpoint["channel_values"] == values
