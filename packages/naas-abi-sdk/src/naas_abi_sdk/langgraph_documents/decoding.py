"""Documents to values: the reverse of encoding.

Every function takes ``stored``, the value documents already read, by reference, and raises
:class:`~naas_abi_sdk.errors.CheckpointDamaged` naming what is missing or does not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from naas_abi_sdk.document.types import Data
from naas_abi_sdk.errors import CheckpointDamaged
from naas_abi_sdk.langgraph_documents._langgraph import (
    SerializerProtocol,
    is_snapshot,
    snapshot_of,
)
from naas_abi_sdk.langgraph_documents.addresses import element_ref, part_refs
from naas_abi_sdk.langgraph_documents.faithful import writes_as
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.recall import KnownCheckpoint, KnownValue
from naas_abi_sdk.langgraph_documents.recognising import ListedChunk, fingerprint
from naas_abi_sdk.langgraph_documents.schema import SCHEMA_VERSION
from naas_abi_sdk.langgraph_documents.unavailable import reading

__all__ = [
    "DAMAGE",
    "StoredValues",
    "channel_values",
    "checked",
    "in_order",
    "known_checkpoint",
    "pending_writes",
    "recognise_loaded",
    "value_of",
    "write_values",
]

#: What reading a damaged document back raises, besides saying so: a key that is not there, bytes
#: that are no msgpack, a kind the serializer does not know, a type that refuses what is left of it.
DAMAGE: Final = (
    CheckpointDamaged,
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
)

#: Value documents by reference.
StoredValues = Mapping[str, Data]


def checked(document: Data) -> Data:
    """``document`` if its schema is the one this codec reads."""
    if (schema := document.get("_schema")) != SCHEMA_VERSION:
        message = (
            f"checkpoint {document.get('checkpoint_id')!r} of thread {document.get('thread_id')!r} "
            f"has schema {schema!r}, this version reads {SCHEMA_VERSION}. Upgrade the reader."
        )
        raise CheckpointDamaged(message)
    return document


def value_of(value: Data, stored: StoredValues, serde: SerializerProtocol) -> Any:
    """The Python value of a stored typed value."""
    kind: str = value["kind"]
    if kind.partition("+")[0] == "pickle":
        message = "it holds a pickle, which could run anything, so it is never read"
        raise CheckpointDamaged(message)
    return serde.loads_typed((kind, _payload(value, stored)))


def channel_values(document: Data, stored: StoredValues, memory: Memory) -> dict[str, Any]:
    """Every channel value of a checkpoint document."""
    values = {}
    for name, entry in document["channels"].items():
        with reading(f"channel {name!r} of thread {document.get('thread_id')!r}"):
            values[name] = _channel_value(entry, stored, memory)
    return values


def pending_writes(
    writes: Iterable[Data], stored: StoredValues, memory: Memory
) -> list[tuple[str, str, Any]]:
    """Pending writes of one checkpoint as LangGraph takes them."""
    pending = []
    for write in in_order(writes):
        with reading(f"a write to channel {write['channel']!r} of thread {write['thread_id']!r}"):
            value = value_of(write["value"], stored, memory.serde)
        pending.append((write["task_id"], write["channel"], value))
    return pending


def in_order(writes: Iterable[Data]) -> list[Data]:
    """Pending writes of one checkpoint in the order LangGraph applies them in."""
    return sorted(
        writes, key=lambda write: (write.get("task_path", ""), write["task_id"], write["index"])
    )


def write_values(writes: Iterable[Data], stored: StoredValues, memory: Memory) -> list[Any]:
    """The values of pending writes; what was loaded before is copied."""
    values = [write["value"] for write in writes]
    refs = [
        element_ref(value["kind"], value["payload"]) if "payload" in value else value["parts"][0]
        for value in values
    ]
    by_ref = dict(zip(refs, values, strict=True))
    return memory.revival.load(
        memory.serde, refs, lambda ref: value_of(by_ref[ref], stored, memory.serde)
    )


def known_checkpoint(
    document: Data, order: str, stored: StoredValues, versions: Mapping[str, Any]
) -> KnownCheckpoint:
    """What a loaded checkpoint references, exactly."""
    own = (document["checkpoint"], document["metadata"])
    return KnownCheckpoint(
        key=(document["thread_id"], document["checkpoint_ns"], document["checkpoint_id"]),
        order=order,
        parent_id=document["parent_id"],
        channels={
            name: KnownValue(
                versions.get(name), entry, _pieces(entry, stored), _length(entry, stored)
            )
            for name, entry in document["channels"].items()
        },
        other=frozenset(ref for value in own for ref in value.get("parts", ())),
    )


def recognise_loaded(
    memory: Memory, document: Data, stored: StoredValues, values: Mapping[str, Any]
) -> None:
    """Remember how the lists of a loaded checkpoint are stored, so that a put need not ask."""
    serializer = writes_as(memory.serde)
    if serializer is None:
        return
    for name, entry in document["channels"].items():
        chunks = stored[entry["blob"]].get("chunks", ()) if "blob" in entry else ()
        items = values[name].value if is_snapshot(values[name]) else values[name]
        end = 0
        for ref in chunks:
            elements = stored[ref]["elements"]
            start, end = end, end + len(elements)
            if memory.recogniser.knows(ref):
                continue
            content = fingerprint(items[start:end])
            if content is not None:
                # What they are addressed by was checked when they were read.
                listed = ListedChunk(ref, elements, sum(length for _, length in elements))
                memory.recogniser.learn(serializer, content, listed)


def _channel_value(entry: Data, stored: StoredValues, memory: Memory) -> Any:
    if "blob" not in entry:
        return value_of(entry["value"], stored, memory.serde)
    blob = _document(entry["blob"], stored)
    if "chunks" not in blob:
        return value_of(blob["value"], stored, memory.serde)
    refs = [ref for chunk in blob["chunks"] for ref, _ in _document(chunk, stored)["elements"]]
    loads = memory.serde.loads_typed

    def deserialize(ref: str) -> Any:
        value = _document(ref, stored)["value"]
        return loads((value["kind"], _payload(value, stored)))

    items = memory.revival.load(memory.serde, refs, deserialize)
    if len(items) != blob["length"]:
        message = f"list {entry['blob']!r} has {len(items)} elements, {blob['length']} were stored"
        raise CheckpointDamaged(message)
    return snapshot_of(items) if blob.get("snapshot") else items


def _payload(value: Data, stored: StoredValues) -> bytes:
    if "parts" not in value:
        payload: bytes = value["payload"]
        return payload
    payload = b"".join(_document(ref, stored)["payload"] for ref in value["parts"])
    if len(payload) != value["size"]:
        message = (
            f"parts of {value['parts'][0]!r} hold {len(payload)} bytes, {value['size']} were stored"
        )
        raise CheckpointDamaged(message)
    if part_refs(payload, len(value["parts"])) != value["parts"]:
        message = f"parts of {value['parts'][0]!r} do not hold what their address says"
        raise CheckpointDamaged(message)
    return payload


def _pieces(entry: Data, stored: StoredValues) -> dict[str, frozenset[str]]:
    head = entry.get("blob")
    if head is None:
        return {}
    blob = stored[head]
    if "chunks" not in blob:
        return {head: frozenset((head, *blob["value"].get("parts", ())))}
    pieces = {chunk: frozenset(_below(chunk, stored)) for chunk in blob["chunks"]}
    return {**pieces, head: frozenset((head,))}


def _length(entry: Data, stored: StoredValues) -> int:
    length: int = stored[entry["blob"]].get("length", 0) if "blob" in entry else 0
    return length


def _below(chunk: str, stored: StoredValues) -> list[str]:
    elements = [element for element, _ in stored[chunk]["elements"]]
    values = [stored[element]["value"] for element in elements]
    return [chunk, *elements, *(ref for value in values for ref in value.get("parts", ()))]


def _document(ref: str, stored: StoredValues) -> Data:
    try:
        return stored[ref]
    except KeyError:
        message = f"value document {ref!r} is missing, or does not hold what its address says"
        raise CheckpointDamaged(message) from None
