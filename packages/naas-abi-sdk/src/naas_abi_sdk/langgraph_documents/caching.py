"""Value documents a process has stored or read, kept so that they are not read again.

Content-addressed documents never change, so nothing here can be stale: what a stored checkpoint
references is what this cache has under the same reference. A process that goes on with a thread
reads only what others added to it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final, final

from naas_abi_sdk.document.types import Data
from naas_abi_sdk.langgraph_documents.schema import VALUE_CACHE_BYTES

__all__ = ["AtHand", "ThreadValues", "ValueCache"]

#: What a small document is estimated to take in memory beside its payload.
_OVERHEAD: Final = 1_200
#: What a chunk is estimated to take for each element it lists.
_LISTED: Final = 250


@final
class ValueCache:
    """Value documents by thread and reference, the least recently used dropped first.

    Safe to use from many threads.

    Args:
        capacity: Bytes to keep at most; 0 keeps nothing.
    """

    def __init__(self, capacity: int = VALUE_CACHE_BYTES) -> None:
        self._capacity = capacity
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str], Data] = OrderedDict()
        self.size = 0

    def of(self, thread_id: str) -> ThreadValues:
        """The documents of one thread."""
        return ThreadValues(self, thread_id)

    def found(self, thread_id: str, refs: Iterable[str]) -> dict[str, Data]:
        """Those of the documents that are kept, by reference, in the order asked."""
        found = {}
        with self._lock:
            for ref in refs:
                key = (thread_id, ref)
                if (document := self._kept.get(key)) is not None:
                    self._kept.move_to_end(key)
                    found[ref] = document
        return found

    def keep(self, thread_id: str, documents: Iterable[Data]) -> None:
        """Keep documents; they must not be changed afterwards."""
        with self._lock:
            for data in documents:
                key = (thread_id, data["ref"])
                if key not in self._kept:
                    self._kept[key] = data
                    self.size += _size(data)
            while self.size > self._capacity:
                _, dropped = self._kept.popitem(last=False)
                self.size -= _size(dropped)

    def drop_thread(self, thread_id: str) -> None:
        """Drop all of a thread: it is being deleted."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == thread_id]:
                self.size -= _size(self._kept.pop(key))


@final
class ThreadValues:
    """The kept documents of one thread, by reference."""

    def __init__(self, cache: ValueCache, thread_id: str) -> None:
        self._cache = cache
        self._thread_id = thread_id

    def found(self, refs: Iterable[str]) -> dict[str, Data]:
        """Those of the documents that are kept, by reference, in the order asked."""
        return self._cache.found(self._thread_id, refs)


@final
@dataclass(frozen=True, slots=True)
class AtHand:
    """Value documents that another read has reached, by reference."""

    documents: Mapping[str, Data]

    def found(self, refs: Iterable[str]) -> dict[str, Data]:
        """Those of the documents that were reached, by reference, in the order asked."""
        return {ref: self.documents[ref] for ref in refs if ref in self.documents}


def _size(data: Data) -> int:
    if (value := data.get("value")) is not None:
        return _OVERHEAD + len(value.get("payload", b""))
    listed = data.get("elements") or data.get("chunks") or ()
    return _OVERHEAD + len(data.get("payload", b"")) + _LISTED * len(listed)
