"""Document ids and content addresses.

Both are SHA-256 over JSON with Python's default separators and ASCII escapes (so text with lone
surrogates hashes too, and no separator can make two keys collide); stored threads depend on every
byte of it. Nothing is ever parsed back out of an id or a reference but its first letter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

__all__ = [
    "chunk_ref",
    "document_id",
    "element_ref",
    "is_addressed",
    "is_element",
    "list_ref",
    "part_refs",
    "snapshot_ref",
    "value_ref",
]


def _digest(value: object) -> str:
    return sha256(json.dumps(value).encode("ascii")).hexdigest()


def document_id(agent_id: str, *parts: str | int) -> str:
    """The id of the document that ``parts`` name in an agent's scope."""
    return _digest([agent_id, *parts])


def element_ref(kind: str, payload: bytes) -> str:
    """The address of a list element."""
    return "e-" + sha256(kind.encode() + b"\0" + payload).hexdigest()


def value_ref(kind: str, payload: bytes) -> str:
    """The address of a channel value stored whole."""
    return "b-" + sha256(b"v" + kind.encode() + b"\0" + payload).hexdigest()


def chunk_ref(elements: Sequence[Sequence[object]]) -> str:
    """The address of a chunk: ``elements`` are ``[element reference, payload length]`` pairs."""
    return "c-" + _digest(elements)


def list_ref(chunks: Sequence[str]) -> str:
    """The address of a list, given its chunks' references in order."""
    return "b-" + sha256(b"l" + json.dumps(chunks).encode("ascii")).hexdigest()


def snapshot_ref(chunks: Sequence[str]) -> str:
    """The address of a delta channel's snapshot of the list that has these chunks."""
    return "b-" + sha256(b"s" + json.dumps(chunks).encode("ascii")).hexdigest()


def part_refs(payload: bytes, count: int) -> list[str]:
    """The addresses of the ``count`` slices of a long payload."""
    digest = sha256(payload).hexdigest()
    return [f"p-{digest}.{index}" for index in range(count)]


def is_element(data: Mapping[str, Any]) -> bool:
    """Whether a value document is an element that holds what its reference says, all by itself.

    It then references nothing. Most documents of a conversation are such.
    """
    try:
        value = data["value"]
        return bool(data["ref"] == element_ref(value["kind"], value["payload"]))
    except (AttributeError, KeyError, TypeError):
        return False


def is_addressed(data: Mapping[str, Any]) -> bool:
    """Whether a value document holds what its reference says.

    True as well for a part and for a value in parts: only all parts together can be compared.
    """
    try:
        return _address(data) in (data["ref"], None)
    except (AttributeError, KeyError, TypeError, ValueError):  # not even a value document
        return False


def _address(data: Mapping[str, Any]) -> str | None:
    if "elements" in data:
        return chunk_ref(data["elements"])
    if "chunks" in data:
        return (snapshot_ref if data.get("snapshot") else list_ref)(data["chunks"])
    value = data.get("value", {})
    if "payload" not in value:
        return None
    address = element_ref if data["ref"].startswith("e-") else value_ref
    return address(value["kind"], value["payload"])
