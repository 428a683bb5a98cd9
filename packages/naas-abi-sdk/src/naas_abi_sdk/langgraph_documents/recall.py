"""What a process knows to be stored, checkpoint by checkpoint.

A step that goes on from a checkpoint this process stored or loaded need not send again what that
checkpoint references. :class:`Recall` remembers, for each checkpoint, **exactly** what that one
references (never what its ancestors did): so a writer has to make sure of that one checkpoint
only, and everything it skips is there.

Memory is bounded: the least recently used checkpoints are forgotten first, and forgetting costs
no more than writing some values once more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, final

from naas_abi_sdk.document.types import Data
from naas_abi_sdk.langgraph_documents.schema import RECALL_CAPACITY

__all__ = ["CheckpointKey", "KnownCheckpoint", "KnownValue", "Recall"]

#: ``(thread_id, checkpoint_ns, checkpoint_id)``
CheckpointKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A channel's entry in a stored checkpoint and every reference below it.

    ``pieces`` maps a blob or chunk to it and all it references. Checkpoints share the pieces
    they have in common, so an unchanged chunk costs nothing to remember again. ``length`` is the
    number of elements of a list that is stored in chunks, else 0.
    """

    version: Any
    entry: Data
    pieces: Mapping[str, frozenset[str]]
    length: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class KnownCheckpoint:
    """A stored checkpoint: its place in the thread's order, its parent and channel values."""

    key: CheckpointKey
    order: str
    channels: Mapping[str, KnownValue]
    other: frozenset[str] = frozenset()
    parent_id: str | None = field(kw_only=True)
    size: int = field(init=False)

    def __post_init__(self) -> None:
        size = 1 + sum(len(piece) for piece in self._pieces())
        object.__setattr__(self, "size", size)

    def _pieces(self) -> Iterable[frozenset[str]]:
        for value in self.channels.values():
            yield from value.pieces.values()
        yield self.other

    def holds(self, ref: str) -> bool:
        """Whether this checkpoint references ``ref``."""
        return any(ref in piece for piece in self._pieces())

    def piece(self, head: str) -> frozenset[str] | None:
        """The piece that starts with ``head``, if this checkpoint references it."""
        for value in self.channels.values():
            if (found := value.pieces.get(head)) is not None:
                return found
        return None


@final
class Recall:
    """The checkpoints a saver knows to be stored; safe to use from many threads.

    Args:
        capacity: References to remember at most, over all checkpoints.
    """

    def __init__(self, capacity: int = RECALL_CAPACITY) -> None:
        self._capacity = capacity
        self._lock = Lock()
        self._known: OrderedDict[CheckpointKey, KnownCheckpoint] = OrderedDict()
        self._size = 0

    def of(self, key: CheckpointKey) -> KnownCheckpoint | None:
        """What is known of a checkpoint."""
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
            return known

    def nearest(self, key: CheckpointKey, channel: str) -> KnownCheckpoint | None:
        """The first of a checkpoint and its ancestors that has a value for ``channel``.

        None as well where one on the way is not known.
        """
        thread_id, checkpoint_ns, checkpoint_id = key
        with self._lock:
            for _ in range(len(self._known)):  # parents may go in a circle
                known = self._known.get((thread_id, checkpoint_ns, checkpoint_id))
                if known is None or channel in known.channels:
                    return known
                if known.parent_id is None:
                    return None
                checkpoint_id = known.parent_id
        return None

    def learn(self, known: KnownCheckpoint) -> None:
        """Remember a checkpoint that was just stored or read."""
        with self._lock:
            self._drop(known.key)
            self._known[known.key] = known
            self._size += known.size
            while self._size > self._capacity and len(self._known) > 1:
                self._drop(next(iter(self._known)))

    def forget(self, keys: Iterable[CheckpointKey]) -> None:
        """Forget checkpoints that are, or may be, no longer stored."""
        with self._lock:
            for key in keys:
                self._drop(key)

    def forget_thread(self, thread_id: str) -> None:
        """Forget every checkpoint of a thread."""
        with self._lock:
            for key in [key for key in self._known if key[0] == thread_id]:
                self._drop(key)

    def __len__(self) -> int:
        """References remembered."""
        with self._lock:
            return self._size

    def _drop(self, key: CheckpointKey) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._size -= known.size
