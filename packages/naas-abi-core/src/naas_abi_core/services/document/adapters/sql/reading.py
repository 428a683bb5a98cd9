"""Reads the documents a plan finds, and of each no more than the query asks for.

A damaged document is a ValueError here; the adapter knows which file to name.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from itertools import islice
from sqlite3 import Connection
from typing import Any, Final, final

from naas_abi_core.services.document.adapters.sql.finding import Plan, Segment
from naas_abi_core.services.document.adapters.sql.layout import Layout
from naas_abi_core.services.document.adapters.sql.predicates import placeholders
from naas_abi_sdk.document.encoding import decode, decode_fields, holds_bytes
from naas_abi_sdk.document.matching import (
    MISSING,
    NULL,
    STRING,
    SortParts,
    compile_predicates,
    sort_parts,
)
from naas_abi_sdk.document.paging import Entry, Query, project, select
from naas_abi_sdk.document.types import Data, Document

__all__ = ["Reader", "instant", "microseconds", "read_one"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND: Final = timedelta(microseconds=1)
#: Documents fetched at once by row number, and the bytes of them at which no more are added.
_FETCH_ROWS: Final = 64
_FETCH_BYTES: Final = 512 * 1024


def instant(microseconds: int) -> datetime:
    """The time that is stored as microseconds since 1970."""
    return _EPOCH + microseconds * _MICROSECOND


def microseconds(moment: datetime) -> int:
    """An aware time as it is stored."""
    return (moment - _EPOCH) // _MICROSECOND


def read_one(connection: Connection, layout: Layout, id_: str) -> Document | None:
    """The document called ``id_``, or None."""
    sql = layout.select("version, created_at, updated_at, data, payload", "WHERE id = ?")
    row = connection.execute(sql, (id_,)).fetchone()
    if row is None:
        return None
    version, created_at, updated_at, text, payload = row
    data = decode(text, payload or b"")
    return Document(id_, data, instant(created_at), instant(updated_at), version)


@final
class Reader:
    """Answers one query over one connection, in whatever transaction that is in."""

    def __init__(self, connection: Connection, layout: Layout, query: Query, plan: Plan) -> None:
        self._connection = connection
        self._layout = layout
        self._query = query
        self._plan = plan
        rest = plan.conditions.rest
        self._meets = compile_predicates(rest) if rest else None
        self._tested = frozenset(predicate.field for predicate in rest)
        self._order_field = query.order_by.field if query.order_by else None
        self._whole = query.fields is None
        # Rows that a test may still refuse are not worth their payload.
        self._with_payload = self._whole and not rest
        self._order_from_key = (
            not self._whole
            and self._order_field is not None
            and layout.scalars.get(self._order_field) == "string"
        )
        self._with_text = (
            self._whole
            or bool(query.fields)
            or bool(rest)
            or (self._order_field is not None and not self._order_from_key)
        )

    def entries(self) -> Generator[Entry, None, None]:
        """The documents in order, each read when it is asked for."""
        for row in self._rows():
            entry = self._entry(row)
            if entry is not None:
                yield entry

    def count(self) -> int:
        """How many documents there are, of whatever page."""
        where, parameters = self._plan.where, self._plan.conditions.parameters
        if self._meets is None:
            sql = self._layout.select("count(*)", where)
            return int(self._connection.execute(sql, parameters).fetchone()[0])
        sql = self._layout.select("rowid, data", where)
        with closing(self._connection.execute(sql, parameters)) as rows:
            return sum(self._is_met(rowid, text) for rowid, text in rows)

    def _rows(self) -> Iterator[Sequence[Any]]:
        if self._plan.segments is None:
            yield from self._fetch("id", ((id_, 0) for id_ in self._ordered_ids()))
            return
        for segment in self._plan.segments:
            yield from self._direct(segment) if segment.direct else self._sorted(segment)

    def _direct(self, segment: Segment) -> Iterator[Sequence[Any]]:
        sql = self._layout.select(f"rowid, {self._columns}", segment.tail)
        with closing(self._connection.execute(sql, segment.parameters)) as rows:
            yield from rows

    def _sorted(self, segment: Segment) -> Iterator[Sequence[Any]]:
        sql = self._layout.select("rowid, size", segment.tail)
        with closing(self._connection.execute(sql, segment.parameters)) as rows:
            yield from self._fetch("rowid", rows)

    def _ordered_ids(self) -> list[str]:
        """Ids in an order that no index gives; all documents are looked at, few are kept."""
        names = {predicate.field for predicate in self._query.where}
        if self._order_field is not None:
            names.add(self._order_field)
        sql = self._layout.select("rowid, id, data", self._plan.where)
        with closing(self._connection.execute(sql, self._plan.conditions.parameters)) as rows:
            return select(
                ((id_, self._some(rowid, text, names)) for rowid, id_, text in rows), self._query
            )

    def _fetch(self, column: str, found: Iterable[tuple[Any, int]]) -> Iterator[Sequence[Any]]:
        """Rows by ``column``, in the order of ``found``, which pairs its values with sizes."""
        found = iter(found)
        while batch := list(_batch(found)):
            places, padded = placeholders(batch)
            sql = self._layout.select(
                f"{column}, rowid, {self._columns}", f"WHERE {column} IN ({places})"
            )
            rows = {row[0]: row[1:] for row in self._connection.execute(sql, padded)}
            for value in batch:
                yield rows[value]

    @property
    def _columns(self) -> str:
        columns = "id, version, created_at, updated_at, size"
        if self._with_text:
            columns += ", data"
        if self._with_payload:
            columns += ", payload"
        if self._order_from_key and self._order_field is not None:
            columns += f", {self._layout.columns[self._order_field]}"
        return columns

    def _entry(self, row: Sequence[Any]) -> Entry | None:
        rowid, id_, version, created_at, updated_at, size = row[:6]
        text = row[6] if self._with_text else "{}"
        if self._meets is not None and not self._is_met(rowid, text):
            return None
        if self._whole:
            payload = row[7] if self._with_payload else self._payload_of(rowid, text)
            data = decode(text, payload or b"")
        else:
            data, size = project(self._some(rowid, text, self._query.fields or ()), self._query)
        document = Document(id_, data, instant(created_at), instant(updated_at), version)
        return Entry(document, size, self._parts(row, text, data))

    def _parts(self, row: Sequence[Any], text: str, data: Data) -> SortParts | None:
        if self._order_field is None:
            return None
        if self._whole:
            return self._query.parts_of(data)
        if self._order_from_key:
            key = row[-1]
            if key is None:
                return SortParts(NULL, 0, "")
            return SortParts(STRING, 0, key[1:].decode())
        some = self._some(row[0], text, (self._order_field,))
        return sort_parts(some.get(self._order_field, MISSING))

    def _is_met(self, rowid: int, text: str) -> bool:
        assert self._meets is not None, "called where there is something to test"
        return self._meets(self._some(rowid, text, self._tested))

    def _some(self, rowid: int, text: str, names: Iterable[str]) -> Data:
        return decode_fields(text, names, lambda: self._read_payload(rowid))

    def _payload_of(self, rowid: int, text: str) -> bytes:
        return self._read_payload(rowid) if holds_bytes(text) else b""

    def _read_payload(self, rowid: int) -> bytes:
        sql = self._layout.select("payload", "WHERE rowid = ?")
        payload: bytes | None = self._connection.execute(sql, (rowid,)).fetchone()[0]
        return payload or b""


def _batch(found: Iterator[tuple[Any, int]]) -> Iterator[Any]:
    weight = 0
    for value, size in islice(found, _FETCH_ROWS):
        yield value
        weight += size
        if weight >= _FETCH_BYTES:
            return
