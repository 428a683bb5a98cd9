"""Deleting some checkpoints of a thread: all but the latest, or those of given runs.

What other checkpoints still need stays. A checkpoint needs nothing of another, but for channels
that store deltas (``DeltaChannel``): their value is rebuilt from the nearest ancestor that has it
and the pending writes from there on, so these ancestors stay whole, with their writes. LangGraph
lists such channels in a checkpoint's metadata.

Checkpoints are deleted newest first, each with its pending writes in one go, so wherever it stops
what is left can be read. Values that no checkpoint references any more stay as long as the thread
has a checkpoint: only a sweep that counts every reference may take them, or ``delete_thread``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from naas_abi_sdk.document.commands import Find, Operation, apply
from naas_abi_sdk.document.types import Data, Delete, Predicate
from naas_abi_sdk.errors import CheckpointDamaged, InvalidCheckpointConfig
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.caching import AtHand
from naas_abi_sdk.langgraph_documents.configuring import thread_text
from naas_abi_sdk.langgraph_documents.decoding import DAMAGE, checked, value_of
from naas_abi_sdk.langgraph_documents.deleting import delete_thread, delete_values
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.reading import (
    equals,
    find_all,
    pages,
    read_together,
    read_values,
)
from naas_abi_sdk.langgraph_documents.schema import CHECKPOINTS, ORDERS, READ_BUDGET, WRITES
from naas_abi_sdk.limits import MAX_PAGE_SIZE

__all__ = ["delete_for_runs", "prune"]

#: Namespace and id of a checkpoint in its thread.
_Key = tuple[str, str]

#: Checkpoints deleted in one go, with their pending writes.
_BATCH = 100

_STRATEGIES = ("keep_latest", "delete")


@dataclass(frozen=True, slots=True)
class _Node:
    """A stored checkpoint as far as pruning looks at it.

    Attributes:
        parent: Its parent, stored or not.
        order: Its place in its namespace; see ``ordering``.
        has_order: Whether that is a document of its own.
        has: Channels it has a value of.
        needs: Channels whose value is rebuilt from its ancestors.
        run_id: The run it was stored by.
    """

    parent: _Key
    order: str
    has_order: bool
    has: frozenset[str]
    needs: frozenset[str]
    run_id: str | None


def prune(
    memory: Memory, thread_ids: Iterable[object], strategy: str = "keep_latest"
) -> Operation[None]:
    """Prune threads, one after the other; absent ones are fine.

    ``keep_latest`` keeps the latest checkpoint of every namespace of a thread (the one a run would
    go on from) with its pending writes, and what its delta channels are rebuilt from. What is kept
    does not change: its parent may be one that is no longer stored. ``delete`` is
    ``delete_thread``. A turn that goes on from the latest checkpoint meanwhile is safe; one that
    forks from a checkpoint being deleted keeps every value but those of delta channels. Safe to
    stop anywhere and to repeat.

    Raises:
        InvalidCheckpointConfig: the strategy is unknown, or ``thread_ids`` is one text; nothing
            was done.
        CheckpointDamaged: what a thread's checkpoints need cannot be read; it was not pruned, but
            the threads before it were.
    """
    if strategy not in _STRATEGIES:
        message = f"strategy must be one of {', '.join(_STRATEGIES)}, not {strategy!r}"
        raise InvalidCheckpointConfig(message)
    threads = [thread_text(thread_id) for thread_id in _several(thread_ids, "thread_ids")]
    for thread_id in dict.fromkeys(threads):
        if strategy == "delete":
            yield from delete_thread(memory, thread_id)
            continue
        nodes = yield from _nodes(memory, thread_id)
        latest: dict[str, _Key] = {}
        for key in sorted(nodes, key=lambda key: nodes[key].order):
            latest[key[0]] = key
        yield from _keep_only(memory, thread_id, nodes, set(latest.values()))


def delete_for_runs(memory: Memory, run_ids: Iterable[object]) -> Operation[None]:
    """Delete the checkpoints, with their pending writes, whose metadata has one of ``run_ids``.

    In every thread and namespace of the scope. Metadata has no index: all of it is read, a page at
    a time and without channel values, so the cost grows with the scope and not with its values.
    Checkpoints of the runs that delta channels of others are rebuilt from stay. Safe to stop
    anywhere and to repeat.

    Raises:
        InvalidCheckpointConfig: ``run_ids`` is one text, or holds what is no text; nothing was
            done.
        CheckpointDamaged: metadata, or what a thread's checkpoints need, cannot be read.
    """
    wanted = frozenset(_run_text(run_id) for run_id in _several(run_ids, "run_ids"))
    if not wanted:
        return
    for thread_id in (yield from _threads_of_runs(memory, wanted)):
        nodes = yield from _nodes(memory, thread_id)
        others = {key for key, node in nodes.items() if node.run_id not in wanted}
        yield from _keep_only(memory, thread_id, nodes, others)


def _several(items: Iterable[object], name: str) -> list[object]:
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        message = f"{name} must be a list of ids, got {type(items).__name__} ({items!r})"
        raise InvalidCheckpointConfig(message)
    return list(items)


def _run_text(run_id: object) -> str:
    if not isinstance(run_id, (str, UUID)):
        message = f"run_ids must hold text, got {type(run_id).__name__} ({run_id!r})"
        raise InvalidCheckpointConfig(message)
    return str(run_id)


def _threads_of_runs(memory: Memory, run_ids: AbstractSet[str]) -> Operation[list[str]]:
    query = Find(
        CHECKPOINTS,
        equals(agent_id=memory.agent_id),
        limit=MAX_PAGE_SIZE,
        fields=("thread_id", "checkpoint_ns", "checkpoint_id", "_schema", "metadata"),
        max_bytes=READ_BUDGET,
    )
    threads: set[str] = set()
    more = True
    while more:
        (page,) = yield from read_together([query])
        for document in page.items:
            if document.data["thread_id"] not in threads:
                metadata = yield from _value(memory, document.data, "metadata")
                if _run_of(metadata) in run_ids:
                    threads.add(document.data["thread_id"])
        query, more = replace(query, cursor=page.cursor), page.cursor is not None
    return sorted(threads)


def _nodes(memory: Memory, thread_id: str) -> Operation[dict[_Key, _Node]]:
    scope = equals(agent_id=memory.agent_id, thread_id=thread_id)
    order_fields = ("checkpoint_ns", "checkpoint_id", "order")
    ordered = yield from pages(Find(ORDERS, scope, limit=MAX_PAGE_SIZE, fields=order_fields))
    orders = {_key(document.data): document.data["order"] for document in ordered}
    query = Find(CHECKPOINTS, scope, limit=MAX_PAGE_SIZE, max_bytes=READ_BUDGET)
    nodes: dict[_Key, _Node] = {}
    more = True
    while more:
        (page,) = yield from read_together([query])
        for document in page.items:
            key = _key(document.data)
            nodes[key] = yield from _node(memory, document.data, orders.get(key))
        query, more = replace(query, cursor=page.cursor), page.cursor is not None
    return nodes


def _node(memory: Memory, data: Data, order: str | None) -> Operation[_Node]:
    metadata = yield from _value(memory, data, "metadata")
    has = frozenset(data["channels"])
    needs = frozenset(metadata.get("counters_since_delta_snapshot") or ()) - has
    if needs:  # a channel without a version was never written to
        checkpoint = yield from _value(memory, data, "checkpoint")
        needs &= checkpoint["channel_versions"].keys()
    return _Node(
        parent=(data["checkpoint_ns"], data["parent_id"] or ""),
        order=order or data["checkpoint_id"],
        has_order=order is not None,
        has=has,
        needs=needs,
        run_id=_run_of(metadata),
    )


def _value(memory: Memory, data: Data, name: str) -> Operation[Any]:
    try:
        root = {name: checked(data)[name]}
        reached = yield from read_values(memory.agent_id, data["thread_id"], [root], AtHand({}))
        return value_of(data[name], reached.values, memory.serde)
    except DAMAGE as error:
        message = (
            f"{name} of checkpoint {data['checkpoint_id']!r} of thread {data['thread_id']!r} "
            f"(namespace {data['checkpoint_ns']!r}) cannot be read back: {error}. What it needs of "
            "others is not known, so nothing of the thread was deleted."
        )
        raise CheckpointDamaged(message) from error


def _run_of(metadata: Mapping[str, Any]) -> str | None:
    run_id = metadata.get("run_id")
    return str(run_id) if isinstance(run_id, (str, UUID)) else None


def _key(data: Data) -> _Key:
    return data["checkpoint_ns"], data["checkpoint_id"]


def _with_ancestors(nodes: Mapping[_Key, _Node], kept: AbstractSet[_Key]) -> set[_Key]:
    """``kept``, and the ancestors their delta channels are rebuilt from."""
    needed = set(kept)
    for key in kept:
        missing = nodes[key].needs
        ancestor = nodes[key].parent
        # From an ancestor that is kept for itself on, its own walk keeps what is needed.
        while missing and ancestor in nodes and ancestor not in kept:
            needed.add(ancestor)
            missing = missing - nodes[ancestor].has
            ancestor = nodes[ancestor].parent
    return needed


def _keep_only(
    memory: Memory, thread_id: str, nodes: Mapping[_Key, _Node], kept: AbstractSet[_Key]
) -> Operation[None]:
    gone = nodes.keys() - _with_ancestors(nodes, kept)
    memory.recall.forget([(thread_id, *key) for key in gone])
    memory.trails.drop_thread(thread_id)
    newest_first = sorted(gone, key=lambda key: (key[0], nodes[key].order), reverse=True)
    for start in range(0, len(newest_first), _BATCH):
        yield from _delete(memory, thread_id, nodes, newest_first[start : start + _BATCH])
    if gone and len(gone) == len(nodes):
        memory.values.drop_thread(thread_id)
        yield from delete_values(memory, thread_id)


def _delete(
    memory: Memory, thread_id: str, nodes: Mapping[_Key, _Node], keys: list[_Key]
) -> Operation[None]:
    ids: dict[str, list[str]] = {}
    for checkpoint_ns, checkpoint_id in keys:
        ids.setdefault(checkpoint_ns, []).append(checkpoint_id)
    scope = equals(agent_id=memory.agent_id, thread_id=thread_id)
    queries = [
        Find(
            WRITES,
            (
                *scope,
                *equals(checkpoint_ns=checkpoint_ns),
                Predicate("checkpoint_id", "in", sorted(of_namespace)),
            ),
            limit=MAX_PAGE_SIZE,
            fields=(),
        )
        for checkpoint_ns, of_namespace in ids.items()
    ]
    writes = [item.id for found in (yield from find_all(queries)) for item in found]
    names = {key: document_id(memory.agent_id, thread_id, *key) for key in keys}
    yield from apply(
        [Delete(ORDERS, names[key]) for key in keys if nodes[key].has_order],
        [Delete(CHECKPOINTS, names[key]) for key in keys],
        [Delete(WRITES, write) for write in writes],
    )
