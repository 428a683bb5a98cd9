"""What a delta channel is rebuilt from: its last stored value and the writes since.

A ``DeltaChannel`` (LangGraph 1.2 and later) stores its value only now and then; in between a
checkpoint holds nothing for it. The base class walks back one checkpoint at a time; here the
ancestors are read a page at a time, without their other values, then all their writes at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from naas_abi_sdk.document.commands import Find, Get, Operation
from naas_abi_sdk.document.types import Data, Document, OrderBy, Predicate
from naas_abi_sdk.langgraph_documents._langgraph import RunnableConfig
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.configuring import Address, address
from naas_abi_sdk.langgraph_documents.decoding import channel_values, in_order, value_of
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.operations import wanted
from naas_abi_sdk.langgraph_documents.reading import equals, read_together, read_values
from naas_abi_sdk.langgraph_documents.schema import CHECKPOINTS, READ_BUDGET, WRITES
from naas_abi_sdk.limits import MAX_IN_VALUES, MAX_PAGE_SIZE

__all__ = ["delta_history"]

#: Ancestors read at a time.
_PAGE = 200
_FIELDS = ("checkpoint_id", "parent_id", "channels")


@dataclass(slots=True)
class _Walk:
    """The way back from a checkpoint: its ancestors, and where each channel's value was found."""

    ancestors: list[str] = field(default_factory=list)
    seeds: dict[str, tuple[str, Data]] = field(default_factory=dict)


def delta_history(
    memory: Memory, config: RunnableConfig, channels: Sequence[str]
) -> Operation[dict[str, dict[str, Any]]]:
    """For each channel its ``writes`` on the way to a checkpoint, oldest first, and its ``seed``.

    ``seed`` is the value at the nearest ancestor that has one, absent if none has; ``writes`` are
    those of that ancestor and of all after it, without the checkpoint's own. Follows parents, so
    what other branches wrote is not in it.
    """
    at = address(config)
    found = (yield from wanted(memory, at)) if channels else None
    if found is None:
        return {channel: {"writes": []} for channel in channels}
    walk = yield from _walk_back(memory, at, found.document.data, channels)
    roots = [{"channels": {channel: entry}} for channel, (_, entry) in walk.seeds.items()]
    reached = yield from read_values(
        memory.agent_id,
        at.thread_id,
        roots,
        memory.values.of(at.thread_id),
        also=list(_writes(memory, at, walk.ancestors, channels)),
    )
    memory.values.keep(at.thread_id, reached.read)
    writes: dict[str, list[Data]] = {}
    for document in (document for answer in reached.also for document in answer):
        writes.setdefault(document.data["checkpoint_id"], []).append(document.data)
    history: dict[str, dict[str, Any]] = {}
    for channel in channels:
        last, entry = walk.seeds.get(channel, (None, None))
        since = walk.ancestors[: walk.ancestors.index(last) + 1] if last else walk.ancestors
        history[channel] = {
            "writes": [
                (write["task_id"], channel, value_of(write["value"], reached.values, memory.serde))
                for checkpoint_id in reversed(since)
                for write in in_order(writes.get(checkpoint_id, ()))
                if write["channel"] == channel
            ]
        }
        if entry is not None:
            values = channel_values({"channels": {channel: entry}}, reached.values, memory)
            history[channel]["seed"] = values[channel]
    return history


def _walk_back(
    memory: Memory, at: Address, start: Data, channels: Sequence[str]
) -> Operation[_Walk]:
    walk = _Walk()
    known: dict[str, Data] = {}
    current: str | None = start["parent_id"]
    query: Find | None = _older(memory, at, start["checkpoint_id"])
    while current is not None and len(walk.seeds) < len(set(channels)):
        if current not in known and query is not None:
            (page,) = yield from read_together([query])
            known.update((item.data["checkpoint_id"], item.data) for item in page.items)
            older = page.items[-1].data["checkpoint_id"] if page.cursor else None
            query = older and _older(memory, at, older)
            continue
        ancestor = known.get(current) or (yield from _one(memory, at, current))
        if ancestor is None:
            break
        walk.ancestors.append(current)
        for channel in channels:
            if channel in ancestor["channels"] and channel not in walk.seeds:
                walk.seeds[channel] = (current, ancestor["channels"][channel])
        current = ancestor["parent_id"]
    return walk


def _older(memory: Memory, at: Address, than: str) -> Find:
    scope = equals(agent_id=memory.agent_id, thread_id=at.thread_id, checkpoint_ns=at.checkpoint_ns)
    return Find(
        CHECKPOINTS,
        (*scope, Predicate("checkpoint_id", "lt", than)),
        OrderBy("checkpoint_id", "desc"),
        limit=_PAGE,
        fields=_FIELDS,
        max_bytes=READ_BUDGET,
    )


def _one(memory: Memory, at: Address, checkpoint_id: str) -> Operation[Data | None]:
    """An ancestor that is not older by its id, as after a clock stepped back."""
    key = document_id(memory.agent_id, at.thread_id, at.checkpoint_ns, checkpoint_id)
    (document,) = yield from read_together([Get(CHECKPOINTS, key)])
    return document.data if isinstance(document, Document) else None


def _writes(
    memory: Memory, at: Address, ancestors: Sequence[str], channels: Sequence[str]
) -> Iterator[Find]:
    scope = equals(agent_id=memory.agent_id, thread_id=at.thread_id, checkpoint_ns=at.checkpoint_ns)
    for start in range(0, len(ancestors), MAX_IN_VALUES):
        ids = sorted(ancestors[start : start + MAX_IN_VALUES])
        yield Find(
            WRITES,
            (
                *scope,
                Predicate("checkpoint_id", "in", ids),
                Predicate("channel", "in", list(channels)),
            ),
            limit=MAX_PAGE_SIZE,
            max_bytes=READ_BUDGET,
        )
