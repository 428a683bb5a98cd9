"""What a delta channel is rebuilt from: its last stored value and the writes since.

A ``DeltaChannel`` (LangGraph 1.2 and later) stores its value only now and then; in between a
checkpoint holds nothing for it. The base class walks back one checkpoint at a time. Here a process
that knows nothing reads the ancestors a page at a time, without their other values, then the
pending writes of all of them at once. One that goes on with a thread remembers the way
(:mod:`.trails`): it reads the writes that are new, and of those it knows only that they are as
they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

from naas_abi_sdk.document.commands import Find, Operation
from naas_abi_sdk.document.types import Data, Document, OrderBy, Predicate
from naas_abi_sdk.langgraph_documents._langgraph import RunnableConfig
from naas_abi_sdk.langgraph_documents.configuring import Address, address
from naas_abi_sdk.langgraph_documents.decoding import (
    StoredValues,
    channel_values,
    in_order,
    known_checkpoint,
    recognise_loaded,
    write_values,
)
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.operations import wanted
from naas_abi_sdk.langgraph_documents.reading import Reached, equals, read_together, read_values
from naas_abi_sdk.langgraph_documents.recall import CheckpointKey, KnownCheckpoint
from naas_abi_sdk.langgraph_documents.schema import CHECKPOINTS, READ_BUDGET, WRITES
from naas_abi_sdk.langgraph_documents.trails import Ancestor, Trail
from naas_abi_sdk.limits import MAX_PAGE_SIZE

__all__ = ["delta_history"]

#: Ancestors read at a time.
_PAGE = 200
_FIELDS = ("checkpoint_id", "parent_id", "channels")


@dataclass(slots=True)
class _Walk:
    """The way back from a checkpoint: its ancestors, and where each channel's value was found."""

    channels: frozenset[str]
    ancestors: dict[str, Ancestor] = field(default_factory=dict)
    seeds: dict[str, tuple[str, Data]] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """The smallest id on the way; greater than those after it where a clock stepped back."""
        return min(self.ancestors)

    @property
    def last(self) -> str:
        return max(self.ancestors)

    def step(self, checkpoint_id: str, ancestor: Ancestor) -> None:
        self.ancestors[checkpoint_id] = ancestor
        for channel in ancestor.entries.keys() - self.seeds.keys():
            self.seeds[channel] = (checkpoint_id, ancestor.entries[channel])

    def is_done(self) -> bool:
        return len(self.seeds) == len(self.channels)

    def concerns(self, write: Data) -> bool:
        return write.get("channel") in self.channels


def delta_history(
    memory: Memory, config: RunnableConfig, channels: Sequence[str]
) -> Operation[dict[str, dict[str, Any]]]:
    """For each channel its ``writes`` on the way to a checkpoint, oldest first, and its ``seed``.

    ``seed`` is the value at the nearest ancestor that has one, absent if none has; ``writes`` are
    those of that ancestor and of all after it, without the checkpoint's own. Follows parents, so
    what other branches wrote is not in it.
    """
    at = address(config)
    while channels:
        trail = memory.trails.of(at.thread_id, at.checkpoint_ns)
        walk = yield from _walk_back(memory, at, channels, trail)
        if not walk.ancestors:
            break
        if trail and not trail.covers(walk.first):
            trail = None
        found = yield from _read(memory, at, walk, trail)
        if found is not None:
            writes, reached = found
            memory.values.keep(at.thread_id, reached.read)
            history = _rebuilt(memory, at, channels, walk, writes.values(), reached.values)
            if trail is None or trail.leads_to(walk.last, walk.channels):
                _remember(memory, at, walk, trail, writes, reached.values, history)
            return history
        # What is remembered of the thread is not what is stored: read all of it.
        memory.trails.drop_thread(at.thread_id)
        memory.recall.forget_thread(at.thread_id)
    return {channel: {"writes": []} for channel in channels}


def _walk_back(
    memory: Memory, at: Address, channels: Sequence[str], trail: Trail | None
) -> Operation[_Walk]:
    walk = _Walk(frozenset(channels))
    read: dict[str, Ancestor] = {}
    current = yield from _parent(memory, at)
    # Parents that go in a circle end where it closes.
    while current is not None and not walk.is_done() and current not in walk.ancestors:
        ancestor = _remembered(memory, at, walk, trail, current) or read.get(current)
        if ancestor is None:
            since = trail.last if trail and trail.last < current else None
            read = yield from _read_ancestors(memory, at, walk, current, since)
            ancestor = read.get(current)
        if ancestor is None:
            break
        walk.step(current, ancestor)
        current = ancestor.parent_id
    return walk


def _parent(memory: Memory, at: Address) -> Operation[str | None]:
    if at.checkpoint_id is not None:
        known = memory.recall.of((at.thread_id, at.checkpoint_ns, at.checkpoint_id))
        if known is not None:
            return known.parent_id
    found = yield from wanted(memory, at)
    return found.document.data["parent_id"] if found else None


def _remembered(
    memory: Memory, at: Address, walk: _Walk, trail: Trail | None, checkpoint_id: str
) -> Ancestor | None:
    if trail and trail.channels >= walk.channels and checkpoint_id in trail.ancestors:
        return trail.ancestors[checkpoint_id].limited(walk.channels)
    known = memory.recall.of((at.thread_id, at.checkpoint_ns, checkpoint_id))
    if known is None:
        return None
    entries = {name: value.entry for name, value in known.channels.items()}
    return Ancestor(known.parent_id, entries).limited(walk.channels)


def _read_ancestors(
    memory: Memory, at: Address, walk: _Walk, newest: str, since: str | None
) -> Operation[dict[str, Ancestor]]:
    """A page of checkpoints from ``newest`` back, by id; ends at ``since``."""
    where = (*_scope(memory, at), Predicate("checkpoint_id", "lte", newest))
    if since is not None:
        where += (Predicate("checkpoint_id", "gt", since),)
    newest_first = OrderBy("checkpoint_id", "desc")
    (page,) = yield from read_together(
        [Find(CHECKPOINTS, where, newest_first, _PAGE, fields=_FIELDS, max_bytes=READ_BUDGET)]
    )
    return {
        data["checkpoint_id"]: Ancestor(data["parent_id"], data["channels"]).limited(walk.channels)
        for data in (item.data for item in page.items)
    }


def _read(
    memory: Memory, at: Address, walk: _Walk, trail: Trail | None
) -> Operation[tuple[dict[str, Document], Reached] | None]:
    """Pending writes by document id, and values; None if ``trail`` tells of other writes."""
    first, last = walk.first, walk.last
    known: dict[str, Document] = {}
    also: list[Find] = []
    if trail:
        known = trail.between(first, last)
        also.append(_writes(memory, at, ("gte", first), ("lte", min(trail.last, last)), fields=()))
        if trail.last < last:
            also.append(_writes(memory, at, ("gt", trail.last), ("lte", last)))
    else:
        also.append(_writes(memory, at, ("gte", first), ("lte", last)))
    roots = [{"channels": dict([seed])} for seed in walk.seeds.values()]
    roots += filter(walk.concerns, (document.data for document in known.values()))
    reached = yield from read_values(
        memory.agent_id,
        at.thread_id,
        roots,
        memory.values.of(at.thread_id),
        also,
        follows=walk.concerns,
    )
    answers = iter(reached.also)
    if trail and _versions(next(answers)) != _versions(known.values()):
        return None
    return known | {document.id: document for document in chain(*answers)}, reached


def _writes(
    memory: Memory, at: Address, *ends: tuple[Any, str], fields: tuple[str, ...] | None = None
) -> Find:
    between = (Predicate("checkpoint_id", operator, value) for operator, value in ends)
    where = (*_scope(memory, at), *between)
    budget = READ_BUDGET if fields is None else None
    return Find(WRITES, where, limit=MAX_PAGE_SIZE, fields=fields, max_bytes=budget)


def _scope(memory: Memory, at: Address) -> tuple[Predicate, ...]:
    return equals(agent_id=memory.agent_id, thread_id=at.thread_id, checkpoint_ns=at.checkpoint_ns)


def _versions(documents: Iterable[Document]) -> dict[str, tuple[int, datetime]]:
    """What tells a document from any other of its id: a deleted one starts at version 1 again."""
    return {document.id: (document.version, document.created_at) for document in documents}


def _rebuilt(
    memory: Memory,
    at: Address,
    channels: Sequence[str],
    walk: _Walk,
    documents: Iterable[Document],
    stored: StoredValues,
) -> dict[str, dict[str, Any]]:
    writes: dict[str, list[Data]] = {}
    for document in documents:
        if walk.concerns(document.data):
            writes.setdefault(document.data["checkpoint_id"], []).append(document.data)
    found: dict[str, list[Data]] = {channel: [] for channel in channels}
    waiting = set(channels)
    # From the newest to the oldest, so that a channel takes no more once its seed is met.
    for checkpoint_id, ancestor in walk.ancestors.items():
        for write in reversed(in_order(writes.get(checkpoint_id, ()))):
            if write["channel"] in waiting:
                found[write["channel"]].append(write)
        waiting -= ancestor.entries.keys()
    history: dict[str, dict[str, Any]] = {}
    for channel in channels:
        in_time = found[channel][::-1]
        values = write_values(in_time, stored, memory)
        tasks = (write["task_id"] for write in in_time)
        history[channel] = {
            "writes": [(task, channel, value) for task, value in zip(tasks, values, strict=True)]
        }
        if channel in walk.seeds:
            entry = walk.seeds[channel][1]
            history[channel]["seed"] = channel_values(
                {"thread_id": at.thread_id, "channels": {channel: entry}}, stored, memory
            )[channel]
    return history


def _remember(
    memory: Memory,
    at: Address,
    walk: _Walk,
    trail: Trail | None,
    writes: Mapping[str, Document],
    stored: StoredValues,
    history: Mapping[str, Mapping[str, Any]],
) -> None:
    known: dict[str, KnownCheckpoint] = {}
    for channel, (checkpoint_id, entry) in walk.seeds.items():
        key = (at.thread_id, at.checkpoint_ns, checkpoint_id)
        before = trail and trail.stored.get(channel)
        found = before if before and before.key == key else memory.recall.of(key)
        if found is None:
            data = _only(key, channel, entry)
            found = known_checkpoint(data, checkpoint_id, stored, {})
            recognise_loaded(memory, data, stored, {channel: history[channel]["seed"]})
        known[channel] = found
    memory.trails.keep(
        at.thread_id,
        at.checkpoint_ns,
        Trail(walk.channels, walk.ancestors, walk.first, walk.last, writes, known),
    )


def _only(key: CheckpointKey, channel: str, entry: Data) -> Data:
    """A checkpoint document of which nothing is known but one channel."""
    thread_id, checkpoint_ns, checkpoint_id = key
    return {
        "thread_id": thread_id,
        "checkpoint_ns": checkpoint_ns,
        "checkpoint_id": checkpoint_id,
        "parent_id": None,
        "checkpoint": {},
        "metadata": {},
        "channels": {channel: entry},
    }
