"""Delta channels are rebuilt from the same as by walking back one checkpoint at a time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from naas_abi_sdk.document.commands import Together
from naas_abi_sdk.langgraph_documents import CHECKPOINTS, PART_SIZE, PARTS, WRITES
from naas_abi_sdk.langgraph_documents.deltas import delta_history
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import Codec, all_documents, checkpoint_id, config, make_checkpoint

CHANNELS = ["messages", "notes", "absent"]


def walked(codec: Codec, at: Any, channels: list[str]) -> dict[str, Any]:
    """What the walk of LangGraph's base class gives: one checkpoint after the other."""
    history: dict[str, Any] = {channel: {"writes": []} for channel in channels}
    remaining = set(channels)
    target = codec.get_tuple(at)
    parent = target and target.parent_config
    while parent is not None and remaining:
        item = codec.get_tuple(parent)
        if item is None:
            break
        for write in reversed(item.pending_writes):
            if write[1] in remaining:
                history[write[1]]["writes"].insert(0, write)
        for channel in sorted(remaining & item.checkpoint["channel_values"].keys()):
            history[channel]["seed"] = item.checkpoint["channel_values"][channel]
            remaining.discard(channel)
        parent = item.parent_config
    return history


def asked(codec: Codec, at: Any, channels: list[str] | None = None) -> Any:
    return codec.run(delta_history(codec.memory, at, CHANNELS if channels is None else channels))


STEP = st.tuples(
    st.integers(1, 3),  # how far back the parent is: forks
    st.sets(st.sampled_from(["messages", "notes", "other"])),  # channels with a stored value
    st.lists(
        st.tuples(
            st.sampled_from(["messages", "notes", "other", "__interrupt__"]),
            st.text(max_size=3) | st.just("long" * 500),
            st.sampled_from(["task-a", "task-b"]),
            st.sampled_from(["", "~1", "~2"]),
        ),
        max_size=3,
    ),
)


@given(st.lists(STEP, min_size=1, max_size=10), st.data())
@settings(max_examples=60, deadline=None)
def test_any_history_is_rebuilt_as_by_walking(steps: Any, data: st.DataObject) -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    for number, (back, stored, writes) in enumerate(steps, start=1):
        parent = max(0, number - back)
        values = {channel: [channel, number, "v" * 1500] for channel in sorted(stored)}
        codec.put(config(number=parent or None), make_checkpoint(number, values))
        for position, (channel, value, task_id, task_path) in enumerate(writes):
            codec.put_writes(
                config(number=number), [(channel, value)], f"{task_id}{position}", task_path
            )
    target = config(number=data.draw(st.sampled_from([None, *range(1, len(steps) + 2)])))
    assert asked(Codec(codec.documents), target) == walked(Codec(codec.documents), target, CHANNELS)


def long_thread(length: int) -> Codec:
    """Only the first checkpoint has a value; each has a write."""
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": ["seed"]}))
    for number in range(1, length):
        codec.put_writes(config(number=number), [("messages", [number]), ("branch", None)])
        codec.put(config(number=number), make_checkpoint(number + 1, {}))
    return codec


@pytest.mark.parametrize("length", [2, 200, 201, 202, 650])
def test_a_far_snapshot_is_found_with_few_reads(length: int) -> None:
    codec = Codec(long_thread(length).documents)
    commands: list[Any] = []
    perform = codec.perform
    codec.perform = lambda command: (commands.append(command), perform(command))[1]
    history = asked(codec, config(), ["messages"])["messages"]
    assert history["seed"] == ["seed"]
    assert [value for _, _, value in history["writes"]] == [[n] for n in range(1, length)]
    reads = sum(len(command.reads) for command in commands if isinstance(command, Together))
    assert reads <= 5 + length // 200 + length // 500


def test_ancestors_are_read_without_what_is_not_asked_for() -> None:
    codec = Codec(long_thread(5).documents)
    commands: list[Any] = []
    perform = codec.perform
    codec.perform = lambda command: (commands.append(command), perform(command))[1]
    asked(codec, config())
    pages = [read for command in commands[1:] for read in command.reads]
    fields = {read.fields for read in pages if read.collection == CHECKPOINTS}
    assert fields == {("checkpoint_id", "parent_id", "channels")}


def test_a_parent_that_sorts_after_its_child_is_followed() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(50, {"messages": ["seed"]}))
    codec.put_writes(config(number=50), [("messages", ["one"])])
    codec.put(config(number=50), make_checkpoint(10, {}))
    codec.put_writes(config(number=10), [("messages", ["two"])])
    codec.put(config(number=10), make_checkpoint(11, {}))
    for at in (config(), config(number=11)):
        assert asked(codec, at) == walked(codec, at, CHANNELS)
    assert asked(codec, config())["messages"]["seed"] == ["seed"]


def test_a_history_cut_short_has_no_seed() -> None:
    codec = long_thread(6)
    lost = next(
        key
        for key, data in all_documents(codec.documents).items()
        if key[0] == CHECKPOINTS and data["checkpoint_id"] == checkpoint_id(3)
    )
    codec.documents.delete(*lost)
    history = asked(Codec(codec.documents), config())["messages"]
    assert [value for _, _, value in history["writes"]] == [[4], [5]]
    assert "seed" not in history


def test_nothing_asked_and_nothing_stored() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    assert asked(codec, config(), []) == {}
    assert asked(codec, config()) == {channel: {"writes": []} for channel in CHANNELS}


TURN = st.tuples(
    st.integers(0, 6),  # how far back of the newest it goes on: forks, and time travel
    st.booleans(),  # whether another process does it
    st.sets(st.sampled_from(["messages", "notes", "other"])),
    st.lists(
        st.tuples(
            st.integers(0, 6),  # to which checkpoint, back from the newest
            st.sampled_from(["messages", "notes", "other", "__interrupt__"]),
            st.text(max_size=3) | st.just("long" * 500),
            st.sampled_from(["task-a", "task-b"]),
        ),
        max_size=4,
    ),
    st.integers(0, 6),  # what is asked for
    st.sampled_from([CHANNELS, CHANNELS[:1], CHANNELS[1:]]),
)


@given(st.lists(TURN, min_size=2, max_size=12))
@settings(max_examples=100, deadline=None)
def test_what_a_process_remembers_is_never_stale(turns: Any) -> None:
    documents = MemoryDocuments().for_namespace("n")
    ours, other = Codec(documents), Codec(documents)
    stored: list[int] = []
    for number, (back, is_other, values, writes, asked_back, channels) in enumerate(turns, start=1):
        writer = other if is_other else ours
        # Ids that step back now and then, as the clock may.
        newest = number * 10 if number % 4 else number * 10 - 15
        parent = stored[max(0, len(stored) - 1 - back)] if stored else None
        checkpoint = make_checkpoint(newest, {name: [number, "v" * 1500] for name in values})
        writer.put(config(number=parent), checkpoint)
        stored.append(newest)
        for position, (to, channel, value, task) in enumerate(writes):
            at = config(number=stored[max(0, len(stored) - 1 - to)])
            writer.put_writes(at, [(channel, value)], f"{task}{number}{position}")
        target = config(number=stored[max(0, len(stored) - 1 - asked_back)])
        assert asked(ours, target, channels) == walked(Codec(documents), target, channels)


def reads_of(codec: Codec, at: Any, channels: list[str]) -> list[Any]:
    commands: list[Any] = []
    perform = codec.perform
    codec.perform = lambda command: (commands.append(command), perform(command))[1]
    asked(codec, at, channels)
    codec.perform = perform
    return [read for command in commands for read in getattr(command, "reads", (command,))]


def test_a_process_that_goes_on_reads_what_is_new_and_versions() -> None:
    codec = long_thread(300)
    asked(codec, config(number=300), ["messages"])
    codec.put_writes(config(number=300), [("messages", [300])])
    codec.put(config(number=300), make_checkpoint(301, {}))
    versions, new = reads_of(codec, config(number=301), ["messages"])
    assert versions.collection == new.collection == WRITES
    assert versions.fields == ()
    lowest = next(condition for condition in new.where if condition.operator == "gt")
    assert lowest.value == checkpoint_id(299)


def test_a_deleted_and_rewritten_thread_is_read_anew() -> None:
    codec = long_thread(6)
    asked(codec, config(number=6), ["messages"])
    other = Codec(codec.documents)
    other.delete_thread("t-1")
    assert asked(codec, config(number=6)) == {channel: {"writes": []} for channel in CHANNELS}
    other.put(config(), make_checkpoint(1, {"messages": ["other seed"]}))
    for number in range(1, 6):
        other.put_writes(config(number=number), [("messages", [-number]), ("branch", None)])
        other.put(config(number=number), make_checkpoint(number + 1, {}))
    history = asked(codec, config(number=6), ["messages"])["messages"]
    assert history["seed"] == ["other seed"]
    assert [value for _, _, value in history["writes"]] == [[-1], [-2], [-3], [-4], [-5]]


def test_what_is_returned_is_the_callers() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    seed = [HumanMessage(f"seed {number}", id=str(number)) for number in range(40)]
    codec.put(config(), make_checkpoint(1, {"messages": seed}))
    reply = AIMessage("reply", tool_calls=[{"name": "t", "args": {"a": [1]}, "id": "1"}])
    codec.put_writes(config(number=1), [("messages", [reply]), ("notes", reply)])
    codec.put(config(number=1), make_checkpoint(2, {}))
    right = asked(Codec(codec.documents), config(number=2))
    for _ in range(4):
        history = asked(codec, config(number=2))
        assert history == right
        ((_, _, [returned]),) = history["messages"]["writes"]
        returned.tool_calls[0]["args"]["a"].append(2)
        returned.content = "changed"
        history["messages"]["seed"][3].content = "changed"
        history["notes"]["writes"][0][2].additional_kwargs["changed"] = True


def test_parents_in_a_circle_end_the_walk() -> None:
    codec = long_thread(3)
    key = next(
        key
        for key, data in all_documents(codec.documents).items()
        if key[0] == CHECKPOINTS and data["checkpoint_id"] == checkpoint_id(1)
    )
    data = codec.documents.get(*key).data
    codec.documents.put(*key, {**data, "parent_id": checkpoint_id(2), "channels": {}})
    history = asked(Codec(codec.documents), config(number=3), ["messages"])["messages"]
    assert history == {"writes": [("task-1", "messages", [1]), ("task-1", "messages", [2])]}


def test_long_writes_of_other_channels_are_not_read() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": ["seed"]}))
    long = {channel: channel * PART_SIZE for channel in ("messages", "files")}
    codec.put_writes(config(number=1), list(long.items()))
    codec.put(config(number=1), make_checkpoint(2, {}))
    for at in (Codec(codec.documents), codec, codec):
        reads = reads_of(at, config(number=2), ["messages"])
        parts = {ref for read in reads if read.collection == PARTS for ref in read.where[-1].value}
        assert len(parts) in (0, 9)  # serialized it is a few bytes longer than eight parts
        history = asked(at, config(number=2), ["messages"])["messages"]
        assert history["writes"] == [("task-1", "messages", long["messages"])]
