"""How a query is answered from a table: which statements, and what is left to do in Python.

A query becomes *segments*: statements that, one after the other, give the documents in order.
An order by a key column has two, one for documents with a key and one for those without, because
no single comparison with a cursor holds for both. A segment is *direct* when an index gives its
order, so that whole documents can be read until the page is full. Otherwise the database would
carry whole documents through its sorter, so only row numbers are sorted, and documents are
fetched by them.

An order that no key column decides is found in Python (``segments`` is None).

Whole documents that surely fit on a page, because a unique index holds no more that the conditions
allow, are *few*: the database needs to order and count nothing, so they are read as they come and
sorted in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final

from naas_abi_core.services.document.adapters.sql.layout import Layout
from naas_abi_core.services.document.adapters.sql.predicates import Conditions, compile_conditions
from naas_abi_sdk.document.matching import order_key_of_parts
from naas_abi_sdk.document.paging import Place, Query

__all__ = ["Plan", "Segment", "plan"]

_NULL_KEY: Final = b"\x00"


@dataclass(frozen=True, slots=True)
class Segment:
    """One statement's share of a query.

    Attributes:
        where: ``WHERE ...`` or nothing.
        order: What it is ordered by.
        parameters: Of ``where``.
        limit: Rows at most, if the database can tell which count.
        direct: Whether an index gives the order.
    """

    where: str
    order: str
    parameters: tuple[Any, ...]
    limit: int | None
    direct: bool

    @property
    def tail(self) -> str:
        """What follows ``FROM <table>``; its parameters are :attr:`bound`."""
        limit = "" if self.limit is None else " LIMIT ?"
        return f"{self.where} ORDER BY {self.order}{limit}"

    @property
    def bound(self) -> tuple[Any, ...]:
        """The parameters of :attr:`tail`."""
        return self.parameters if self.limit is None else (*self.parameters, self.limit)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to answer a query.

    Attributes:
        conditions: Its predicates.
        segments: In order; None if Python has to find the order.
        where: ``WHERE ...`` of the conditions alone, or nothing.
        few: Whether all that ``where`` finds is the page.
    """

    conditions: Conditions
    segments: tuple[Segment, ...] | None
    where: str
    few: bool = False


def plan(query: Query, layout: Layout, *, in_python: bool = False) -> Plan:
    """Decide how to answer ``query`` from the collection's table.

    ``in_python`` says that the table does not give the order: a short form was met in it.
    """
    conditions = compile_conditions(query.where, layout.columns, layout.dialect)
    where = f"WHERE {' AND '.join(conditions.clauses)}" if conditions.clauses else ""
    if in_python or not _is_whole(query.after, layout):
        segments: tuple[Segment, ...] | None = None
    elif query.order_by is None:
        segments = (_by_id(query, layout, conditions),)
    elif query.order_by.field in layout.scalars:
        segments = _by_key(query, layout, conditions)
    else:
        segments = None
    return Plan(conditions, segments, where, few=_finds_few(query, layout, conditions))


def _finds_few(query: Query, layout: Layout, conditions: Conditions) -> bool:
    is_plain = query.after is None and query.order_by is None and query.fields is None
    if not is_plain or query.max_bytes is not None or conditions.rest:
        return False
    choices = conditions.choices
    return any(
        index.unique
        and choices.keys() >= set(index.fields)
        and prod(choices[field] for field in index.fields) <= query.limit
        for index in layout.indexes
    )


def _is_whole(place: Place | None, layout: Layout) -> bool:
    if place is None:
        return True
    dialect = layout.dialect
    key = None if place.parts is None else dialect.stored_key(order_key_of_parts(place.parts))
    return dialect.is_whole(dialect.stored_id(place.id)) and dialect.is_whole(key)


def _by_id(query: Query, layout: Layout, conditions: Conditions) -> Segment:
    if query.after is None:
        return _segment(query, conditions, (), (), "id", direct=not conditions.clauses)
    after = (layout.dialect.stored_id(query.after.id),)
    return _segment(query, conditions, ("id > ?",), after, "id", direct=not conditions.clauses)


def _by_key(query: Query, layout: Layout, conditions: Conditions) -> tuple[Segment, ...]:
    assert query.order_by is not None, "called for ordered queries"
    field = query.order_by.field
    column = layout.columns[field]
    down = " DESC" if query.descending else ""
    past = "<" if query.descending else ">"
    has_index = _index_order(layout, field, conditions)

    def keyed(*clauses: str, parameters: tuple[Any, ...] = ()) -> Segment:
        # In an index that pins everything else a key occurs once: ordering by id as well would
        # only make the database sort.
        order = f"{column}{down}" if has_index == "unique" else f"{column}{down}, id{down}"
        return _segment(query, conditions, clauses, parameters, order, direct=has_index is not None)

    def keyless(*clauses: str, parameters: tuple[Any, ...] = ()) -> Segment:
        return _segment(
            query,
            conditions,
            (f"{column} IS NULL", *clauses),
            parameters,
            f"id{down}",
            direct=has_index == "plain",
        )

    every = keyed(f"{column} IS NOT NULL")
    if query.after is None:
        segments = [every, keyless()] if query.descending else [keyless(), every]
        # Without one of them where the conditions leave it empty.
        return tuple(segments) if field not in conditions.keyed else (every,)
    assert query.after.parts is not None, "the cursor of an ordered query has parts"
    key, id_ = order_key_of_parts(query.after.parts), layout.dialect.stored_id(query.after.id)
    if key == _NULL_KEY:
        rest = keyless(f"id {past} ?", parameters=(id_,))
        return (rest,) if query.descending else (rest, every)
    rest = keyed(f"({column}, id) {past} (?, ?)", parameters=(key, id_))
    return (rest, keyless()) if query.descending else (rest,)


def _index_order(layout: Layout, field: str, conditions: Conditions) -> str | None:
    """The kind of index that gives the order by ``field``, if the database will surely use it."""
    for index in layout.indexes:
        *before, last = index.fields
        fits = last == field and conditions.pinned.issuperset(before)
        if fits and conditions.constrained.issubset(index.fields):
            return "unique" if index.unique else "plain"
    return None


def _segment(
    query: Query,
    conditions: Conditions,
    clauses: tuple[str, ...],
    parameters: tuple[Any, ...],
    order: str,
    *,
    direct: bool,
) -> Segment:
    every = (*conditions.clauses, *clauses)
    where = f"WHERE {' AND '.join(every)}" if every else ""
    limit = None if conditions.rest else query.limit + 1
    return Segment(where, order, (*conditions.parameters, *parameters), limit, direct)
