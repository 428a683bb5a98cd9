"""The saver's operations, each a generator of commands.

Every order of steps that keeps a stored checkpoint whole is here and nowhere else:

* a value is stored before what references it and the checkpoint document last, all in one
  ``Apply``: one transaction where the store has them;
* values that another checkpoint references are skipped only while that checkpoint is stored: the
  ``Apply`` starts by requiring it, and if it is gone everything is stored again;
* deleting goes the other way, checkpoints first (:mod:`.deleting`).

An operation is one call of a saver; run it with :mod:`naas_abi_sdk.document.driving`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from naas_abi_sdk.document.commands import Find, Get, Operation, emit, get
from naas_abi_sdk.document.types import Data, Document, OrderBy, Outcome, Predicate
from naas_abi_sdk.errors import CheckpointConflict, CheckpointDamaged
from naas_abi_sdk.langgraph_documents._langgraph import (
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    RunnableConfig,
)
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.batching import references
from naas_abi_sdk.langgraph_documents.caching import AtHand
from naas_abi_sdk.langgraph_documents.configuring import Address, address, configurable, thread_text
from naas_abi_sdk.langgraph_documents.decoding import (
    DAMAGE,
    StoredValues,
    channel_values,
    checked,
    known_checkpoint,
    pending_writes,
    recognise_loaded,
    value_of,
)
from naas_abi_sdk.langgraph_documents.deleting import delete_thread
from naas_abi_sdk.langgraph_documents.filtering import metadata_matches
from naas_abi_sdk.langgraph_documents.guarding import Guard
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.planning import CheckpointPlan, plan_checkpoint, plan_writes
from naas_abi_sdk.langgraph_documents.reading import equals, read_together, read_values
from naas_abi_sdk.langgraph_documents.schema import CHECKPOINTS, ORDERS, READ_BUDGET, WRITES
from naas_abi_sdk.langgraph_documents.storing import setup
from naas_abi_sdk.limits import MAX_PAGE_SIZE

__all__ = [
    "Found",
    "delete_thread",
    "get_tuple",
    "history",
    "put",
    "put_writes",
    "setup",
    "wanted",
]

logger = logging.getLogger(__name__)

#: Checkpoints that ``history`` reads and resolves at a time.
HISTORY_PAGE = 20

#: Times a read starts over because what it was reading was deleted meanwhile.
READ_ATTEMPTS = 3


def put(
    memory: Memory, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
) -> Operation[RunnableConfig]:
    """Store a checkpoint and the values its parent does not have; returns its config.

    Raises:
        InvalidCheckpointConfig: the config names no usable thread.
        ValueNotStorable: a value cannot be serialized; nothing was stored.
        CheckpointConflict: another checkpoint is stored under this id.
        ThreadDeleted: the thread was deleted since; nothing was stored.
        RunLeaseConflict: the config carries a lease that is no longer held; nothing was stored.
    """
    at = address(config)
    guard = Guard(memory, config, at, within=metadata.get("parents"), storing=checkpoint["id"])
    while True:
        plan = plan_checkpoint(memory, at, config, checkpoint, metadata)
        outcomes = yield from guard.store(plan.stages)
        gone = [
            key
            for key, outcome in zip(plan.relied_on, outcomes, strict=False)
            if outcome.state != "done"
        ]
        if not gone:
            break
        memory.recall.forget(gone)
        memory.trails.drop_thread(at.thread_id)
    yield from _settle(plan, outcomes)
    if plan.disordered:
        logger.warning(
            "checkpoint %s of thread %r sorts below its parent %s: the clock stepped back; "
            "it is the latest all the same",
            checkpoint["id"],
            at.thread_id,
            at.checkpoint_id,
        )
    memory.recall.learn(plan.known)
    memory.values.keep(at.thread_id, plan.values)
    return at.config(checkpoint["id"])


def put_writes(
    memory: Memory,
    config: RunnableConfig,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str = "",
) -> Operation[None]:
    """Store a task's pending writes; storing the same ones again changes nothing.

    Raises:
        InvalidCheckpointConfig: the config names no checkpoint.
        ValueNotStorable: a value cannot be serialized; nothing was stored.
        ThreadDeleted: the thread was deleted since; nothing was stored.
        RunLeaseConflict: the config carries a lease that is no longer held; nothing was stored.
    """
    at = address(config)
    stages = plan_writes(memory, at, writes, task_id, task_path)
    known = memory.recall.of((at.thread_id, at.checkpoint_ns, at.checkpoint_id or "")) is not None
    yield from Guard(memory, config, at, known=known).store(stages)


def get_tuple(memory: Memory, config: RunnableConfig) -> Operation[CheckpointTuple | None]:
    """Load the checkpoint that ``config`` names, or the latest of its namespace.

    Five reads in a row at the most, however long the history: the checkpoint, its pending writes
    and blobs, chunks, elements, parts.

    Raises:
        CheckpointDamaged: the checkpoint is stored but cannot be read back whole.
    """
    at = address(config)
    for _ in range(READ_ATTEMPTS):
        found = yield from wanted(memory, at)
        if found is None:
            return None
        try:
            return (yield from _load(memory, found))
        except DAMAGE as error:
            if (yield from get(CHECKPOINTS, found.document.id)) is not None:
                raise _damaged(found.document, error) from error
    return None


def history(
    memory: Memory,
    config: RunnableConfig | None,
    *,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 -- LangGraph's word
    before: RunnableConfig | None = None,
    limit: int | None = None,
) -> Operation[None]:
    """Emit the checkpoints that ``config`` covers, newest id first.

    A config without thread covers every thread of the scope; ``checkpoint_ns`` counts only when
    it is there, and ``""`` then means the root namespace. ``before`` cuts at its checkpoint id,
    whatever its thread; without one it cuts nothing. ``filter`` compares metadata (see
    :func:`~naas_abi_sdk.langgraph_documents.filtering.metadata_matches`) before ``limit`` counts.
    """
    left = limit
    query = Find(
        CHECKPOINTS,
        _covered(memory, config, before),
        OrderBy("checkpoint_id", "desc"),
        HISTORY_PAGE if limit is None or filter else max(1, min(limit, HISTORY_PAGE)),
        max_bytes=READ_BUDGET,
    )
    cached: dict[str, dict[str, Data]] = {}
    more = limit is None or limit > 0
    while more:
        (page,) = yield from read_together([query])
        cached, tuples = yield from _tuples(memory, page.items, cached, filter or {}, left)
        for item in tuples:
            yield from emit(item)
        left = None if left is None else left - len(tuples)
        query = _next(query, page.cursor)
        more = page.cursor is not None and left != 0


def _settle(plan: CheckpointPlan, outcomes: Sequence[Outcome]) -> Operation[None]:
    writes = [write for stage in plan.stages for write in stage]
    ours = outcomes[writes.index(plan.checkpoint)]
    if ours.state == "done":
        return
    stored = yield from get(CHECKPOINTS, plan.checkpoint.id)
    if stored is None or stored.data != plan.checkpoint.data:
        thread_id, checkpoint_ns, checkpoint_id = plan.known.key
        message = (
            f"thread {thread_id!r} already has another checkpoint {checkpoint_id!r} in namespace "
            f"{checkpoint_ns!r}. Stored checkpoints never change; give the new one its own id."
        )
        raise CheckpointConflict(message)


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint document, and its place in the thread's order if that is known already."""

    document: Document
    order: str | None


def wanted(memory: Memory, at: Address) -> Operation[Found | None]:
    """The checkpoint document at ``at``, or the latest of its namespace; None if there is none."""
    if at.checkpoint_id is not None:
        key = document_id(memory.agent_id, at.thread_id, at.checkpoint_ns, at.checkpoint_id)
        (document,) = yield from read_together([Get(CHECKPOINTS, key)])
        return document and Found(document, None)
    scope = equals(agent_id=memory.agent_id, thread_id=at.thread_id, checkpoint_ns=at.checkpoint_ns)
    newest, reordered = yield from read_together(
        [
            Find(CHECKPOINTS, scope, OrderBy("checkpoint_id", "desc"), limit=1),
            Find(ORDERS, scope, OrderBy("order", "desc"), limit=1),
        ]
    )
    if not newest.items:
        return None
    checkpoint_id = newest.items[0].data["checkpoint_id"]
    if reordered.items and reordered.items[0].data["order"] > checkpoint_id:
        last = reordered.items[0]
        # An order document is stored after its checkpoint but deleted before it.
        document = yield from get(CHECKPOINTS, last.id)
        if document is not None:
            return Found(document, last.data["order"])
    return Found(newest.items[0], checkpoint_id)


def _load(memory: Memory, found: Found) -> Operation[CheckpointTuple]:
    data = checked(found.document.data)
    thread_id = data["thread_id"]
    key = (thread_id, data["checkpoint_ns"], data["checkpoint_id"])
    scope = equals(
        agent_id=memory.agent_id, thread_id=thread_id, checkpoint_ns=key[1], checkpoint_id=key[2]
    )
    also = [_writes(scope)]
    if found.order is None:
        also.append(Find(ORDERS, scope, limit=1, fields=("order",)))
    stored, read, (writes, *orders) = yield from read_values(
        memory.agent_id, thread_id, [data], memory.values.of(thread_id), also
    )
    item = _tuple(memory, data, [write.data for write in writes], stored)
    memory.values.keep(thread_id, read)
    if memory.recall.of(key) is None:
        order = found.order or next((it.data["order"] for it in chain(*orders)), key[2])
        versions = item.checkpoint["channel_versions"]
        memory.recall.learn(known_checkpoint(data, order, stored, versions))
    recognise_loaded(memory, data, stored, item.checkpoint["channel_values"])
    return item


def _writes(scope: tuple[Predicate, ...]) -> Find:
    return Find(WRITES, scope, limit=MAX_PAGE_SIZE, max_bytes=READ_BUDGET)


def _tuple(
    memory: Memory, data: Data, writes: Sequence[Data], stored: StoredValues
) -> CheckpointTuple:
    at = Address(data["thread_id"], data["checkpoint_ns"], data["checkpoint_id"])
    checkpoint = value_of(data["checkpoint"], stored, memory.serde)
    checkpoint["channel_values"] = channel_values(data, stored, memory)
    parent_id = data["parent_id"]
    return CheckpointTuple(
        config=at.config(data["checkpoint_id"]),  # type: ignore[arg-type]  # a plain dict
        checkpoint=checkpoint,
        metadata=value_of(data["metadata"], stored, memory.serde),
        parent_config=at.config(parent_id) if parent_id else None,  # type: ignore[arg-type]  # as above
        pending_writes=pending_writes(writes, stored, memory),
    )


def _covered(
    memory: Memory, config: RunnableConfig | None, before: RunnableConfig | None
) -> tuple[Predicate, ...]:
    values = configurable(config)
    where = equals(agent_id=memory.agent_id)
    if values.get("thread_id") is not None:
        where += equals(thread_id=thread_text(values["thread_id"]))
    if values.get("checkpoint_ns") is not None:
        where += equals(checkpoint_ns=values["checkpoint_ns"])
    if values.get("checkpoint_id"):
        where += equals(checkpoint_id=values["checkpoint_id"])
    if cut := configurable(before).get("checkpoint_id"):
        where += (Predicate("checkpoint_id", "lt", cut),)
    return where


def _next(query: Find, cursor: str | None) -> Find:
    return Find(
        query.collection,
        query.where,
        query.order_by,
        query.limit,
        cursor,
        query.fields,
        query.max_bytes,
    )


def _tuples(
    memory: Memory,
    documents: Sequence[Document],
    cached: Mapping[str, Mapping[str, Data]],
    wanted: Mapping[str, Any],
    limit: int | None,
) -> Operation[tuple[dict[str, dict[str, Data]], list[CheckpointTuple]]]:
    """The tuples of one page of checkpoints, and the values they share with the next page."""
    threads: dict[str, list[Document]] = {}
    matching: list[Document] = []
    for document in documents:
        try:
            list(references(checked(document.data)))  # damage here has a checkpoint to name
            if (yield from _metadata_matches(memory, document.data, wanted)):
                matching.append(document)
        except DAMAGE as error:
            raise _damaged(document, error) from error
    matching = matching[:limit]
    for document in matching:
        threads.setdefault(document.data["thread_id"], []).append(document)
    values: dict[str, dict[str, Data]] = {}
    writes: dict[tuple[str, str, str], list[Data]] = {}
    for thread_id, found in threads.items():
        roots = [document.data for document in found]
        also = [_writes(_of_checkpoints(memory, thread_id, roots))]
        reached = yield from read_values(
            memory.agent_id, thread_id, roots, AtHand(cached.get(thread_id, {})), also
        )
        values[thread_id] = reached.values
        for write in reached.also[0]:
            writes.setdefault(_key(write.data), []).append(write.data)
    tuples = []
    for document in matching:
        data = document.data
        try:
            tuples.append(
                _tuple(memory, data, writes.get(_key(data), []), values[data["thread_id"]])
            )
        except DAMAGE as error:
            if (yield from get(CHECKPOINTS, document.id)) is not None:
                raise _damaged(document, error) from error
    return values, tuples


def _metadata_matches(memory: Memory, data: Data, wanted: Mapping[str, Any]) -> Operation[bool]:
    if not wanted:
        return True
    only = {"metadata": data["metadata"]}
    reached = yield from read_values(memory.agent_id, data["thread_id"], [only], AtHand({}))
    return metadata_matches(value_of(data["metadata"], reached.values, memory.serde), wanted)


def _of_checkpoints(
    memory: Memory, thread_id: str, checkpoints: Sequence[Data]
) -> tuple[Predicate, ...]:
    where = equals(agent_id=memory.agent_id, thread_id=thread_id)
    namespaces = {data["checkpoint_ns"] for data in checkpoints}
    if len(namespaces) == 1:
        where += equals(checkpoint_ns=namespaces.pop())
    ids = sorted({data["checkpoint_id"] for data in checkpoints})
    return (*where, Predicate("checkpoint_id", "in", ids))


def _key(data: Data) -> tuple[str, str, str]:
    return data["thread_id"], data["checkpoint_ns"], data["checkpoint_id"]


def _damaged(document: Document, error: Exception) -> CheckpointDamaged:
    data = document.data
    what = error if isinstance(error, CheckpointDamaged) else f"{type(error).__name__}: {error}"
    message = (
        f"checkpoint {data.get('checkpoint_id')!r} of thread {data.get('thread_id')!r} (namespace "
        f"{data.get('checkpoint_ns')!r}) cannot be read back: {what}. Other checkpoints of the "
        "thread are not touched by this: go on from one of them by its checkpoint_id."
    )
    return CheckpointDamaged(message)
