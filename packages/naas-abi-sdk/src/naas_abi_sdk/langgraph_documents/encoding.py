"""Values to documents: how a channel value is cut, addressed and stored.

A value is kept inline in the checkpoint document up to ``INLINE_LIMIT`` bytes, else as a blob. A
list whose elements take more than that together becomes a blob that lists chunks of
``CHUNK_SIZE`` elements, each element a document of its own: appending one writes the element, the
last chunk, a small blob, and the checkpoint. Payloads above ``PART_SIZE`` are split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

from naas_abi_sdk.document.types import Data, Keep
from naas_abi_sdk.errors import ValueNotStorable
from naas_abi_sdk.langgraph_documents._langgraph import SerializerProtocol
from naas_abi_sdk.langgraph_documents.addresses import (
    chunk_ref,
    document_id,
    element_ref,
    list_ref,
    part_refs,
    value_ref,
)
from naas_abi_sdk.langgraph_documents.recall import KnownCheckpoint, KnownValue
from naas_abi_sdk.langgraph_documents.redaction import redact_secrets
from naas_abi_sdk.langgraph_documents.schema import (
    CHUNK_SIZE,
    INLINE_LIMIT,
    PART_SIZE,
    SCHEMA_VERSION,
    VALUE_COLLECTIONS,
)

__all__ = ["Encoder", "Typed"]

#: A serialized value: its kind in LangGraph's serializer, and its bytes.
Typed = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class _Scope:
    agent_id: str
    thread_id: str


@final
class Encoder:
    """Encodes the values of one ``put`` or ``put_writes`` and collects their documents.

    Args:
        agent_id: Scope of the documents.
        thread_id: Thread of the documents; equal values of two threads are two documents.
        serde: LangGraph's serializer.
        known: Checkpoints whose values are stored: their documents are not collected again.
    """

    def __init__(
        self,
        agent_id: str,
        thread_id: str,
        serde: SerializerProtocol,
        known: Sequence[KnownCheckpoint] = (),
    ) -> None:
        self._scope = _Scope(agent_id, thread_id)
        self._serde = serde
        self._known = known
        self._stages: dict[str, dict[str, Keep]] = {letter: {} for letter in "pecb"}
        self.relied_on: set[KnownCheckpoint] = set()

    @property
    def stages(self) -> tuple[tuple[Keep, ...], ...]:
        """The collected documents: parts, elements, chunks, blobs; each references earlier ones."""
        return tuple(tuple(stage.values()) for stage in self._stages.values())

    def typed(self, value: Any, place: str) -> Typed:
        """Serialize a value without its secrets; ``place`` names it if that fails."""
        try:
            return self._serde.dumps_typed(redact_secrets(value))
        except Exception as error:
            message = (
                f"{place} of thread {self._scope.thread_id!r} holds a {_type_name(value)} that "
                f"cannot be serialized: {error}. Nothing was stored. Keep in state what "
                "LangGraph's serializer can write, or give the saver a serde that can."
            )
            raise ValueNotStorable(message) from error

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

    def channel(self, name: str, value: Any, version: Any) -> KnownValue:
        """The entry of a channel in its checkpoint document, and what it references."""
        place = f"channel {name!r}"
        if type(value) is list:
            elements = [self.typed(item, f"{place}[{at}]") for at, item in enumerate(value)]
            if sum(len(payload) for _, payload in elements) > INLINE_LIMIT:
                return self._list(elements, version)
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

    def _list(self, elements: Sequence[Typed], version: Any) -> KnownValue:
        pieces: dict[str, frozenset[str]] = {}
        chunks: list[str] = []
        for chunk in _chunks(elements):
            ref, piece = self._chunk(chunk)
            chunks.append(ref)
            pieces[ref] = piece
        head = list_ref(chunks)
        self._keep(head, {"chunks": chunks, "length": len(elements)})
        pieces[head] = frozenset((head,))
        return KnownValue(version, {"blob": head}, pieces)

    def _chunk(self, elements: Sequence[Typed]) -> tuple[str, frozenset[str]]:
        listed: list[list[object]] = [[element_ref(*typed), len(typed[1])] for typed in elements]
        ref = chunk_ref(listed)
        for known in self._known:
            if (piece := known.piece(ref)) is not None:
                self.relied_on.add(known)
                return ref, piece
        refs = {ref}
        for (element, _), typed in zip(listed, elements, strict=True):
            stored, parts = self.stored(typed)
            self._keep(str(element), {"value": stored})
            refs.add(str(element))
            refs |= parts
        self._keep(ref, {"elements": listed})
        return ref, frozenset(refs)

    def _keep(self, ref: str, body: Data) -> None:
        for known in self._known:
            if known.holds(ref):
                self.relied_on.add(known)
                return
        stage = self._stages[ref[0]]
        if ref not in stage:
            agent_id, thread_id = self._scope.agent_id, self._scope.thread_id
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


def _chunks(elements: Sequence[Typed]) -> Iterator[Sequence[Typed]]:
    for start in range(0, len(elements), CHUNK_SIZE):
        yield elements[start : start + CHUNK_SIZE]


def _type_name(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
