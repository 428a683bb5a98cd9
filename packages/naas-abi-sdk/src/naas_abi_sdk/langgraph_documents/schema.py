"""The stored schema's names and numbers. They never change: stored threads depend on them."""

from __future__ import annotations

from typing import Final

from naas_abi_sdk.document.types import CollectionSpec, FieldSpec

__all__ = [
    "BLOBS",
    "CHECKPOINTS",
    "CHUNK_BYTES",
    "CHUNK_SIZE",
    "COLLECTIONS",
    "DOCUMENT_OVERHEAD",
    "GATHERED_SIZES",
    "INLINE_LIMIT",
    "ITEMS",
    "KEPT_MESSAGES",
    "LEASES",
    "LISTING_BYTES",
    "ORDERS",
    "PARTS",
    "PART_SIZE",
    "READ_BUDGET",
    "RECALL_CAPACITY",
    "RECOGNISED_ELEMENTS",
    "REDACTED_SECRET",
    "SCHEMA_VERSION",
    "STORED_BYTES",
    "TOMBSTONES",
    "TRAIL_BYTES",
    "VALUE_CACHE_BYTES",
    "VALUE_COLLECTIONS",
    "WRITES",
]

#: ``_schema`` of every document this codec writes.
SCHEMA_VERSION: Final = 2

#: Bytes of a serialized value that one document holds; a longer one is split into parts.
#: With base64 and overhead four parts stay below a quarter of the 8 MiB brokers are set to.
PART_SIZE: Final = 256 * 1024

#: Bytes of a serialized channel value kept in the checkpoint document itself.
INLINE_LIMIT: Final = 1024

#: Elements one chunk of a list lists: an appended message rewrites at most this many references.
CHUNK_SIZE: Final = 32

#: Elements of the chunks that full chunks are gathered into, the largest first, so that what a
#: list names stays short: of up to 2,047 messages 15 chunks at the most instead of 64, and one more
#: for every 2,048. A smaller step would rewrite references more often, a larger one name more.
GATHERED_SIZES: Final = (2048, 256)

#: Bytes that one read of values may be estimated at: a quarter of an 8 MiB broker limit.
READ_BUDGET: Final = 2 * 1024 * 1024

#: Bytes a document is estimated to cost beside its payload.
DOCUMENT_OVERHEAD: Final = 4096

#: Bytes that a reference in a chunk is estimated at.
LISTING_BYTES: Final = 100

#: Estimated bytes of a full chunk of 32 references: what peers that never gather count with.
CHUNK_BYTES: Final = CHUNK_SIZE * LISTING_BYTES + DOCUMENT_OVERHEAD

#: Estimated bytes of a document whose payload length is not known before it is read.
STORED_BYTES: Final = PART_SIZE + DOCUMENT_OVERHEAD

#: References a saver remembers as stored, over all threads: an estimated 40 MB at the most.
RECALL_CAPACITY: Final = 200_000

#: List elements of the chunks a saver recognises by content: an estimated 30 MB at most.
RECOGNISED_ELEMENTS: Final = 128_000

#: Bytes of value documents a saver keeps in memory so as not to read them again.
VALUE_CACHE_BYTES: Final = 32 * 1024 * 1024

#: Bytes a saver keeps of the pending writes that delta channels are rebuilt from.
TRAIL_BYTES: Final = 16 * 1024 * 1024

#: Loaded messages a saver keeps for one serializer: an estimated 10 MB at 1 KB a message.
KEPT_MESSAGES: Final = 5_000

#: What stands in a stored value where a secret was.
REDACTED_SECRET: Final = "[REDACTED: secrets are not stored in checkpoints]"  # noqa: S105 -- no secret

CHECKPOINTS: Final = "langgraph_checkpoints_v2"
WRITES: Final = "langgraph_writes_v2"
BLOBS: Final = "langgraph_blobs_v2"
ITEMS: Final = "langgraph_items_v2"
PARTS: Final = "langgraph_parts_v2"

#: Checkpoints whose id sorts below their parent's (the clock stepped back); readers without this
#: collection still find every checkpoint, only "latest" needs it.
ORDERS: Final = "langgraph_orders_v2"

#: Who is at work on a thread: a run that fences it, a copy into it.
LEASES: Final = "langgraph_leases_v2"

#: What is left of deleted threads: up to which checkpoint id they were deleted, and nothing else.
TOMBSTONES: Final = "langgraph_tombstones_v2"

#: Which collection holds what a reference names, by the reference's first letter.
VALUE_COLLECTIONS: Final = {"b": BLOBS, "e": ITEMS, "c": ITEMS, "p": PARTS}


def _collection(name: str, *fields: str, also: tuple[str, ...] = ()) -> CollectionSpec:
    return CollectionSpec(
        name=name,
        fields=tuple(FieldSpec(field, "string", indexed=True) for field in fields),
        unique_together=((*fields, *also),),
    )


_SCOPE = ("agent_id", "thread_id")
_CHECKPOINT = (*_SCOPE, "checkpoint_ns", "checkpoint_id")

#: Every query names fields in the order of its collection's unique group, so one index serves all.
COLLECTIONS: Final = (
    _collection(CHECKPOINTS, *_CHECKPOINT),
    _collection(WRITES, *_CHECKPOINT, also=("task_id", "index")),
    _collection(BLOBS, *_SCOPE, "ref"),
    _collection(ITEMS, *_SCOPE, "ref"),
    _collection(PARTS, *_SCOPE, "ref"),
    _collection(ORDERS, *_SCOPE, "checkpoint_ns", "order"),
    _collection(LEASES, *_SCOPE, "kind"),
    CollectionSpec(TOMBSTONES, (FieldSpec("agent_id", "string", indexed=True),)),
)
