"""Reads the documents a plan finds, and of each no more than the query asks for.

A damaged document is a ValueError here; the adapter knows which store to name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import Any, Final, Protocol, TypeAlias, final

from naas_abi_core.services.document.adapters.sql.dialect import Dialect
from naas_abi_core.services.document.adapters.sql.finding import Plan, Segment
from naas_abi_core.services.document.adapters.sql.layout import Layout
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
from naas_abi_sdk.document.types import Data, Document, Page

__all__ = [
    "DOCUMENT_COLUMNS",
    "Execute",
    "Reader",
    "Rows",
    "document_of",
    "few_columns",
    "instant",
    "microseconds",
    "page_of_few",
]

#: What :func:`document_of` makes a document of.
DOCUMENT_COLUMNS: Final = "version, created_at, updated_at, data, payload"

_ID: Final = attrgetter("id")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND: Final = timedelta(microseconds=1)
#: Canonical size of a document of which no field is asked for.
_NOTHING: Final = 2
#: Documents fetched at once by row, and the bytes of them at which no more are added.
_FETCH_ROWS: Final = 64
_FETCH_BYTES: Final = 512 * 1024


class Rows(Protocol):
    """Rows of a statement, read as they are taken."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:
        """The next row, or None."""

    def close(self) -> None:
        """Read no more."""


#: Runs a statement with its parameters. While its rows are read, others may be run.
Execute: TypeAlias = Callable[[str, Sequence[Any]], Rows]


@lru_cache(maxsize=1024)  # what one put stored has one time
def instant(microseconds: int) -> datetime:
    """The time that is stored as microseconds since 1970."""
    return _EPOCH + microseconds * _MICROSECOND


def microseconds(moment: datetime) -> int:
    """An aware time as it is stored."""
    return (moment - _EPOCH) // _MICROSECOND


def document_of(id_: str, row: Sequence[Any]) -> Document:
    """The document called ``id_`` from its :data:`DOCUMENT_COLUMNS`."""
    version, created_at, updated_at, text, payload = row
    data = decode(text, payload or b"")
    return Document(id_, data, instant(created_at), instant(updated_at), version)


def few_columns(dialect: Dialect) -> str:
    """What :func:`page_of_few` takes rows of."""
    return f"{dialect.id}, {DOCUMENT_COLUMNS}"


def page_of_few(rows: Iterable[Sequence[Any]], dialect: Dialect) -> Page:
    """The page of a plan that finds few."""
    found = [document_of(dialect.whole_id(id_), columns) for id_, *columns in rows]
    return Page(tuple(sorted(found, key=_ID)))


@final
class Reader:
    """Answers one query with statements that all see the same documents.

    ``stream`` runs those whose rows may be too many to hold, ``execute`` the others.

    Attributes:
        is_out_of_order: Whether a short form was met where the table should give the order. What
            was read until then is no answer; plan again, for an order found in Python.
    """

    def __init__(
        self,
        execute: Execute,
        layout: Layout,
        query: Query,
        plan: Plan,
        *,
        stream: Execute | None = None,
    ) -> None:
        self.is_out_of_order = False
        self._execute = execute
        self._stream = stream or execute
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
        ordered_by_key = plan.segments is not None and self._order_field is not None
        self._may_be_short = layout.dialect.longest is not None and plan.segments is not None
        self._order_from_key = (
            ordered_by_key
            and not self._whole
            and layout.scalars.get(self._order_field or "") == "string"
        )
        self._with_key = self._order_from_key or (ordered_by_key and self._may_be_short)
        self._with_text = (
            self._whole
            or bool(query.fields)
            or bool(rest)
            or (self._order_field is not None and not self._order_from_key)
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """What :meth:`entries_of` takes rows of."""
        dialect = self._layout.dialect
        columns = [dialect.row, dialect.id, "version", "created_at", "updated_at", "size"]
        if self._with_text:
            columns.append("data")
        if self._with_payload:
            columns.append("payload")
        if self._with_key and self._order_field is not None:
            columns.append(self._layout.columns[self._order_field])
        return tuple(columns)

    def entries(self) -> Generator[Entry, None, None]:
        """The documents in order, each read when it is asked for."""
        # Closed here: left to the garbage collector, a cursor may outlive its connection.
        with closing(self._rows()) as rows:
            yield from self.entries_of(rows)

    def entries_of(self, rows: Iterable[Sequence[Any]]) -> Generator[Entry, None, None]:
        """The documents of rows of :attr:`columns`."""
        for row in rows:
            entry = self._entry(row)
            if entry is not None:
                yield entry
            elif self.is_out_of_order:
                return

    def count(self) -> int:
        """How many documents there are, of whatever page."""
        where, parameters = self._plan.where, self._plan.conditions.parameters
        if self._meets is None:
            sql = self._layout.select("count(*)", where)
            return int(self._execute(sql, parameters).fetchone()[0])
        sql = self._layout.select(f"{self._layout.dialect.row}, data", where)
        with closing(self._stream(sql, parameters)) as rows:
            return sum(self._is_met(address, text) for address, text in rows)

    def _entry(self, row: Sequence[Any]) -> Entry | None:
        """The document of a row of :attr:`columns`; None if a test refuses it."""
        address, id_, version, created_at, updated_at, size = row[:6]
        if self._may_be_short and not self._is_whole(row):
            self.is_out_of_order = True
            return None
        text = row[6] if self._with_text else "{}"
        if self._meets is not None and not self._is_met(address, text):
            return None
        if self._whole:
            payload = row[7] if self._with_payload else self._payload_of(address, text)
            data = decode(text, payload or b"")
        elif not self._query.fields:
            data, size = {}, _NOTHING
        else:
            data, size = project(self._some(address, text, self._query.fields or ()), self._query)
        name = self._layout.dialect.whole_id(id_)
        document = Document(name, data, instant(created_at), instant(updated_at), version)
        return Entry(document, size, self._parts(row, text, data))

    def _is_whole(self, row: Sequence[Any]) -> bool:
        dialect = self._layout.dialect
        return dialect.is_whole(row[0]) and (not self._with_key or dialect.is_whole(row[-1]))

    def _rows(self) -> Generator[Sequence[Any], None, None]:
        if self._plan.segments is None:
            stored_id = self._layout.dialect.stored_id
            yield from self._fetch("id", ((stored_id(id_), 0) for id_ in self._ordered_ids()))
            return
        for segment in self._plan.segments:
            # Without its text a row is not much wider than its number.
            is_direct = segment.direct or not (self._with_text or self._with_payload)
            yield from self._direct(segment) if is_direct else self._sorted(segment)

    def _direct(self, segment: Segment) -> Iterator[Sequence[Any]]:
        sql = self._layout.select(", ".join(self.columns), segment.tail)
        with closing(self._stream(sql, segment.bound)) as rows:
            yield from rows

    def _sorted(self, segment: Segment) -> Iterator[Sequence[Any]]:
        row = self._layout.dialect.row
        sql = self._layout.select(f"{row}, size", segment.tail)
        with closing(self._stream(sql, segment.bound)) as rows:
            yield from self._fetch(row, rows)

    def _ordered_ids(self) -> list[str]:
        """Ids in an order that no index gives; all documents are looked at, few are kept."""
        dialect = self._layout.dialect
        names = {predicate.field for predicate in self._query.where}
        if self._order_field is not None:
            names.add(self._order_field)
        sql = self._layout.select(f"{dialect.row}, {dialect.id}, data", self._plan.where)
        with closing(self._stream(sql, self._plan.conditions.parameters)) as rows:
            return select(
                (
                    (dialect.whole_id(id_), self._some(address, text, names))
                    for address, id_, text in rows
                ),
                self._query,
            )

    def _fetch(self, column: str, found: Iterable[tuple[Any, int]]) -> Iterator[Sequence[Any]]:
        """Rows by ``column``, in the order of ``found``, which pairs its values with sizes."""
        found = iter(found)
        columns = ", ".join((column, *self.columns))
        while batch := list(_batch(found)):
            condition, parameters = self._layout.dialect.among(column, batch)
            sql = self._layout.select(columns, f"WHERE {condition}")
            with closing(self._execute(sql, parameters)) as fetched:
                rows = {row[0]: row[1:] for row in fetched}
            for value in batch:
                yield rows[value]

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

    def _is_met(self, address: Any, text: str) -> bool:
        assert self._meets is not None, "called where there is something to test"
        return self._meets(self._some(address, text, self._tested))

    def _some(self, address: Any, text: str, names: Iterable[str]) -> Data:
        return decode_fields(text, names, lambda: self._read_payload(address))

    def _payload_of(self, address: Any, text: str) -> bytes:
        return self._read_payload(address) if holds_bytes(text) else b""

    def _read_payload(self, address: Any) -> bytes:
        sql = self._layout.select("payload", f"WHERE {self._layout.dialect.row} = ?")
        payload: bytes | None = self._execute(sql, (address,)).fetchone()[0]
        return payload or b""


def _batch(found: Iterator[tuple[Any, int]]) -> Iterator[Any]:
    weight = 0
    for value, size in islice(found, _FETCH_ROWS):
        yield value
        weight += size
        if weight >= _FETCH_BYTES:
            return
