"""Channels that store deltas (LangGraph 1.2 and later) reload as what the run produced."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.service import DocumentService
from naas_abi_sdk.langgraph_documents import BLOBS, ITEMS

pytestmark = pytest.mark.skipif(
    tuple(map(int, version("langgraph").split(".")[:2])) < (1, 2),
    reason="this release of LangGraph has no DeltaChannel",
)


def appended(value: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*value, *(item for write in writes for item in write)]


def delta_state(snapshot_frequency: int = 100) -> Any:
    from langgraph.channels.delta import DeltaChannel

    channel = DeltaChannel(appended, list, snapshot_frequency=snapshot_frequency)
    return TypedDict(  # type: ignore[operator]  # built at run time: the class may not exist
        "DeltaState", {"delta": Annotated[list, channel], "plain": Annotated[list, operator.add]}
    )


class PlainState(TypedDict):
    delta: Annotated[list[str], operator.add]
    plain: Annotated[list[str], operator.add]


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[SQLiteDocuments]:
    adapter = SQLiteDocuments(tmp_path / "documents.sqlite")
    yield adapter
    adapter.close()


def build(adapter: SQLiteDocuments, state: Any, saver: Any = None) -> Any:
    def work(state: Any) -> Any:
        item = f"answer {len(state['delta'])}"
        return {"delta": [item], "plain": [item]}

    graph = StateGraph(state)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    saver = saver or DocumentCheckpointSaver(DocumentService(adapter, "n"), agent_id="engine.v1")
    return graph.compile(checkpointer=saver)


THREAD: Any = {"configurable": {"thread_id": "t-1"}}


def say(text: str) -> Any:
    return {"delta": [text], "plain": [text]}


@pytest.mark.parametrize("snapshot_frequency", [1, 3, 100])
def test_delta_and_plain_agree_after_every_reload(
    adapter: SQLiteDocuments, snapshot_frequency: int
) -> None:
    state = delta_state(snapshot_frequency)
    for number in range(12):
        live = build(adapter, state).invoke(say(f"question {number}"), THREAD)
        assert live["delta"] == live["plain"]
    values = build(adapter, state).get_state(THREAD).values
    assert values["delta"] == values["plain"]
    assert len(values["delta"]) == 24


def test_snapshots_of_a_long_list_share_its_elements(adapter: SQLiteDocuments) -> None:
    graph = build(adapter, delta_state(snapshot_frequency=4))
    for number in range(10):
        graph.invoke(say(f"question {number} " + "q" * 500), THREAD)
    reloaded = build(adapter, delta_state(snapshot_frequency=4)).get_state(THREAD).values
    assert reloaded["delta"] == reloaded["plain"]
    items = [document.data for document in DocumentService(adapter, "n").iterate(ITEMS)]
    elements = [data for data in items if "value" in data]
    assert len(elements) == len({data["ref"] for data in elements}) == len(reloaded["delta"])
    blobs = [document.data for document in DocumentService(adapter, "n").iterate(BLOBS)]
    assert sum("snapshot" in data for data in blobs) >= 4


def test_a_fork_holds_nothing_of_the_branch_it_left(adapter: SQLiteDocuments) -> None:
    """C051."""
    state = delta_state()
    for number in range(4):
        build(adapter, state).invoke(say(f"question {number}"), THREAD)
    past = [
        state
        for state in build(adapter, state).get_state_history(THREAD)
        if len(state.values.get("plain", [])) == 4 and not state.next
    ]
    build(adapter, state).invoke(say("instead"), past[0].config)
    values = build(adapter, state).get_state(THREAD).values
    assert values["delta"] == values["plain"]
    assert values["delta"][-2:] == ["instead", "answer 5"]
    assert len(values["delta"]) == 6


def test_the_first_write_after_switching_to_deltas_is_kept(adapter: SQLiteDocuments) -> None:
    """C053."""
    for number in range(3):
        build(adapter, PlainState).invoke(say(f"question {number}"), THREAD)
    build(adapter, delta_state()).invoke(say("switched"), THREAD)
    values = build(adapter, delta_state()).get_state(THREAD).values
    assert values["delta"] == values["plain"]
    assert values["delta"][-2:] == ["switched", "answer 7"]


def test_parallel_results_replay_in_the_order_they_were_applied(adapter: SQLiteDocuments) -> None:
    """C039."""
    state = delta_state()

    def fan_out(_: Any) -> list[Send]:
        return [Send("work", {"delta": [], "plain": [], "number": number}) for number in range(8)]

    def work(state: Any) -> Any:
        return say(f"did {state['number']}")

    def graph() -> Any:
        graph = StateGraph(state)
        graph.add_node("work", work)
        graph.add_conditional_edges(START, fan_out, ["work"])
        saver = DocumentCheckpointSaver(DocumentService(adapter, "n"), agent_id="engine.v1")
        return graph.compile(checkpointer=saver)

    live = graph().invoke(say("go"), THREAD)
    reloaded = graph().get_state(THREAD).values
    assert reloaded["delta"] == reloaded["plain"] == live["plain"]
    assert live["plain"][1:] == [f"did {number}" for number in range(8)]


def test_pruned_or_copied_a_thread_goes_on_with_what_it_had(adapter: SQLiteDocuments) -> None:
    """C076: far from the last snapshot, and for the thread beside it too."""
    state = delta_state(5)
    for number in range(7):
        live = build(adapter, state).invoke(say(f"question {number}"), THREAD)
    saver = DocumentCheckpointSaver(DocumentService(adapter, "n"), agent_id="engine.v1")
    saver.copy_thread("t-1", "copy")
    stored = len(list(saver.list(THREAD)))
    saver.prune(["t-1"])
    assert 1 < len(list(saver.list(THREAD))) < stored
    saver.prune(["copy"], strategy="keep_latest")
    for thread_id in ("t-1", "copy"):
        at: Any = {"configurable": {"thread_id": thread_id}}
        values = build(adapter, state).get_state(at).values
        assert values["delta"] == values["plain"] == live["plain"]
        after = build(adapter, state).invoke(say("one more"), at)
        assert after["delta"] == after["plain"] == [*live["plain"], "one more", "answer 15"]
