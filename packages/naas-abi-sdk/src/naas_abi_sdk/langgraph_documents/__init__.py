"""LangGraph checkpoints as documents: the stored schema, and the operations over it.

Pure: nothing here reads or writes anything. The two savers carry the commands of
:mod:`~naas_abi_sdk.langgraph_documents.operations` to a store and bring the answers back.

**What is stored.** Eight collections; every document has ``agent_id``, ``thread_id`` (but for
tombstones) and ``_schema`` 2.

========================  =======================================================================
langgraph_checkpoints_v2  one per checkpoint: ``checkpoint_ns``, ``checkpoint_id``,
                          ``parent_id``, ``checkpoint`` (without channel values) and
                          ``metadata`` as stored values, ``channels``: name to
                          ``{"value": stored}`` or ``{"blob": b-…}``
langgraph_writes_v2       one per pending write: the four ids, ``task_id``, ``task_path``,
                          ``index``, ``channel``, ``value`` (stored)
langgraph_blobs_v2        channel values, ``ref`` ``b-…``: ``value`` (stored), or ``chunks`` (a list
                          of ``c-…``) and ``length``; ``snapshot`` true where the list is a
                          delta channel's
langgraph_items_v2        ``c-…``: ``elements``, up to 32 of ``[e-…, payload length]`` (full ones
                          are gathered into chunks of 256 and 2,048); and
                          ``e-…``: one list element's ``value`` (stored)
langgraph_parts_v2        ``p-…``: ``payload``, 256 KiB of a longer value
langgraph_orders_v2       only for a checkpoint whose id sorts below its parent's (the clock
                          stepped back): its ``order``; see ``ordering``
langgraph_leases_v2       who is at work on a thread, by ``kind``: ``run`` (see ``leasing``) or
                          ``copy`` (see ``copying``)
langgraph_tombstones_v2   one per thread that was deleted: ``last``, the greatest checkpoint id it
                          had; see ``tombstones``
========================  =======================================================================

A *stored value* is ``{"kind", "payload"}``: what LangGraph's serializer makes of it; above 256 KiB
``{"kind", "size", "parts"}``. References are content addresses within the thread, so a value that
did not change is not stored again, and appending a message stores the message, the last chunk, a
small blob and the checkpoint.

A delta channel (LangGraph 1.2 and later) has an entry only in a checkpoint with its *snapshot*; in
between, its value is what the pending writes of the ancestors add to it (``deltas``). A snapshot of
a list is stored as the list is, marked, under an address of its own: it shares elements and chunks
with the snapshot before, a reader that does not know the mark reads the plain list, which LangGraph
takes in a snapshot's place, and its sweep still sees every reference. A reader that checks
addresses finds that it is none of a list's.

**Why a stored checkpoint is always whole.** Values are stored before what references them, the
checkpoint last, in one transaction where the store has them. A killed process leaves at most
values that nothing references.
"""

from __future__ import annotations

from naas_abi_sdk.langgraph_documents.batching import batches, references
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.planning import next_version
from naas_abi_sdk.langgraph_documents.recall import Recall
from naas_abi_sdk.langgraph_documents.recognising import Recogniser
from naas_abi_sdk.langgraph_documents.redaction import redact_secrets
from naas_abi_sdk.langgraph_documents.schema import (
    BLOBS,
    CHECKPOINTS,
    CHUNK_SIZE,
    COLLECTIONS,
    INLINE_LIMIT,
    ITEMS,
    LEASES,
    ORDERS,
    PART_SIZE,
    PARTS,
    READ_BUDGET,
    REDACTED_SECRET,
    SCHEMA_VERSION,
    TOMBSTONES,
    WRITES,
)

__all__ = [
    "BLOBS",
    "CHECKPOINTS",
    "CHUNK_SIZE",
    "COLLECTIONS",
    "INLINE_LIMIT",
    "ITEMS",
    "LEASES",
    "ORDERS",
    "PARTS",
    "PART_SIZE",
    "READ_BUDGET",
    "REDACTED_SECRET",
    "SCHEMA_VERSION",
    "TOMBSTONES",
    "WRITES",
    "Memory",
    "Recall",
    "Recogniser",
    "batches",
    "next_version",
    "redact_secrets",
    "references",
]
