"""What tells a late writer of a deleted thread from a new conversation under the same id.

Deleting a thread leaves a tombstone: the greatest checkpoint id the thread had. Checkpoint ids are
made from the clock, so a checkpoint that is not stored and does not sort after it was deleted with
its thread. A writer that goes on from such a one is late. A new conversation starts from nothing
and then goes on from checkpoints that are stored, so nobody asks for a tombstone on its way.

A tombstone has a hash of the thread id for its own id and names nothing of the thread but that
checkpoint id. It stays; deleting it only means that late writers are no longer recognised.
"""

from __future__ import annotations

from collections.abc import Iterable

from naas_abi_sdk.document.commands import Get, Operation
from naas_abi_sdk.document.types import Document, Put
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.reading import read_together
from naas_abi_sdk.langgraph_documents.schema import SCHEMA_VERSION, TOMBSTONES
from naas_abi_sdk.langgraph_documents.storing import store

__all__ = ["bury", "is_buried"]


def bury(memory: Memory, thread_id: str, checkpoint_ids: Iterable[str]) -> Operation[None]:
    """Note that checkpoints are deleted with their thread; done before they are deleted."""
    last = max(checkpoint_ids)
    while True:
        stored = yield from _tombstone(memory, thread_id)
        if stored is not None and stored.data["last"] >= last:
            return
        data = {"agent_id": memory.agent_id, "_schema": SCHEMA_VERSION, "last": last}
        # At the version read: of two who delete at once neither may lower what the other noted.
        version = 0 if stored is None else stored.version
        put = Put(TOMBSTONES, document_id(memory.agent_id, thread_id), data, version)
        (outcome,) = yield from store([[put]])
        if outcome.state == "done":
            return


def is_buried(memory: Memory, thread_id: str, checkpoint_id: str) -> Operation[bool]:
    """Whether a checkpoint that is not stored was deleted with its thread."""
    stored = yield from _tombstone(memory, thread_id)
    return stored is not None and checkpoint_id <= stored.data["last"]


def _tombstone(memory: Memory, thread_id: str) -> Operation[Document | None]:
    key = document_id(memory.agent_id, thread_id)
    (stored,) = yield from read_together([Get(TOMBSTONES, key)])
    return stored if isinstance(stored, Document) else None
