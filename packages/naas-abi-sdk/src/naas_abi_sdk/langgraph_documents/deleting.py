"""Deleting a thread, and the values of one that has no checkpoint left.

Checkpoints go first, so what is left of them is whole wherever it stops; a value goes only at the
version at which it was seen before no checkpoint was left.
"""

from __future__ import annotations

from dataclasses import replace

from naas_abi_sdk.document.commands import Find, Operation, apply
from naas_abi_sdk.document.types import Delete, Predicate
from naas_abi_sdk.errors import ThreadBusy
from naas_abi_sdk.langgraph_documents.caching import AtHand
from naas_abi_sdk.langgraph_documents.configuring import thread_text
from naas_abi_sdk.langgraph_documents.decoding import DAMAGE, value_of
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.reading import equals, pages, read_together, read_values
from naas_abi_sdk.langgraph_documents.schema import (
    BLOBS,
    CHECKPOINTS,
    ITEMS,
    LEASES,
    ORDERS,
    PARTS,
    READ_BUDGET,
    WRITES,
)
from naas_abi_sdk.langgraph_documents.tombstones import bury
from naas_abi_sdk.limits import MAX_PAGE_SIZE

__all__ = ["delete_called_from", "delete_thread", "delete_values"]

#: Times ``delete_thread`` starts over because a writer stored a checkpoint meanwhile.
DELETE_ATTEMPTS = 10


def delete_thread(memory: Memory, thread_id: object) -> Operation[None]:
    """Delete every checkpoint, pending write, value and lease of a thread; absent is fine.

    Leaves a tombstone, so that a run that goes on from one of its checkpoints is refused with
    ``ThreadDeleted``; a new conversation may use the id. Safe to stop anywhere and to repeat. A
    writer that stores a checkpoint meanwhile either loses it here or keeps it whole.

    Raises:
        ThreadBusy: new conversations on the id kept storing checkpoints.
    """
    thread = thread_text(thread_id)
    scope = equals(agent_id=memory.agent_id, thread_id=thread)
    memory.recall.forget_thread(thread)
    memory.values.drop_thread(thread)
    memory.trails.drop_thread(thread)
    for _ in range(DELETE_ATTEMPTS):
        for collection in (LEASES, ORDERS):
            yield from _delete_all(Find(collection, scope, limit=MAX_PAGE_SIZE, fields=()))
        yield from _delete_checkpoints(memory, thread, scope)
        yield from _delete_all(Find(WRITES, scope, limit=MAX_PAGE_SIZE, fields=()))
        if (yield from delete_values(memory, thread)):
            return
    message = (
        f"thread {thread!r} kept being written while it was being deleted. What is stored of it is "
        "whole; stop its writers and delete it again."
    )
    raise ThreadBusy(message)


def delete_values(memory: Memory, thread_id: str) -> Operation[bool]:
    """Delete the thread's values; False, and no more, once a checkpoint appears.

    A put stores its values and its checkpoint at once, so values seen while no checkpoint is
    stored belong to none; and one that a later put relies on has moved past the version seen.
    """
    scope = equals(agent_id=memory.agent_id, thread_id=thread_id)
    for collection in (BLOBS, ITEMS, PARTS):
        query = Find(collection, scope, limit=MAX_PAGE_SIZE, fields=())
        more = True
        while more:
            (page,) = yield from read_together([query])
            (left,) = yield from read_together([Find(CHECKPOINTS, scope, limit=1, fields=())])
            if left.items:
                return False
            yield from apply([Delete(collection, item.id, item.version) for item in page.items])
            query, more = replace(query, cursor=page.cursor), page.cursor is not None
    return True


def delete_called_from(memory: Memory, thread_id: str, checkpoint_id: str) -> Operation[None]:
    """Delete what subgraphs stored that were called from a checkpoint which was never stored.

    They may store before their caller does, and so before a late caller is refused.
    """
    query = Find(
        CHECKPOINTS,
        equals(agent_id=memory.agent_id, thread_id=thread_id),
        limit=MAX_PAGE_SIZE,
        fields=("checkpoint_ns", "checkpoint_id", "metadata"),
        max_bytes=READ_BUDGET,
    )
    for document in (yield from pages(query)):
        data = document.data
        try:
            root = [{"metadata": data["metadata"]}]
            reached = yield from read_values(memory.agent_id, thread_id, root, AtHand({}))
            metadata = value_of(data["metadata"], reached.values, memory.serde)
        except DAMAGE:
            continue  # whose it is cannot be known, so it stays
        if checkpoint_id in (metadata.get("parents") or {}).values():
            yield from bury(memory, thread_id, [data["checkpoint_id"]])
            yield from apply([Delete(CHECKPOINTS, document.id)])
            of_it = equals(
                agent_id=memory.agent_id,
                thread_id=thread_id,
                checkpoint_ns=data["checkpoint_ns"],
                checkpoint_id=data["checkpoint_id"],
            )
            yield from _delete_all(Find(WRITES, of_it, limit=MAX_PAGE_SIZE, fields=()))


def _delete_checkpoints(
    memory: Memory, thread_id: str, scope: tuple[Predicate, ...]
) -> Operation[None]:
    query = Find(CHECKPOINTS, scope, limit=MAX_PAGE_SIZE, fields=("checkpoint_id",))
    more = True
    while more:
        (page,) = yield from read_together([query])
        if page.items:
            yield from bury(memory, thread_id, [it.data["checkpoint_id"] for it in page.items])
        yield from apply([Delete(CHECKPOINTS, item.id) for item in page.items])
        query, more = replace(query, cursor=page.cursor), page.cursor is not None


def _delete_all(query: Find) -> Operation[None]:
    more = True
    while more:
        (page,) = yield from read_together([query])
        yield from apply([Delete(query.collection, item.id) for item in page.items])
        query, more = replace(query, cursor=page.cursor), page.cursor is not None
