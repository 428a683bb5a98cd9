"""Answers a query from PostgreSQL: in one statement where one can say it all.

The one statement reads a page and one document more. Where a page has a byte budget, the database
adds up the sizes and ends there, and no payload beyond it is read or sent. It cannot say what is
left to Python: tests that are, an order that is, short forms met in the order
(:mod:`.sql.dialect`), bytes in chosen fields. Then the query is answered in a snapshot, from rows
that are fetched as they are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, Final, NoReturn

from naas_abi_core.services.document.adapters.postgresql_sessions import Session
from naas_abi_core.services.document.adapters.sql.finding import Plan, Segment, plan
from naas_abi_core.services.document.adapters.sql.grouping import Grouper
from naas_abi_core.services.document.adapters.sql.layout import Layout
from naas_abi_core.services.document.adapters.sql.reading import Reader, few_columns, page_of_few
from naas_abi_sdk.document.grouping import GroupQuery
from naas_abi_sdk.document.paging import Query, assemble
from naas_abi_sdk.document.types import GroupPage, Page
from naas_abi_sdk.limits import PAGE_ITEM_OVERHEAD

__all__ = ["count_matches", "read_groups", "read_page"]

#: Bytes of whole documents that one statement may look at for a few fields of them.
_LOOKED_AT: Final = 16 * 1024 * 1024

_SNAPSHOT: Final = "ISOLATION LEVEL REPEATABLE READ READ ONLY"


class _NotAtOnce(Exception):
    """One statement did not read enough."""


def read_page(session: Session, layout: Layout, query: Query) -> Page:
    """One page of a query."""
    found = plan(query, layout)
    if found.few:
        columns = few_columns(layout.dialect)
        rows = session.single(layout.select(columns, found.where), found.conditions.parameters)
        return page_of_few(rows, layout.dialect)
    page = None
    if found.segments and not found.conditions.rest:
        page = _read_at_once(session, layout, query, found)
    if page is None:
        with session.transaction(_SNAPSHOT):
            page = _read(session, layout, query, found) or _read(
                session, layout, query, plan(query, layout, in_python=True)
            )
    assert page is not None, "Python finds every order"
    return page


def count_matches(session: Session, layout: Layout, query: Query) -> int:
    """How many documents meet every condition."""
    found = plan(query, layout)
    if not found.conditions.rest:
        sql = layout.select("count(*)", found.where)
        return int(session.single(sql, found.conditions.parameters)[0][0])
    with session.transaction(_SNAPSHOT):
        return _reader(session, layout, query, found).count()


def read_groups(session: Session, layout: Layout, query: GroupQuery) -> GroupPage:
    """One page of groups."""
    grouper = Grouper(layout, query)
    page = grouper.at_once(session.single)
    if page is None:
        with session.transaction(_SNAPSHOT):
            page = grouper.in_python(session.execute, stream=session.stream)
    return page


def _reader(session: Session, layout: Layout, query: Query, found: Plan) -> Reader:
    return Reader(session.execute, layout, query, found, stream=session.stream)


def _read(session: Session, layout: Layout, query: Query, found: Plan) -> Page | None:
    """The page; None if the table does not give its order."""
    reader = _reader(session, layout, query, found)
    with closing(reader.entries()) as entries:
        page = assemble(entries, query)
    return None if reader.is_out_of_order else page


def _read_at_once(session: Session, layout: Layout, query: Query, found: Plan) -> Page | None:
    """The page, read by one statement; None if one does not do."""
    reader = Reader(_refuse, layout, query, found)
    segments = found.segments or ()
    # Whole documents weigh what they count; of others the database knows no more than a bound.
    budget = query.max_bytes if query.fields is None else _LOOKED_AT
    if len(segments) == 1 and (budget is None or query.fields == frozenset()):
        sql = layout.select(", ".join(reader.columns), segments[0].tail)
        return _page(reader, session.single(sql, segments[0].bound), query)
    sql = _statement(layout, query, segments, reader.columns, has_budget=budget is not None)
    bound = [value for segment in segments for value in segment.bound]
    limits = (query.limit + 1,) if budget is None else (budget, query.limit + 1)
    rows = session.single(sql, (*bound, *limits))
    page = _page(reader, (row[1:] for row in rows), query)
    was_cut = bool(rows) and len(rows) <= query.limit and rows[-1][0] > _LOOKED_AT
    if query.fields is not None and page is not None and page.cursor is None and was_cut:
        return None
    return page


def _page(reader: Reader, rows: Iterable[Sequence[Any]], query: Query) -> Page | None:
    try:
        page = assemble(reader.entries_of(rows), query)
    except _NotAtOnce:
        return None
    return None if reader.is_out_of_order else page


def _refuse(sql: str, parameters: Sequence[Any]) -> NoReturn:  # noqa: ARG001 -- an Execute
    raise _NotAtOnce


def _statement(
    layout: Layout,
    query: Query,
    segments: Sequence[Segment],
    columns: Sequence[str],
    *,
    has_budget: bool,
) -> str:
    """All segments as one, in order, with the weight of all rows so far as the first column."""
    names = [f"c{number}" for number in range(len(columns))]
    listed = ", ".join(f"{column} AS {name}" for column, name in zip(columns, names, strict=True))
    key = layout.columns[query.order_by.field] if query.order_by else "NULL::bytea"
    weight = f"size + octet_length({layout.dialect.id}) + {PAGE_ITEM_OVERHEAD}"
    parts = [
        layout.select(
            f"{number} AS part, {listed}, {key} AS k, id AS i, {weight} AS w", segment.tail
        )
        for number, segment in enumerate(segments)
    ]
    down = " DESC" if query.descending else ""
    order = f"part, k{down}, i{down}"
    union = " UNION ALL ".join(f"({part})" for part in parts)
    so_far = f"OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING)"
    added = f"(sum(w) {so_far})::float8 AS total, first_value(w) {so_far} AS first"
    # A page holds its first document whatever that weighs, and one more tells that there are more.
    within = "WHERE total - w <= greatest(?, first) " if has_budget else ""
    return (
        f"SELECT total, {', '.join(names)} FROM (SELECT *, {added} FROM ({union}) AS a) AS b "  # noqa: S608 -- names are ours
        f"{within}ORDER BY {order} LIMIT ?"
    )
