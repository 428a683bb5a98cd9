"""The sync saver: the contract, and what is right where LangGraph's own saver is not."""

from __future__ import annotations

import asyncio
import logging
import operator
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.service import DocumentService
from naas_abi_sdk.errors import (
    CheckpointConflict,
    CheckpointDamaged,
    InvalidCheckpointConfig,
    ValueNotStorable,
)
from naas_abi_sdk.langgraph_documents import CHECKPOINTS, ITEMS
from naas_abi_sdk.testing import MemoryDocuments
from tests.contracts.savers import STEP, SaverContract, numbers
from tests.support.checkpoints import all_documents, checkpoint_id, config, make_checkpoint


def saver_over(
    adapter: Any, agent_id: str = "engine.v1", namespace: str = "n"
) -> DocumentCheckpointSaver:
    return DocumentCheckpointSaver(DocumentService(adapter, namespace), agent_id=agent_id)


def put(saver: Any, at: Any, checkpoint: Any, metadata: Any = STEP) -> Any:
    return saver.put(at, checkpoint, metadata, checkpoint["channel_versions"])


class TestReference(SaverContract):
    """LangGraph's own saver passes: the contract asks nothing of our invention."""

    @pytest.fixture
    def saver(self) -> InMemorySaver:
        return InMemorySaver()


class TestOverMemory(SaverContract):
    @pytest.fixture
    def saver(self) -> DocumentCheckpointSaver:
        return saver_over(MemoryDocuments())


class TestOverSQLite(SaverContract):
    @pytest.fixture
    def saver(self, adapter: SQLiteDocuments) -> DocumentCheckpointSaver:
        return saver_over(adapter)


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[SQLiteDocuments]:
    adapter = SQLiteDocuments(tmp_path / "documents.sqlite")
    yield adapter
    adapter.close()


@pytest.fixture
def saver(adapter: SQLiteDocuments) -> DocumentCheckpointSaver:
    return saver_over(adapter)


@pytest.mark.parametrize(
    ("stored", "asked", "matches"),
    [
        (True, True, True),
        (True, 1, False),
        (1, True, False),
        (1, 1.0, True),
        (1, "1", False),
        (None, None, True),
        (None, False, False),
        (0, False, False),
        ([1, {"a": True}], [1, {"a": True}], True),
        ([1, {"a": True}], [1, {"a": 1}], False),
        ([1, 2], (1, 2), True),
        ([1, 2], [1], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({}, {}, True),
        (float("nan"), float("nan"), False),
        (float("inf"), float("inf"), True),
        (-0.0, 0, True),
    ],
)
def test_metadata_comparison(saver: Any, stored: Any, asked: Any, matches: bool) -> None:
    """C061, C017: one rule; bools are not numbers."""
    put(saver, config(), make_checkpoint(1, {}), {**STEP, "key": stored})
    assert bool(list(saver.list(config(), filter={"key": asked}))) is matches


def test_a_missing_key_does_not_match_none(saver: Any) -> None:
    """C059."""
    put(saver, config(), make_checkpoint(1, {}))
    assert list(saver.list(config(), filter={"key": None})) == []


def test_branches_that_reach_the_same_version_keep_their_own_values(
    saver: Any, adapter: SQLiteDocuments
) -> None:
    """C050: identity comes from content, never from channel and version."""
    put(saver, config(), make_checkpoint(1, {"text": "root" * 500}, {"text": 1}))
    put(saver, config(number=1), make_checkpoint(2, {"text": "left" * 500}, {"text": 2}))
    put(saver, config(number=1), make_checkpoint(3, {"text": "right" * 500}, {"text": 2}))
    for reader in (saver, saver_over(adapter)):
        values = [
            reader.get_tuple(config(number=n)).checkpoint["channel_values"]["text"][:4]
            for n in (2, 3)
        ]
        assert values == ["left", "righ"]


def test_one_rule_for_thread_ids(saver: Any) -> None:
    """C127: an int or a UUID is its text; anything else is refused, by name."""
    unique = UUID("00000000-0000-4000-8000-000000000001")
    put(saver, config(1), make_checkpoint(1, {"n": 1}))
    put(saver, config(unique), make_checkpoint(2, {"n": 2}))
    assert saver.get_tuple(config("1")).config == config("1", 1)
    assert saver.get_tuple(config(str(unique))).checkpoint["channel_values"] == {"n": 2}
    assert saver.thread_ids() == [str(unique), "1"]
    saver.delete_thread(1)
    assert saver.get_tuple(config("1")) is None
    for refused in (True, 1.5, b"t", ("t",)):
        with pytest.raises(InvalidCheckpointConfig, match=r"'thread_id'\] must be text, got"):
            put(saver, config(refused), make_checkpoint(1, {}))
    for missing in (None, ""):
        with pytest.raises(InvalidCheckpointConfig, match="'thread_id'] is missing"):
            saver.get_tuple(config(missing))
    assert saver.thread_ids() == [str(unique)]


@pytest.mark.parametrize("text", ["nul\0", "surrogate\ud800"])
@pytest.mark.parametrize("key", ["thread_id", "checkpoint_ns", "checkpoint_id"])
def test_ids_no_store_keeps_are_refused(saver: Any, key: str, text: str) -> None:
    """C014."""
    at = config()
    at["configurable"][key] = text
    with pytest.raises(InvalidCheckpointConfig, match=f"'{key}'.*NUL or a lone surrogate"):
        saver.get_tuple(at)


def test_two_scopes_share_nothing(adapter: SQLiteDocuments) -> None:
    """C130: another agent id or namespace is another deployment, also when deleting."""
    savers = [
        saver_over(adapter, *scope) for scope in (("a.v1", "n"), ("b.v1", "n"), ("a.v1", "m"))
    ]
    for number, saver in enumerate(savers, start=1):
        put(saver, config(), make_checkpoint(number, {"text": "x" * 2000}))
    assert [numbers(list(saver.list(None))) for saver in savers] == [[1], [2], [3]]
    savers[0].delete_thread("t-1")
    assert [saver.thread_ids() for saver in savers] == [[], ["t-1"], ["t-1"]]
    assert savers[1].get_tuple(config()).checkpoint["channel_values"] == {"text": "x" * 2000}


def test_when_the_clock_steps_back_the_child_is_the_latest(
    adapter: SQLiteDocuments, caplog: pytest.LogCaptureFixture
) -> None:
    """C070."""
    saver = saver_over(adapter)
    put(saver, config(), make_checkpoint(50, {"n": 50}))
    with caplog.at_level(logging.WARNING):
        put(saver, config(number=50), make_checkpoint(10, {"n": 10}))
    assert "clock stepped back" in caplog.text
    assert saver.get_tuple(config()).checkpoint["channel_values"] == {"n": 10}
    restarted = saver_over(adapter)
    latest = restarted.get_tuple(config())
    assert latest.checkpoint["channel_values"] == {"n": 10}
    put(restarted, latest.config, make_checkpoint(11, {"n": 11}))
    assert saver_over(adapter).get_tuple(config()).checkpoint["channel_values"] == {"n": 11}
    by_id = saver_over(adapter)
    put(by_id, by_id.get_tuple(config(number=11)).config, make_checkpoint(12, {"n": 12}))
    assert by_id.get_tuple(config()).checkpoint["channel_values"] == {"n": 12}
    put(saver, config(number=12), make_checkpoint(60, {"n": 60}))
    assert saver.get_tuple(config()).checkpoint["channel_values"] == {"n": 60}
    saver.delete_thread("t-1")
    assert saver.get_tuple(config()) is None


def test_a_checkpoint_never_changes(saver: Any) -> None:
    put(saver, config(), make_checkpoint(1, {"n": 1}))
    put(saver, config(), make_checkpoint(1, {"n": 1}))
    with pytest.raises(CheckpointConflict, match=r"thread 't-1' already has another checkpoint"):
        put(saver, config(), make_checkpoint(1, {"n": 2}))
    assert saver.get_tuple(config()).checkpoint["channel_values"] == {"n": 1}


def test_a_value_that_cannot_be_stored_says_where_it_sits(
    saver: Any, adapter: SQLiteDocuments
) -> None:
    """C012: thread, channel, position and type; the earlier head stays, nothing is half-written."""
    put(saver, config(), make_checkpoint(1, {"n": 1}))
    stored = all_documents(DocumentService(adapter, "n"))
    lock = threading.Lock()
    with pytest.raises(
        ValueNotStorable, match=r"channel 'items'\[1\] of thread 't-1' is a _thread\.lock"
    ):
        put(saver, config(number=1), make_checkpoint(2, {"big": "b" * 5000, "items": [1, lock]}))
    with pytest.raises(
        ValueNotStorable, match=r"write to channel 'a' by task 'task-1' of thread 't-1'"
    ):
        saver.put_writes(config(number=1), [("ok", 1), ("a", lock)], "task-1")
    assert all_documents(DocumentService(adapter, "n")) == stored
    assert saver.get_tuple(config()).checkpoint["channel_values"] == {"n": 1}


def test_a_bytearray_stays_one(saver: Any) -> None:
    """C019."""
    value = bytearray(b"ab\0")
    put(saver, config(), make_checkpoint(1, {"one": value, "long": value * 1000}))
    saver.put_writes(config(number=1), [("a", value)], "task-1")
    loaded = saver.get_tuple(config())
    assert loaded.checkpoint["channel_values"] == {"one": value, "long": value * 1000}
    assert loaded.pending_writes == [("task-1", "a", value)]
    found = [*loaded.checkpoint["channel_values"].values(), loaded.pending_writes[0][2]]
    assert {type(item) for item in found} == {bytearray}


def test_writes_without_a_checkpoint_are_refused(saver: Any) -> None:
    with pytest.raises(InvalidCheckpointConfig, match=r"put_writes needs .*checkpoint_id"):
        saver.put_writes(config(), [("a", 1)], "task-1")


def test_a_missing_value_is_reported_by_name_and_harms_nothing_else(
    adapter: SQLiteDocuments,
) -> None:
    saver = saver_over(adapter)
    put(saver, config(), make_checkpoint(1, {"n": 1}))
    put(saver, config(number=1), make_checkpoint(2, {"items": ["i" * 600, "j" * 600]}))
    documents = DocumentService(adapter, "n")
    lost = next(item for item in documents.iterate(ITEMS) if item.data["ref"].startswith("e-"))
    documents.delete(ITEMS, lost.id)
    reader = saver_over(adapter)
    with pytest.raises(CheckpointDamaged, match=rf"{checkpoint_id(2)}.*'t-1'.*{lost.data['ref']}"):
        reader.get_tuple(config())
    with pytest.raises(CheckpointDamaged, match=lost.data["ref"]):
        list(reader.list(config()))
    assert reader.get_tuple(config(number=1)).checkpoint["channel_values"] == {"n": 1}


def test_a_schema_of_the_future_is_refused(adapter: SQLiteDocuments) -> None:
    saver = saver_over(adapter)
    put(saver, config(), make_checkpoint(1, {}))
    documents = DocumentService(adapter, "n")
    (stored,) = documents.iterate(CHECKPOINTS)
    documents.put(CHECKPOINTS, stored.id, stored.data | {"_schema": 3})
    with pytest.raises(CheckpointDamaged, match="has schema 3, this version reads 2"):
        saver_over(adapter).get_tuple(config())


def test_reading_an_untouched_store_writes_nothing(adapter: SQLiteDocuments) -> None:
    saver = saver_over(adapter)
    assert saver.get_tuple(config()) is None
    assert list(saver.list(None)) == []
    assert saver.threads() == []
    assert not saver.contains(config())
    assert saver.lineage(config()) == []
    saver.delete_thread("t-1")
    assert adapter.namespaces() == []


def test_listing_threads(saver: Any) -> None:
    for number, thread_id in enumerate(("a", "b", "a"), start=1):
        put(saver, config(thread_id), make_checkpoint(number, {"text": "x" * 3000}))
    put(saver, config("a", checkpoint_ns="child:1"), make_checkpoint(9, {}))
    summaries = {item.thread_id: item for item in saver.threads()}
    assert summaries["a"].checkpoints == 3
    assert summaries["b"].checkpoints == 1
    assert [item.thread_id for item in saver.threads()] == ["a", "b"]
    assert summaries["a"].created_at <= summaries["b"].created_at <= summaries["a"].updated_at


def test_contains_and_lineage(saver: Any) -> None:
    for number, parent in ((1, None), (2, 1), (3, 1), (4, 2)):
        put(saver, config(number=parent), make_checkpoint(number, {}))
    assert saver.contains(config())
    assert saver.contains(config(number=2))
    assert not saver.contains(config(number=5))
    assert saver.lineage(config()) == [checkpoint_id(n) for n in (4, 2, 1)]
    assert saver.lineage(config(number=3)) == [checkpoint_id(n) for n in (3, 1)]
    assert saver.lineage(config(number=7)) == []


def test_async_calls_do_not_block_the_loop(saver: Any) -> None:
    async def scenario() -> list[int]:
        await saver.aput(config(), make_checkpoint(1, {}), STEP, {})
        listing = saver.alist(config())
        assert [item.checkpoint["id"] async for item in listing] == [checkpoint_id(1)]
        threads = await asyncio.gather(
            *[
                saver.aput(config(f"t-{number}"), make_checkpoint(number, {"n": number}), STEP, {})
                for number in range(2, 22)
            ]
        )
        return [int(at["configurable"]["checkpoint_id"][-4:]) for at in threads]

    assert asyncio.run(scenario()) == list(range(2, 22))
    assert len(saver.threads()) == 21


def test_building_a_saver_needs_no_loop_and_does_no_io() -> None:
    """C095."""
    documents = MemoryDocuments()
    saver_over(documents)
    assert documents.calls == []


def test_pruning_in_the_middle_of_a_turn_runs_no_tool_twice(adapter: SQLiteDocuments) -> None:
    """C075: three calls that need approval; pruned after every one."""

    class State(TypedDict):
        done: Annotated[list[str], operator.add]

    ran: list[str] = []

    def approve(state: Any) -> Any:
        ran.append(name := state["name"])
        answer = interrupt(name)
        return {"done": [f"{name}: {answer}"]}

    graph = StateGraph(State)
    graph.add_node("approve", approve)
    names = ["a", "b", "c"]
    graph.add_conditional_edges(
        START, lambda _: [Send("approve", {"name": name}) for name in names], ["approve"]
    )
    thread: Any = {"configurable": {"thread_id": "t-1"}}

    def turn(given: Any) -> Any:
        saver = saver_over(adapter)
        answer = graph.compile(checkpointer=saver).invoke(given, thread)
        saver.prune(["t-1"])
        return answer

    asked = turn({"done": []})["__interrupt__"]
    for number, question in enumerate(asked, start=1):
        ran.clear()
        answer = turn(Command(resume={question.id: "yes"}))
        assert question.value in ran
        assert len(ran) == 4 - number, "who was answered before does not run again"
    assert sorted(answer["done"]) == ["a: yes", "b: yes", "c: yes"]
    assert len(list(saver_over(adapter).list(thread))) == 1
