"""Performs writes inside a transaction that its caller began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from sqlite3 import Connection, IntegrityError
from typing import Any, final

from naas_abi_core.services.document.adapters.sql.layout import Layout
from naas_abi_sdk.document.encoding import Encoded, encode
from naas_abi_sdk.document.types import Delete, Keep, Outcome, Put, Require, Write
from naas_abi_sdk.document.validation import check_types, check_write
from naas_abi_sdk.errors import UniqueViolation, VersionConflict

__all__ = [
    "Prepared",
    "Row",
    "Writer",
    "prepare_write",
    "required",
    "row_of",
    "taken",
    "wrong_version",
]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A write that is known to be portable, its data encoded."""

    write: Write
    encoded: Encoded | None


@dataclass(frozen=True, slots=True)
class Row:
    """A prepared write and what it puts into the table it goes to.

    ``values`` are what a put changes besides version and times, in the order of the layout's.
    """

    write: Write
    layout: Layout
    values: tuple[Any, ...]


def prepare_write(write: Write) -> Prepared:
    """Check and encode a write, or raise ``InvalidArgument``."""
    check_write(write)
    return Prepared(write, encode(write.data) if isinstance(write, (Put, Keep)) else None)


def row_of(prepared: Prepared, layout: Layout) -> Row:
    """The row a write makes in ``layout``; ``InvalidArgument`` if a declared type forbids it."""
    write, encoded = prepared.write, prepared.encoded
    if encoded is None or not isinstance(write, (Put, Keep)):
        return Row(write, layout, ())
    check_types(layout.spec.fields, write.data)
    keys = layout.key_values(write.data)
    more = layout.dialect.more_values(write.id)
    values = (encoded.size, *keys, encoded.text, encoded.payload or None, *more)
    return Row(write, layout, values)


@final
class Writer:
    """Writes rows at one moment, in microseconds since 1970."""

    def __init__(self, connection: Connection, now: int) -> None:
        self._connection = connection
        self.now = now

    def perform(self, rows: Sequence[Row]) -> list[Outcome]:
        """Do all writes in order; conflicts are answers."""
        outcomes: list[Outcome] = []
        for number, row in enumerate(rows):
            try:
                outcomes.append(self._perform(row))
            except (VersionConflict, UniqueViolation) as conflict:
                outcomes.append(Outcome("conflict", reason=str(conflict)))
            if isinstance(row.write, Require) and outcomes[-1].state == "conflict":
                return outcomes + [Outcome("skipped")] * (len(rows) - number - 1)
        return outcomes

    def put(self, row: Row) -> tuple[int, int]:
        """Store a document; its version and creation time."""
        wanted = row.write.if_version if isinstance(row.write, Put) else 0
        if not wanted and self._create(row):
            return 1, self.now
        if wanted == 0:
            raise self._conflict(row)
        parameters = (self.now, *row.values, row.write.id)
        try:
            if wanted is None:
                cursor = self._connection.execute(row.layout.replace, parameters)
            else:
                cursor = self._connection.execute(row.layout.replace_version, (*parameters, wanted))
            replaced: tuple[int, int] | None = cursor.fetchone()
        except IntegrityError as error:
            raise taken(row) from error
        if replaced is None:
            raise self._conflict(row)
        return replaced

    def delete(self, row: Row) -> None:
        """Remove a document."""
        assert isinstance(row.write, Delete), "rows of other writes go elsewhere"
        wanted = row.write.if_version
        if wanted is None:
            self._connection.execute(row.layout.delete, (row.write.id,))
            return
        parameters = (row.write.id, wanted)
        if not self._connection.execute(row.layout.delete_version, parameters).rowcount:
            raise self._conflict(row)

    def _perform(self, row: Row) -> Outcome:
        if isinstance(row.write, Put):
            return Outcome("done", self.put(row)[0])
        if isinstance(row.write, Keep):
            return Outcome("done", self._keep(row))
        if isinstance(row.write, Delete):
            self.delete(row)
            return Outcome("done")
        return required(row, self._version(row))

    def _create(self, row: Row) -> bool:
        values = (row.write.id, self.now, self.now, *row.values)
        return self._connection.execute(row.layout.create, values).rowcount == 1

    def _keep(self, row: Row) -> int:
        if self._create(row):
            return 1
        parameters = (self.now, row.write.id)
        touched = self._connection.execute(row.layout.touch, parameters).fetchone()
        if touched is None:
            raise taken(row)
        return int(touched[0])

    def _version(self, row: Row) -> int | None:
        sql = row.layout.select("version", "WHERE id = ?")
        found = self._connection.execute(sql, (row.write.id,)).fetchone()
        return found and int(found[0])

    def _conflict(self, row: Row) -> VersionConflict | UniqueViolation:
        """Why nothing was written: the version is told before a taken value."""
        version = self._version(row)
        wanted = None if isinstance(row.write, Keep) else row.write.if_version
        if version is None and not wanted and isinstance(row.write, (Put, Keep)):
            return taken(row)
        return wrong_version(row, version)


def wrong_version(row: Row, version: int | None) -> VersionConflict:
    """The document is at ``version``, or absent, and not where it was wanted."""
    wanted = None if isinstance(row.write, Keep) else row.write.if_version
    found = "is absent" if version is None else f"is at version {version}"
    return VersionConflict(f"document {row.write.id!r} {found}, not at version {wanted}")


def required(row: Row, version: int | None) -> Outcome:
    """The answer to a ``Require`` of a document that is at ``version``, or absent."""
    assert isinstance(row.write, Require), "rows of other writes go elsewhere"
    if version is None:
        return Outcome("conflict", reason=f"document {row.write.id!r} is absent")
    if row.write.if_version not in (None, version):
        return Outcome("conflict", reason=str(wrong_version(row, version)))
    return Outcome("done")


def taken(row: Row) -> UniqueViolation:
    """Another document holds a unique value."""
    return UniqueViolation(
        f"collection {row.layout.spec.name!r} already holds unique values that document "
        f"{row.write.id!r} has"
    )
