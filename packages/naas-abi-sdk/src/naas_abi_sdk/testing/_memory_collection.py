"""One collection in memory: versions and unique constraints of its documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import final

from naas_abi_sdk.document.encoding import Encoded, decode
from naas_abi_sdk.document.matching import MISSING, equal_keys
from naas_abi_sdk.document.types import CollectionSpec, Data, Delete, Document, Put
from naas_abi_sdk.document.validation import check_types, merge_specs, unique_constraints
from naas_abi_sdk.errors import InvalidArgument, UniqueViolation, VersionConflict

__all__ = ["Collection", "Stored", "declared"]


@dataclass(frozen=True, slots=True)
class Stored:
    """A document apart from everyone else's objects: callers get copies decoded anew."""

    id: str
    encoded: Encoded
    #: Only to be looked at: what matching, ordering and uniqueness read.
    data: Data
    created_at: datetime
    updated_at: datetime
    version: int

    def document(self) -> Document:
        """A copy for a caller."""
        data = decode(self.encoded.text, self.encoded.payload)
        return Document(self.id, data, self.created_at, self.updated_at, self.version)


@final
@dataclass(slots=True)
class Collection:
    """The documents of one collection and who holds which unique values."""

    spec: CollectionSpec
    documents: dict[str, Stored] = field(default_factory=dict)
    #: For every unique constraint: the keys of its values -> the id that holds them.
    _taken: dict[tuple[str, ...], dict[tuple[bytes, ...], str]] = field(init=False)

    def __post_init__(self) -> None:
        self._taken = {group: {} for group in unique_constraints(self.spec)}

    def put(self, write: Put, encoded: Encoded, now: datetime) -> Stored:
        """Store a document, or raise ``VersionConflict`` or ``UniqueViolation``."""
        stored = self.documents.get(write.id)
        if write.if_version not in (None, stored.version if stored else 0):
            raise _conflict(write, stored)
        fresh = Stored(
            id=write.id,
            encoded=encoded,
            data=decode(encoded.text, encoded.payload),
            created_at=stored.created_at if stored else now,
            updated_at=now,
            version=stored.version + 1 if stored else 1,
        )
        self.place(fresh)
        return fresh

    def touch(self, id_: str, now: datetime) -> Stored:
        """Count a stored document's version up."""
        stored = self.documents[id_]
        touched = replace(stored, version=stored.version + 1, updated_at=now)
        self.documents[id_] = touched
        return touched

    def delete(self, write: Delete) -> None:
        """Remove a document, or raise ``VersionConflict``."""
        stored = self.documents.get(write.id)
        if write.if_version is not None and (stored is None or stored.version != write.if_version):
            raise _conflict(write, stored)
        self._remove(write.id)

    def place(self, stored: Stored) -> None:
        """Put ``stored`` in its id's place, or raise ``UniqueViolation``."""
        keys = list(self._keys(stored.data))
        for group, key in keys:
            if self._taken[group].get(key, stored.id) != stored.id:
                message = (
                    f"collection {self.spec.name!r} already holds the values of "
                    f"{', '.join(group)} that document {stored.id!r} has"
                )
                raise UniqueViolation(message)
        self._remove(stored.id)
        self.documents[stored.id] = stored
        for group, key in keys:
            self._taken[group][key] = stored.id

    def _remove(self, id_: str) -> None:
        stored = self.documents.pop(id_, None)
        if stored is not None:
            for group, key in self._keys(stored.data):
                del self._taken[group][key]

    def _keys(self, data: Data) -> Iterator[tuple[tuple[str, ...], tuple[bytes, ...]]]:
        for group in self._taken:
            keys = equal_keys([data.get(name, MISSING) for name in group])
            if keys is not None:
                yield group, keys


def declared(stored: Collection | None, spec: CollectionSpec) -> Collection:
    """``stored`` with ``spec`` merged into its declaration; ``stored`` itself is left alone.

    Raises:
        InvalidArgument: a field has another type already, or a stored document does not fit.
        UniqueViolation: stored documents break a new unique constraint.
    """
    fresh = Collection(merge_specs(stored.spec if stored else None, spec))
    for document in stored.documents.values() if stored else ():
        try:
            check_types(fresh.spec.fields, document.data)
        except InvalidArgument as error:
            message = f"document {document.id!r} does not fit collection {spec.name!r}: {error}"
            raise InvalidArgument(message) from error
        fresh.place(document)
    return fresh


def _conflict(write: Put | Delete, stored: Stored | None) -> VersionConflict:
    found = f"is at version {stored.version}" if stored else "is absent"
    return VersionConflict(f"document {write.id!r} {found}, not at version {write.if_version}")
