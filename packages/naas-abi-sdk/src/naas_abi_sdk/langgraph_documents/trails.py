"""What a process has read of a delta channel's history, so that a turn reads what is new of it.

A stored checkpoint never changes, but pending writes may be added to it at any time, by any
process that goes back to it. So what is kept here is never used unseen: an operation reads which
writes there are, at which version, and goes by this only if nothing differs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, NamedTuple, final

from naas_abi_sdk.document.types import Data, Document
from naas_abi_sdk.langgraph_documents.recall import KnownCheckpoint
from naas_abi_sdk.langgraph_documents.schema import TRAIL_BYTES

__all__ = ["Ancestor", "Trail", "Trails"]

#: What a pending write is estimated to take in memory beside its payload, and an ancestor.
_WRITE: Final = 2_000
_ANCESTOR: Final = 500


class Ancestor(NamedTuple):
    """A checkpoint on the way back: its parent, and its entries of the channels asked for."""

    parent_id: str | None
    entries: Mapping[str, Data]

    def limited(self, channels: Iterable[str]) -> Ancestor:
        """The same with the entries of these channels only."""
        entries = {name: self.entries[name] for name in channels if name in self.entries}
        return Ancestor(self.parent_id, entries)


@dataclass(frozen=True, slots=True)
class Trail:
    """The way back from a checkpoint of one namespace to where its delta channels are stored.

    Attributes:
        channels: What ``ancestors`` have entries of.
        ancestors: Every checkpoint on the way, by id.
        first: The smallest of their ids.
        last: The greatest.
        writes: Every pending write of the namespace from ``first`` to ``last``, by document id:
            those of other branches too, so that a new one shows.
        stored: For a channel, the checkpoint on the way that has its value.
    """

    channels: frozenset[str]
    ancestors: Mapping[str, Ancestor]
    first: str
    last: str
    writes: Mapping[str, Document]
    stored: Mapping[str, KnownCheckpoint]
    size: int = field(init=False)

    def __post_init__(self) -> None:
        payloads = sum(
            len(document.data["value"].get("payload", b"")) for document in self.writes.values()
        )
        size = payloads + _WRITE * len(self.writes) + _ANCESTOR * len(self.ancestors)
        object.__setattr__(self, "size", size)

    def covers(self, first: str) -> bool:
        """Whether every write from ``first`` to :attr:`last` that there was is in it."""
        return self.first <= first <= self.last

    def leads_to(self, last: str, channels: frozenset[str]) -> bool:
        """Whether a way that ends at ``last`` goes on from this one, with nothing left out."""
        return self.last <= last and self.channels <= channels

    def between(self, first: str, last: str) -> dict[str, Document]:
        """The pending writes of checkpoints from ``first`` to ``last``, by document id."""
        return {
            key: document
            for key, document in self.writes.items()
            if first <= document.data["checkpoint_id"] <= last
        }


@final
class Trails:
    """Trails by thread and checkpoint namespace, the least recently used dropped first.

    Safe to use from many threads.

    Args:
        capacity: Estimated bytes to keep at most; a longer trail is not kept.
    """

    def __init__(self, capacity: int = TRAIL_BYTES) -> None:
        self._capacity = capacity
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, str], Trail] = OrderedDict()
        self.size = 0

    def of(self, thread_id: str, checkpoint_ns: str) -> Trail | None:
        """The trail last kept of a namespace."""
        key = (thread_id, checkpoint_ns)
        with self._lock:
            trail = self._kept.get(key)
            if trail is not None:
                self._kept.move_to_end(key)
            return trail

    def keep(self, thread_id: str, checkpoint_ns: str, trail: Trail) -> None:
        """Keep a trail in place of the one before."""
        key = (thread_id, checkpoint_ns)
        with self._lock:
            self._drop([key])
            self._kept[key] = trail
            self.size += trail.size
            while self.size > self._capacity:
                self._drop([next(iter(self._kept))])

    def drop_thread(self, thread_id: str) -> None:
        """Drop all of a thread: some of it is, or may be, no longer stored."""
        with self._lock:
            self._drop([key for key in self._kept if key[0] == thread_id])

    def _drop(self, keys: Iterable[tuple[str, str]]) -> None:
        for key in keys:
            trail = self._kept.pop(key, None)
            if trail is not None:
                self.size -= trail.size
