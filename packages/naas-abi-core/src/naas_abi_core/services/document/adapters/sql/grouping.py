"""Answers a grouping from key columns and times; from documents only where those do not decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any, final

from naas_abi_core.services.document.adapters.sql.layout import Layout
from naas_abi_core.services.document.adapters.sql.predicates import compile_conditions
from naas_abi_core.services.document.adapters.sql.reading import Execute, instant
from naas_abi_sdk.document.encoding import decode_fields
from naas_abi_sdk.document.grouping import GroupQuery, gather, page_of
from naas_abi_sdk.document.matching import compile_predicates
from naas_abi_sdk.document.types import Data, Group, GroupPage
from naas_abi_sdk.document.validation import check_grouped_field

__all__ = ["Grouper"]


@final
class Grouper:
    """One page of groups, from the collection's table.

    Raises:
        InvalidArgument: the collection's documents cannot be grouped by this field.
    """

    def __init__(self, layout: Layout, query: GroupQuery) -> None:
        check_grouped_field(layout.spec, query.by)
        self._layout = layout
        self._query = query
        self._conditions = compile_conditions(query.conditions, layout.columns, layout.dialect)
        self._where = f"WHERE {' AND '.join(self._conditions.clauses)}"

    def at_once(
        self, execute: Callable[[str, Sequence[Any]], Iterable[Sequence[Any]]]
    ) -> GroupPage | None:
        """The page, from one statement; None if documents have to be looked at.

        The statement is an index search that gives the groups in order and ends with the page, if
        the conditions fix every field that stands before the grouped one in its index. Of each
        document it reads the creation time, which precedes the data in a row.
        """
        if self._conditions.rest:
            return None
        key = self._layout.columns[self._query.by]
        sql = self._layout.select(
            f"{key}, count(*), min(created_at), max(created_at)",
            f"{self._where} GROUP BY {key} ORDER BY {key} LIMIT ?",
        )
        rows = list(execute(sql, (*self._conditions.parameters, self._query.limit + 1)))
        # Short forms neither say what they stand for nor stand in its place in the order.
        if not all(self._layout.dialect.is_whole(row[0]) for row in rows):
            return None
        groups = [
            Group(value[1:].decode(), count, instant(first), instant(last))
            for value, count, first, last in rows
        ]
        return page_of(groups, self._query)

    def in_python(self, execute: Execute, *, stream: Execute | None = None) -> GroupPage:
        """The page, from all documents that the table cannot exclude; ``stream`` runs the query."""
        return gather(self._found(execute, stream or execute), self._query)

    def _found(self, execute: Execute, stream: Execute) -> Iterator[tuple[str, datetime]]:
        by, rest = self._query.by, self._conditions.rest
        meets = compile_predicates(rest)
        names = {by, *(predicate.field for predicate in rest)}
        row = self._layout.dialect.row
        sql = self._layout.select(f"{row}, created_at, data", self._where)
        with closing(stream(sql, self._conditions.parameters)) as rows:
            for address, created_at, text in rows:
                data = self._some(execute, address, text, names)
                if meets(data):
                    yield data[by], instant(created_at)

    def _some(self, execute: Execute, address: Any, text: str, names: Iterable[str]) -> Data:
        def read_payload() -> bytes:
            sql = self._layout.select("payload", f"WHERE {self._layout.dialect.row} = ?")
            payload: bytes | None = execute(sql, (address,)).fetchone()[0]
            return payload or b""

        return decode_fields(text, names, read_payload)
