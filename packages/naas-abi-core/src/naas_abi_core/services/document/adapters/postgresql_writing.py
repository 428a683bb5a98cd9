"""Performs writes: in one statement if they are a batch, else one after the other.

One after the other is also how the exact reason of a refusal is found. See :mod:`.postgresql` for
what makes either right beside other writers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import psycopg

from naas_abi_core.services.document.adapters.postgresql_batches import (
    Batch,
    Kind,
    Stored,
    as_batch,
    id_of,
    single,
)
from naas_abi_core.services.document.adapters.postgresql_sessions import Session
from naas_abi_core.services.document.adapters.sql.layout import Layout
from naas_abi_core.services.document.adapters.sql.writing import Row, required, taken, wrong_version
from naas_abi_sdk.document.types import Delete, Keep, Outcome, Put, Require
from naas_abi_sdk.errors import UniqueViolation, VersionConflict

__all__ = ["delete", "put", "write"]

#: Times a creation starts over because what refused it was gone when it looked; each time another
#: writer has committed twice in between.
_ATTEMPTS: Final = 5


def write(session: Session, rows: Sequence[Row], now: int) -> list[Outcome]:
    """Do writes in order, at a moment in microseconds since 1970, in a transaction."""
    batch = as_batch(rows)
    stored = None if batch is None else _at_once(session, batch, now)
    if batch is not None and stored is not None:
        return batch.outcomes(stored)
    with session.transaction():
        return _Writer(session, now).perform(rows)


def put(session: Session, row: Row, now: int) -> Stored:
    """Store a document, or raise ``VersionConflict`` or ``UniqueViolation``."""
    batch = as_batch([row])
    stored = None if batch is None else _at_once(session, batch, now)
    if stored is not None and stored[0] is not None:
        return stored[0]
    with session.transaction():
        return _Writer(session, now).put(row)


def delete(session: Session, row: Row) -> None:
    """Remove a document, or raise ``VersionConflict``."""
    batch = single("delete", row)
    done = batch.stored(session.single(batch.sql, batch.parameters(0)))[0] is not None
    if not done and isinstance(row.write, Delete) and row.write.if_version is not None:
        with session.transaction():
            _Writer(session, 0).delete(row)


def _at_once(session: Session, batch: Batch, now: int) -> list[Stored | None] | None:
    """What the batch stored; None if a taken value undid it."""
    try:
        stored = batch.stored(session.single(batch.sql, batch.parameters(now)))
    except psycopg.errors.UniqueViolation:
        return None
    if not session.is_repeat:
        return stored
    return [
        done or (_own(session, row, now) if _creates(row) else None)
        for row, done in zip(batch.rows, stored, strict=True)
    ]


def _creates(row: Row) -> bool:
    return isinstance(row.write, Put) and row.write.if_version == 0


def _own(session: Session, row: Row, now: int) -> Stored | None:
    """What is stored, if it is what this call stored before its connection was lost."""
    columns = ", ".join(("version", "created_at", "updated_at", *row.layout.values))
    found = session.execute(row.layout.select(columns, "WHERE id = ?"), (id_of(row),)).fetchone()
    return Stored(1, now) if found == (1, now, now, *row.values) else None


@final
class _Writer:
    """Writes rows at one moment, in microseconds since 1970."""

    def __init__(self, session: Session, now: int) -> None:
        self._session = session
        self._now = now

    def perform(self, rows: Sequence[Row]) -> list[Outcome]:
        """Do all writes in order; conflicts are answers."""
        self._lock(rows)
        outcomes: list[Outcome] = []
        for number, row in enumerate(rows):
            try:
                outcomes.append(self._perform(row))
            except (VersionConflict, UniqueViolation) as conflict:
                outcomes.append(Outcome("conflict", reason=str(conflict)))
            if isinstance(row.write, Require) and outcomes[-1].state == "conflict":
                return outcomes + [Outcome("skipped")] * (len(rows) - number - 1)
        return outcomes

    def put(self, row: Row) -> Stored:
        """Store a document."""
        wanted = row.write.if_version if isinstance(row.write, Put) else None
        if wanted == 0:
            return self._create(row)
        if wanted is None:
            return self._upsert(row)
        return self._replace(row, wanted)

    def delete(self, row: Row) -> None:
        """Remove a document."""
        assert isinstance(row.write, Delete), "rows of other writes go elsewhere"
        wanted, id_ = row.write.if_version, id_of(row)
        if wanted is None:
            self._session.execute(row.layout.delete, (id_,))
        elif not self._session.execute(row.layout.delete_version, (id_, wanted)).rowcount:
            raise wrong_version(row, self._version(row))

    def _lock(self, rows: Sequence[Row]) -> None:
        """Lock what is there, in one order for all, so that writers wait in no circle."""
        wanted: dict[str, tuple[Layout, set[bytes]]] = {}
        for row in rows:
            _, ids = wanted.setdefault(row.layout.table, (row.layout, set()))
            ids.add(id_of(row))
        for _, (layout, ids) in sorted(wanted.items()):
            sql = layout.select("version", "WHERE id = ANY(?) ORDER BY id FOR UPDATE")
            self._session.execute(sql, (sorted(ids),))

    def _perform(self, row: Row) -> Outcome:
        if isinstance(row.write, (Put, Keep)):
            return Outcome("done", self.put(row).version)
        if isinstance(row.write, Delete):
            self.delete(row)
            return Outcome("done")
        sql = row.layout.select("version", "WHERE id = ? FOR SHARE")
        found = self._session.execute(sql, (id_of(row),)).fetchone()
        return required(row, None if found is None else int(found[0]))

    def _create(self, row: Row) -> Stored:
        for _ in range(_ATTEMPTS):
            if (stored := self._store(row, "create")) is not None:
                return stored
            if (version := self._version(row)) is not None:
                raise wrong_version(row, version)
        raise taken(row)

    def _upsert(self, row: Row) -> Stored:
        """Store a document that may be there.

        A unique value may be taken; but the error may also mean that the very document came into
        being in between, and then there is something to replace.
        """
        was_there = self._version(row) is not None
        while True:
            try:
                with self._session.savepoint():
                    stored = self._store(row, "keep" if isinstance(row.write, Keep) else "replace")
            except psycopg.errors.UniqueViolation as error:
                if was_there or self._version(row) is None:
                    raise taken(row) from error
                was_there = True
                continue
            assert stored is not None, "an upsert returns its row"
            return stored

    def _store(self, row: Row, kind: Kind) -> Stored | None:
        batch = single(kind, row)
        found = self._session.execute(batch.sql, batch.parameters(self._now))
        return batch.stored(found)[0]

    def _replace(self, row: Row, wanted: int) -> Stored:
        parameters = (self._now, *row.values, id_of(row), wanted)
        try:
            with self._session.savepoint():
                found = self._session.execute(row.layout.replace_version, parameters).fetchone()
        except psycopg.errors.UniqueViolation as error:
            raise taken(row) from error
        if found is None:
            raise wrong_version(row, self._version(row))
        return Stored(*found)

    def _version(self, row: Row) -> int | None:
        sql = row.layout.select("version", "WHERE id = ?")
        found = self._session.execute(sql, (id_of(row),)).fetchone()
        return None if found is None else int(found[0])
