"""What a stored document references, and how references are read in bounded batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from naas_abi_sdk.document.types import Data
from naas_abi_sdk.langgraph_documents.schema import (
    DOCUMENT_OVERHEAD,
    LISTING_BYTES,
    PART_SIZE,
    READ_BUDGET,
    STORED_BYTES,
    VALUE_COLLECTIONS,
)
from naas_abi_sdk.limits import MAX_IN_VALUES

__all__ = ["Reference", "batches", "references"]

#: A reference and the bytes its document is estimated to cost to read.
Reference = tuple[str, int]


def references(document: Data) -> Iterable[Reference]:
    """What a checkpoint, pending write, blob, chunk or element references directly, in order."""
    if "elements" in document:  # first, as these are by far the most
        return [
            (ref, min(length, PART_SIZE) + DOCUMENT_OVERHEAD)
            for ref, length in document["elements"]
        ]
    if "value" in document:
        return _parts(document["value"])
    return _of_root(document)


def _of_root(document: Data) -> Iterator[Reference]:
    chunks = document.get("chunks", ())
    for chunk in chunks:
        # Which of them are the long ones is not told; what all of them list together is.
        yield chunk, document["length"] * LISTING_BYTES // len(chunks) + DOCUMENT_OVERHEAD
    for name in ("checkpoint", "metadata"):
        if name in document:
            yield from _parts(document[name])
    for entry in document.get("channels", {}).values():
        if "blob" in entry:
            yield entry["blob"], STORED_BYTES
        else:
            yield from _parts(entry["value"])


def _parts(stored: dict[str, Any]) -> list[Reference]:
    return [(ref, STORED_BYTES) for ref in stored.get("parts", ())]


def batches(wanted: Iterable[Reference]) -> list[tuple[str, list[str]]]:
    """Group references into reads: ``(collection, references)`` each.

    A read is estimated at no more than ``READ_BUDGET`` bytes (one larger document still makes a
    read of its own) and names at most ``MAX_IN_VALUES`` references. Order is kept.
    """
    groups: dict[str, list[Reference]] = {}
    for ref, size in wanted:
        groups.setdefault(VALUE_COLLECTIONS[ref[0]], []).append((ref, size))
    return [(name, batch) for name, group in groups.items() for batch in _split(group)]


def _split(group: list[Reference]) -> Iterator[list[str]]:
    batch: list[str] = []
    total = 0
    for ref, size in group:
        if batch and (total + size > READ_BUDGET or len(batch) == MAX_IN_VALUES):
            yield batch
            batch, total = [], 0
        batch.append(ref)
        total += size
    yield batch
