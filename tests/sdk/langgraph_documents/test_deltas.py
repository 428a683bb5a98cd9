"""Delta channels are rebuilt from the same as by walking back one checkpoint at a time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naas_abi_sdk.document.commands import Together
from naas_abi_sdk.langgraph_documents import CHECKPOINTS
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
