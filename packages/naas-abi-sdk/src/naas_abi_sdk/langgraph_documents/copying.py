"""Copying a thread within its scope.

Values belong to a thread, so they are copied too, and deleting either thread never harms the
other. Content addresses do not depend on the thread: a copy is every document with another
``thread_id`` and the id that follows from it.

The checkpoints that are copied are those the source has at the beginning. Their values are read
after that and stored before them, then their pending writes, then they themselves, oldest first;
so what is in the target is whole at every moment. What the source gets meanwhile is left out.

While a copy is under way the target has a document that says so, required by everything the copy
stores. Deleting the target deletes it first, so a copy cannot put a checkpoint where its values
were just deleted. It stays after a copy that was killed, until the copy is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from naas_abi_sdk.document.commands import Find, Get, Operation, apply
from naas_abi_sdk.document.types import (
    Data,
    Delete,
    Document,
    Keep,
    OrderBy,
    Predicate,
    Put,
    Require,
    Write,
)
from naas_abi_sdk.errors import CheckpointConflict, InvalidCheckpointConfig, ThreadBusy
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.batching import batches, references
from naas_abi_sdk.langgraph_documents.configuring import thread_text
from naas_abi_sdk.langgraph_documents.decoding import checked
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.reading import equals, find_all, pages, read_together
from naas_abi_sdk.langgraph_documents.schema import (
    BLOBS,
    CHECKPOINTS,
    ITEMS,
    LEASES,
    ORDERS,
    PARTS,
    READ_BUDGET,
    SCHEMA_VERSION,
    WRITES,
)
from naas_abi_sdk.langgraph_documents.storing import store
from naas_abi_sdk.limits import MAX_PAGE_SIZE

__all__ = ["copy_thread"]

#: Namespace and id of a checkpoint in its thread.
_Key = tuple[str, str]

#: Checkpoints read and copied at a time.
_PAGE: Final = 200

#: What the id of a copied document is made of, after agent and thread.
_NAMED_BY: Final = {
    CHECKPOINTS: ("checkpoint_ns", "checkpoint_id"),
    ORDERS: ("checkpoint_ns", "checkpoint_id"),
    WRITES: ("checkpoint_ns", "checkpoint_id", "task_id", "index"),
    BLOBS: ("ref",),
    ITEMS: ("ref",),
    PARTS: ("ref",),
}


def copy_thread(memory: Memory, source_id: object, target_id: object) -> Operation[None]:
    """Copy every checkpoint of a thread, with its pending writes, to another thread.

    The target may be absent, or hold part of the same copy: a copy that was stopped is completed
    by repeating it. Checkpoints that are in the target already are left alone, with their pending
    writes. A source without checkpoints copies nothing. Holds in memory a page of documents and
    the ids of the source's checkpoints. The source is only read.

    Raises:
        InvalidCheckpointConfig: source and target are the same thread.
        CheckpointConflict: the target has checkpoints that the source does not have.
        ThreadBusy: another thread is being copied to the target, or the target was deleted
            meanwhile.
    """
    source, target = thread_text(source_id), thread_text(target_id)
    if source == target:
        message = f"thread {source!r} cannot be copied to itself. Name another target."
        raise InvalidCheckpointConfig(message)
    wanted = yield from _checkpoints_of(memory, source)
    if not wanted:
        return
    copy = _Copy(memory, source, target)
    yield from _begin(copy)
    stored = yield from _checkpoints_of(memory, target)
    if not stored <= wanted:
        yield from _end(copy)
        message = (
            f"thread {target!r} has checkpoints that {source!r} does not have, so it is no copy of "
            "it. Copy to a new thread id, or delete the target first."
        )
        raise CheckpointConflict(message)
    if missing := wanted - stored:
        for collection in (PARTS, ITEMS, BLOBS):
            yield from _copy_values(copy, collection)
        yield from _copy_checkpoints(copy, missing)
    yield from _end(copy)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy under way."""

    memory: Memory
    source: str
    target: str

    @property
    def marker(self) -> str:
        """Id of the document that says so."""
        return document_id(self.memory.agent_id, self.target, "copy")

    def of(self, thread_id: str) -> tuple[Predicate, ...]:
        """The documents of a thread."""
        return equals(agent_id=self.memory.agent_id, thread_id=thread_id)

    def moved(self, collection: str, data: Data) -> tuple[str, Data]:
        """Id and data of a source's document in the target."""
        parts = (data[name] for name in _NAMED_BY[collection])
        name = document_id(self.memory.agent_id, self.target, *parts)
        return name, data | {"thread_id": self.target}

    def store(self, *stages: Sequence[Write]) -> Operation[None]:
        """Store in the target while the copy stands."""
        if not any(stages):
            return
        outcomes = yield from apply([Require(LEASES, self.marker)], *stages)
        if outcomes[0].state != "done":
            message = (
                f"thread {self.target!r} was deleted, or another copy of {self.source!r} to it "
                "ended, while it was being copied to. Copy it again if it is still wanted."
            )
            raise ThreadBusy(message)


def _begin(copy: _Copy) -> Operation[None]:
    data = {
        "agent_id": copy.memory.agent_id,
        "thread_id": copy.target,
        "_schema": SCHEMA_VERSION,
        "kind": "copy",
        "source": copy.source,
    }
    while True:
        (outcome,) = yield from store([[Put(LEASES, copy.marker, data, 0)]])
        if outcome.state == "done":
            return
        (there,) = yield from read_together([Get(LEASES, copy.marker)])
        if isinstance(there, Document):
            break
    if there.data["source"] != copy.source:
        message = (
            f"thread {there.data['source']!r} is being copied to {copy.target!r}, or a copy was "
            "stopped. Finish it by repeating it, or delete the target."
        )
        raise ThreadBusy(message)


def _end(copy: _Copy) -> Operation[None]:
    yield from apply([Delete(LEASES, copy.marker)])


def _checkpoints_of(memory: Memory, thread_id: str) -> Operation[AbstractSet[_Key]]:
    scope = equals(agent_id=memory.agent_id, thread_id=thread_id)
    fields = ("checkpoint_ns", "checkpoint_id")
    found = yield from pages(Find(CHECKPOINTS, scope, limit=MAX_PAGE_SIZE, fields=fields))
    return {_key(document.data) for document in found}


def _key(data: Data) -> _Key:
    return data["checkpoint_ns"], data["checkpoint_id"]


def _copy_values(copy: _Copy, collection: str) -> Operation[None]:
    query = Find(collection, copy.of(copy.source), limit=MAX_PAGE_SIZE, max_bytes=READ_BUDGET)
    more = True
    while more:
        (page,) = yield from read_together([query])
        yield from copy.store(_kept(copy, collection, page.items))
        query, more = replace(query, cursor=page.cursor), page.cursor is not None


def _kept(copy: _Copy, collection: str, documents: Sequence[Document]) -> list[Write]:
    return [Keep(collection, *copy.moved(collection, item.data)) for item in documents]


def _copy_checkpoints(copy: _Copy, missing: AbstractSet[_Key]) -> Operation[None]:
    oldest_first = OrderBy("checkpoint_id", "asc")
    query = Find(
        CHECKPOINTS, copy.of(copy.source), oldest_first, limit=_PAGE, max_bytes=READ_BUDGET
    )
    more = True
    while more:
        (page,) = yield from read_together([query])
        wanted = [item.data for item in page.items if _key(item.data) in missing]
        if wanted:
            yield from _copy_page(copy, wanted)
        query, more = replace(query, cursor=page.cursor), page.cursor is not None


def _copy_page(copy: _Copy, checkpoints: Sequence[Data]) -> Operation[None]:
    keys = {_key(checked(data)) for data in checkpoints}
    ids = sorted({checkpoint_id for _, checkpoint_id in keys})
    of_page = (*copy.of(copy.source), Predicate("checkpoint_id", "in", ids))
    query = Find(WRITES, of_page, limit=MAX_PAGE_SIZE, max_bytes=READ_BUDGET)
    more = True
    while more:
        (page,) = yield from read_together([query])
        yield from _copy_writes(copy, [item.data for item in page.items if _key(item.data) in keys])
        query, more = replace(query, cursor=page.cursor), page.cursor is not None
    (orders,) = yield from find_all([Find(ORDERS, of_page, limit=MAX_PAGE_SIZE)])
    yield from copy.store(
        [Put(CHECKPOINTS, *copy.moved(CHECKPOINTS, data), 0) for data in checkpoints],
        [Put(ORDERS, *copy.moved(ORDERS, item.data)) for item in orders if _key(item.data) in keys],
    )


def _copy_writes(copy: _Copy, writes: Sequence[Data]) -> Operation[None]:
    """Pending writes of checkpoints that the target does not have yet, so nobody changed them."""
    wanted = (reference for write in writes for reference in references(write))
    parts: list[Write] = []
    for collection, refs in batches(wanted):  # of a write that was added since values were copied
        by_reference = (*copy.of(copy.source), Predicate("ref", "in", refs))
        (found,) = yield from find_all([Find(collection, by_reference, limit=len(refs))])
        parts.extend(_kept(copy, collection, found))
    yield from copy.store(parts, [Put(WRITES, *copy.moved(WRITES, data)) for data in writes])
