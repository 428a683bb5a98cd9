"""Recognises chunks of list elements that were serialized or loaded before, by their content.

A conversation's list grows by a message while LangGraph hands over all of it, every step. What
did not change need not be serialized again, but a message may be changed in place at any time, so
object identity says nothing. A *fingerprint* does: a hash over everything LangGraph's serializer
would look at, taken in C without its hooks, for a fraction of the time and without looking for
secrets. It is taken only of values whose content is all there is to them: plain JSON-like values
and LangChain's messages made of such. Anything else has none and is serialized every time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, final

import ormsgpack
from xxhash import xxh3_128_digest

from naas_abi_sdk.langgraph_documents._langgraph import is_message_type, is_plain_holder
from naas_abi_sdk.langgraph_documents.addresses import chunk_ref
from naas_abi_sdk.langgraph_documents.schema import RECOGNISED_ELEMENTS
from naas_abi_sdk.langgraph_documents.shapes import attributes

__all__ = [
    "ListedChunk",
    "Listing",
    "Recogniser",
    "fingerprint",
    "is_plain",
    "likeness",
    "listed_chunk",
]

#: Every type that the serializer's hooks handle is refused, and every key but text, so what is
#: packed is plain.
_OPTIONS: Final = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
_PLAIN: Final = frozenset({str, int, float, bool, bytes, dict, list, type(None)})
#: One of these comes before bytes, a bytearray and a memoryview alike.
_MARKS: Final = (b"\xc4", b"\xc5", b"\xc6")
_BUFFERS: Final[frozenset[type]] = frozenset({bytearray, memoryview})
_BYTES: Final[frozenset[type]] = _BUFFERS | {bytes}
#: A hash of 128 bits tells apart whatever happens to be said, and is many times faster than one
#: that resists attacks; Python's own secret of the process keeps anyone from preparing a clash.
_SEED: Final = hash(__name__) % 2**64
#: Names of LangChain's message types met so far.
_MESSAGE_NAMES: Final[dict[type, str]] = {}


#: An element as its chunk lists it: ``[reference, payload length]``.
Listing = list[Any]


@dataclass(frozen=True, slots=True)
class ListedChunk:
    """A chunk: its reference, what it lists, and the bytes of all payloads."""

    ref: str
    elements: list[Listing]
    size: int


def listed_chunk(elements: list[Listing]) -> ListedChunk:
    """The chunk that lists ``elements``."""
    return ListedChunk(chunk_ref(elements), elements, sum(length for _, length in elements))


def fingerprint(values: Sequence[Any]) -> bytes | None:
    """A hash of everything that decides how ``values`` are serialized, or None if more does.

    Values with a fingerprint hold no secrets: a secret is no plain value. Fingerprints mean
    nothing outside this process. Bytes have none: a bytearray with the same content would share it.
    """
    packed = _packed(values)
    if packed is None or (_may_hold_bytes(packed) and not _has_none(_BYTES, values)):
        return None
    return xxh3_128_digest(packed, _SEED)


def likeness(values: Sequence[Any]) -> bytes | None:
    """The fingerprint that ``values`` have if they have one; cheaper, for looking them up."""
    packed = _packed(values)
    return None if packed is None else xxh3_128_digest(packed, _SEED)


def is_plain(value: Any) -> bool:
    """Whether a value is plain content, LangChain's messages, and LangGraph's own that hold such.

    LangGraph's serializer keeps it exactly, and it holds no secrets.
    """
    packed = _packed([value])
    if packed is not None:
        return not _may_hold_bytes(packed) or _has_none(_BUFFERS, value)
    kind = type(value)  # messages may be anywhere in it
    if kind is dict:
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if kind is list:
        return fingerprint(value) is not None
    return is_plain_holder(kind) and all(map(is_plain, attributes(value).values()))


def _packed(values: Sequence[Any]) -> bytes | None:
    for kind in set(map(type, values)):
        if kind not in _PLAIN and kind not in _MESSAGE_NAMES and not _learn_message(kind):
            return None
    contents = [
        # Three items, so that no plain value looks like a message.
        [_MESSAGE_NAMES[kind], value.__dict__, value.__pydantic_extra__]
        if (kind := type(value)) in _MESSAGE_NAMES
        else [value]
        for value in values
    ]
    try:
        return ormsgpack.packb(contents, option=_OPTIONS)
    except (TypeError, ValueError):  # not plain, or nested too deep
        return None


def _may_hold_bytes(packed: bytes) -> bool:
    return any(mark in packed for mark in _MARKS)


def _has_none(kinds: frozenset[type], value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return all(_has_none(kinds, item) for item in value.values())
    if kind is list:
        return all(_has_none(kinds, item) for item in value)
    if kind in _MESSAGE_NAMES:
        return _has_none(kinds, [value.__dict__, value.__pydantic_extra__])
    return kind not in kinds


def _learn_message(kind: type) -> bool:
    if not is_message_type(kind):
        return False
    _MESSAGE_NAMES[kind] = f"{kind.__module__}.{kind.__qualname__}"
    return True


@final
class Recogniser:
    """The chunks a saver has seen, the least recently used forgotten first; thread-safe.

    Args:
        capacity: List elements to remember at most, over all chunks.
    """

    def __init__(self, capacity: int = RECOGNISED_ELEMENTS) -> None:
        self._capacity = capacity
        self._lock = Lock()
        self._size = 0
        self._seen: OrderedDict[tuple[Hashable, bytes], ListedChunk] = OrderedDict()
        self._refs: dict[str, int] = {}

    def find(self, serializer: Hashable, content: bytes) -> ListedChunk | None:
        """The chunk that values with this fingerprint were stored as by this serializer."""
        with self._lock:
            chunk = self._seen.get((serializer, content))
            if chunk is not None:
                self._seen.move_to_end((serializer, content))
            return chunk

    def learn(self, serializer: Hashable, content: bytes, chunk: ListedChunk) -> None:
        """Remember what values with this fingerprint are stored as."""
        with self._lock:
            self._forget(self._seen.pop((serializer, content), None))
            self._seen[serializer, content] = chunk
            self._size += len(chunk.elements)
            self._refs[chunk.ref] = self._refs.get(chunk.ref, 0) + 1
            while self._size > self._capacity and len(self._seen) > 1:
                self._forget(self._seen.popitem(last=False)[1])

    def knows(self, ref: str) -> bool:
        """Whether some values are known to be stored as this chunk."""
        with self._lock:
            return ref in self._refs

    def __len__(self) -> int:
        """List elements remembered."""
        with self._lock:
            return self._size

    def _forget(self, chunk: ListedChunk | None) -> None:
        if chunk is not None:
            self._size -= len(chunk.elements)
            self._refs[chunk.ref] -= 1
            if not self._refs[chunk.ref]:
                del self._refs[chunk.ref]
