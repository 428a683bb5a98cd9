"""Values to documents: how a channel value is cut, addressed and stored.

A value is kept inline in the checkpoint document up to ``INLINE_LIMIT`` bytes, else as a blob. A
list whose elements take more than that together becomes a blob that lists chunks of
``CHUNK_SIZE`` elements, each element a document of its own: appending one writes the element, the
last chunk, a small blob, and the checkpoint. Full chunks are gathered into larger ones, so that the
blob stays small however long the list. A delta channel's snapshot of a list is cut the same
way, so that it shares its elements and chunks with the snapshot before. Payloads above
``PART_SIZE`` are split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

from naas_abi_sdk.document.types import Data, Keep
from naas_abi_sdk.errors import NotFaithful, ValueNotStorable
from naas_abi_sdk.langgraph_documents._langgraph import is_snapshot
from naas_abi_sdk.langgraph_documents.addresses import (
    document_id,
    element_ref,
    list_ref,
    part_refs,
    snapshot_ref,
    value_ref,
)
from naas_abi_sdk.langgraph_documents.faithful import FaithfulSerializer, writes_as
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.recall import KnownCheckpoint, KnownValue
from naas_abi_sdk.langgraph_documents.recognising import (
    ListedChunk,
    Listing,
    fingerprint,
    is_plain,
    likeness,
    listed_chunk,
)
from naas_abi_sdk.langgraph_documents.redaction import redact_secrets
from naas_abi_sdk.langgraph_documents.schema import (
    CHUNK_SIZE,
    GATHERED_SIZES,
    INLINE_LIMIT,
    PART_SIZE,
    SCHEMA_VERSION,
    VALUE_COLLECTIONS,
)

__all__ = ["Encoder", "Typed"]

#: A serialized value: its kind in LangGraph's serializer, and its bytes.
Typed = tuple[str, bytes]

#: What a new chunk lists, the references and values of what is not known to be stored of it, and
#: all that the rest references.
_Elements = tuple[list[Listing], list[tuple[str, Typed]], frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A chunk of a list being encoded.

    Attributes:
        listed: What it lists.
        fresh: References and serialized values of the elements not known to be stored.
        piece: All it references if it is stored as it is.
        base: What its other elements reference; all of it is stored.
    """

    listed: ListedChunk
    fresh: Sequence[tuple[str, Typed]]
    piece: frozenset[str] | None
    base: frozenset[str] = frozenset()


@final
class Encoder:
    """Encodes the values of one ``put`` or ``put_writes`` and collects their documents.

    Args:
        memory: Scope, serializer, and the chunks that need not be serialized again.
        thread_id: Thread of the documents; equal values of two threads are two documents.
        known: Checkpoints whose values are stored: their documents are not collected again.
    """

    def __init__(
        self, memory: Memory, thread_id: str, known: Sequence[KnownCheckpoint] = ()
    ) -> None:
        self._memory = memory
        self._thread_id = thread_id
        self._known = known
        self._writes_as = writes_as(memory.serde)
        self._stages: dict[str, dict[str, Keep]] = {letter: {} for letter in "pecb"}
        self.relied_on: set[KnownCheckpoint] = set()

    @property
    def stages(self) -> tuple[tuple[Keep, ...], ...]:
        """The collected documents: parts, elements, chunks, blobs; each references earlier ones."""
        return tuple(tuple(stage.values()) for stage in self._stages.values())

    def typed(self, value: Any, place: str, *, plain: bool = False) -> Typed:
        """Serialize a value without its secrets; ``place`` names it if that fails.

        A value that is ``plain`` is known to hold none.
        """
        try:
            kind, payload = self._dumped(value, plain=plain or is_plain(value))
        except Exception as error:
            at = error if isinstance(error, NotFaithful) else NotFaithful("", value, str(error))
            message = (
                f"{place}{at.path} of thread {self._thread_id!r} is a {_type_name(at.value)} that "
                f"cannot be stored: {at}. Nothing was stored. Keep in state what comes back as it "
                "is (docs/explanation/values.md lists it), or give the saver a serde that can."
            )
            raise ValueNotStorable(message) from error
        if kind.partition("+")[0] == "pickle":
            message = (
                f"{place} of thread {self._thread_id!r} would be a pickle, which is never read: "
                "whoever can write to the store could run anything. Nothing was stored. Turn "
                "pickle_fallback off and keep in state what can be stored."
            )
            raise ValueNotStorable(message)
        # A serializer may hand on the bytearray it was given; what is stored is bytes.
        return kind, bytes(payload)

    def _dumped(self, value: Any, *, plain: bool) -> Typed:
        serde = self._memory.serde
        if plain and isinstance(serde, FaithfulSerializer):
            return serde.dumps_plain(value)
        return serde.dumps_typed(value if plain else redact_secrets(value))

    def stored(self, typed: Typed) -> tuple[Data, frozenset[str]]:
        """The stored form of a serialized value, and the parts it references."""
        kind, payload = typed
        if len(payload) <= PART_SIZE:
            return {"kind": kind, "payload": payload}, frozenset()
        starts = range(0, len(payload), PART_SIZE)
        refs = part_refs(payload, len(starts))
        for ref, start in zip(refs, starts, strict=True):
            self._keep(ref, {"payload": payload[start : start + PART_SIZE]})
        return {"kind": kind, "size": len(payload), "parts": refs}, frozenset(refs)

    def channel(
        self, name: str, value: Any, version: Any, before: KnownValue | None = None
    ) -> KnownValue:
        """The entry of a channel in its checkpoint document, and what it references.

        ``before`` is what an ancestor has for the channel: a list mostly goes on from there.
        """
        place = f"channel {name!r}"
        snapshot = is_snapshot(value)
        items = value.value if snapshot else value
        if type(items) is list:
            length = before.length if before else 0
            chunks = [
                self._chunk(items[start:end], place, start, length - start)
                for start, end in _cuts(len(items))
            ]
            if sum(chunk.listed.size for chunk in chunks) > INLINE_LIMIT:
                return self._list(chunks, len(items), version, snapshot=snapshot)
        typed = self.typed(value, place)
        if len(typed[1]) <= INLINE_LIMIT:
            return KnownValue(version, {"value": self.stored(typed)[0]}, {})
        ref = value_ref(*typed)
        stored, parts = self.stored(typed)
        self._keep(ref, {"value": stored})
        return KnownValue(version, {"blob": ref}, {ref: parts | {ref}})

    def reuse(self, known: KnownCheckpoint, name: str) -> KnownValue:
        """The entry ``known`` has for a channel, without serializing its value again."""
        value = known.channels[name]
        if value.pieces:
            self.relied_on.add(known)
        return value

    def _list(
        self, chunks: Sequence[_Chunk], length: int, version: Any, *, snapshot: bool
    ) -> KnownValue:
        pieces = dict(map(self._keep_chunk, chunks))
        refs = [chunk.listed.ref for chunk in chunks]
        head = snapshot_ref(refs) if snapshot else list_ref(refs)
        marker: Data = {"snapshot": True} if snapshot else {}
        self._keep(head, {"chunks": refs, "length": length, **marker})
        pieces[head] = frozenset((head,))
        return KnownValue(version, {"blob": head}, pieces, length)

    def _chunk(self, values: list[Any], place: str, start: int, had: int) -> _Chunk:
        """The chunk of ``values``, which begin at ``start``; the parent had the first ``had``."""
        content = likeness(values)
        if content is not None and (listed := self._recognised(content)) is not None:
            piece = self._known_piece(listed.ref)
            if piece is not None:
                return _Chunk(listed, (), piece)
        make = self._gathered if len(values) > CHUNK_SIZE else self._serialized
        elements, fresh, base = make(values, place, start, had)
        listed = listed_chunk(elements)
        if self._writes_as is not None and (content := fingerprint(values)) is not None:
            self._memory.recogniser.learn(self._writes_as, content, listed)
        return _Chunk(listed, fresh, self._known_piece(listed.ref), base)

    def _gathered(self, values: list[Any], place: str, start: int, had: int) -> _Elements:
        size = next(size for size in (*GATHERED_SIZES, CHUNK_SIZE) if size < len(values))
        chunks = [
            self._chunk(values[at : at + size], place, start + at, had - at)
            for at in range(0, len(values), size)
        ]
        stored = (chunk.base if chunk.piece is None else chunk.piece for chunk in chunks)
        return (
            [element for chunk in chunks for element in chunk.listed.elements],
            [fresh for chunk in chunks if chunk.piece is None for fresh in chunk.fresh],
            frozenset().union(*stored) - {chunk.listed.ref for chunk in chunks},
        )

    def _serialized(self, values: list[Any], place: str, start: int, had: int) -> _Elements:
        elements, base = self._grown_from(values[: max(0, had)] if had < len(values) else [])
        plain = fingerprint(values[len(elements) :]) is not None
        typed = [
            self.typed(value, f"{place}[{at}]", plain=plain)
            for at, value in enumerate(values[len(elements) :], start + len(elements))
        ]
        more = list(map(_listing, typed))
        fresh = [(ref, value) for (ref, _), value in zip(more, typed, strict=True)]
        return [*elements, *more], fresh, base

    def _grown_from(self, values: list[Any]) -> tuple[Sequence[Listing], frozenset[str]]:
        """The elements of the stored chunk that ``values`` are, and what it references."""
        content = likeness(values) if values else None
        listed = None if content is None else self._recognised(content)
        piece = listed and self._known_piece(listed.ref)
        return (listed.elements, piece - {listed.ref}) if listed and piece else ((), frozenset())

    def _recognised(self, content: bytes) -> ListedChunk | None:
        if self._writes_as is None:
            return None
        return self._memory.recogniser.find(self._writes_as, content)

    def _known_piece(self, head: str) -> frozenset[str] | None:
        for known in self._known:
            if (piece := known.piece(head)) is not None:
                self.relied_on.add(known)
                return piece
        return None

    def _keep_chunk(self, chunk: _Chunk) -> tuple[str, frozenset[str]]:
        ref = chunk.listed.ref
        if chunk.piece is not None:
            return ref, chunk.piece
        refs = {ref, *chunk.base}
        for element, typed in chunk.fresh:
            stored, parts = self.stored(typed)
            self._keep(element, {"value": stored})
            refs.add(element)
            refs |= parts
        self._keep(ref, {"elements": chunk.listed.elements})
        return ref, frozenset(refs)

    def _keep(self, ref: str, body: Data) -> None:
        for known in self._known:
            if known.holds(ref):
                self.relied_on.add(known)
                return
        stage = self._stages[ref[0]]
        if ref not in stage:
            agent_id, thread_id = self._memory.agent_id, self._thread_id
            data = {
                "agent_id": agent_id,
                "thread_id": thread_id,
                "ref": ref,
                "_schema": SCHEMA_VERSION,
            }
            stage[ref] = Keep(
                VALUE_COLLECTIONS[ref[0]],
                document_id(agent_id, thread_id, ref),
                data | body,
            )


def _cuts(length: int) -> Iterator[tuple[int, int]]:
    """Where a list is cut: as many of the largest chunks as are full, then smaller ones."""
    start = 0
    for size in (*GATHERED_SIZES, CHUNK_SIZE):
        while length - start >= size:
            yield start, start + size
            start += size
    if start < length:
        yield start, length


def _listing(typed: Typed) -> Listing:
    return [element_ref(*typed), len(typed[1])]


def _type_name(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
