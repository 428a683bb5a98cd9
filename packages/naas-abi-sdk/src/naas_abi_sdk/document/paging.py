"""Queries and pages: where a page ends and how the next one finds its place.

Stores answer a query in two pure steps: :func:`select` finds which documents come next (a store
whose index serves the query has no need of it), and :func:`assemble` takes them one by one until
the page is full, so that a store reads no payload the page has no room for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from naas_abi_sdk.document.cursors import fingerprint_of, read_cursor, write_cursor
from naas_abi_sdk.document.encoding import canonical_size
from naas_abi_sdk.document.matching import (
    MISSING,
    SortParts,
    compile_predicates,
    order_key,
    order_key_of_parts,
    sort_parts,
)
from naas_abi_sdk.document.types import Data, Document, OrderBy, Page, Predicate
from naas_abi_sdk.document.validation import (
    check_fields,
    check_limit,
    check_max_bytes,
    check_name,
    check_order_by,
    check_predicates,
)
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE, PAGE_ITEM_OVERHEAD

__all__ = ["Entry", "Place", "Query", "assemble", "item_weight", "prepare", "project", "select"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended: the last item's id and, if the query has an order, its sort parts."""

    id: str
    parts: SortParts | None = None


class Entry(NamedTuple):
    """A document on its way into a page, projected already."""

    document: Document
    #: Length of the canonical JSON of the document's data; not looked at without a byte budget.
    size: int
    #: What the document sorts by; None if the query has no order.
    parts: SortParts | None


@dataclass(frozen=True)
class Query:
    """A checked query. ``after`` is where the previous page of it ended."""

    namespace: str
    collection: str
    where: tuple[Predicate, ...]
    order_by: OrderBy | None
    limit: int
    after: Place | None
    fields: frozenset[str] | None
    max_bytes: int | None

    @property
    def descending(self) -> bool:
        """Whether the largest come first, ids included."""
        return self.order_by is not None and self.order_by.direction == "desc"

    @cached_property
    def matches(self) -> Callable[[Data], bool]:
        """Whether a document's data meets every condition."""
        return compile_predicates(self.where)

    @cached_property
    def fingerprint(self) -> str:
        """What tells cursors of this query from those of others, in hexadecimal."""
        return _fingerprint(self.namespace, self.collection, self.where, self.order_by)

    def parts_of(self, data: Data) -> SortParts | None:
        """What a document with ``data`` sorts by; None if the query has no order."""
        if self.order_by is None:
            return None
        return sort_parts(data.get(self.order_by.field, MISSING))

    def cursor_after(self, place: Place) -> str:
        """The cursor of a page that ended at ``place``."""
        parts = place.parts
        key = [place.id] if parts is None else [parts.rank, parts.numeric, parts.text, place.id]
        return write_cursor(key, self.fingerprint)


def prepare(
    namespace: str,
    collection: str,
    where: Iterable[Predicate] = (),
    order_by: OrderBy | None = None,
    limit: int = DEFAULT_PAGE_SIZE,
    cursor: str | None = None,
    *,
    fields: Sequence[str] | None = None,
    max_bytes: int | None = None,
) -> Query:
    """Check the arguments of a ``find``.

    Raises:
        InvalidArgument: one is malformed, or the cursor is or belongs to another query.
    """
    check_name(namespace, "namespace")
    check_name(collection, "collection")
    predicates = check_predicates(where)
    check_order_by(order_by)
    check_limit(limit)
    check_max_bytes(max_bytes)
    after = None
    if cursor is not None:
        fingerprint = _fingerprint(namespace, collection, predicates, order_by)
        read_place = _place_by_id if order_by is None else _place_in_order
        after = read_cursor(cursor, fingerprint, read_place)
    return Query(
        namespace=namespace,
        collection=collection,
        where=predicates,
        order_by=order_by,
        limit=limit,
        after=after,
        fields=check_fields(fields),
        max_bytes=max_bytes,
    )


def select(candidates: Iterable[tuple[str, Data]], query: Query) -> list[str]:
    """Ids of the documents that come next, in order: one more than the page holds, if there are.

    Keeps no more than that in memory, however many candidates there are.
    """
    keyed = ((_position(query, id_, data), id_) for id_, data in candidates if query.matches(data))
    if query.after is not None:
        edge = _place_position(query.after)
        keyed = (item for item in keyed if item[0] != edge and (item[0] < edge) is query.descending)
    pick = heapq.nlargest if query.descending else heapq.nsmallest
    return [id_ for _, id_ in pick(query.limit + 1, keyed)]


def assemble(entries: Iterable[Entry], query: Query) -> Page:
    """The page that the first ``entries`` fill. It has a cursor if there is one entry more.

    The byte budget ends a page early, but a page holds at least one item.
    """
    items: list[Document] = []
    last: Entry | None = None
    weight = 0
    for entry in entries:
        if query.max_bytes is not None:
            weight += item_weight(entry.document.id, entry.size)
        full = len(items) == query.limit or (
            query.max_bytes is not None and weight > query.max_bytes
        )
        if last is not None and full:
            return Page(tuple(items), query.cursor_after(Place(last.document.id, last.parts)))
        items.append(entry.document)
        last = entry
    return Page(tuple(items))


def item_weight(id_: str, size: int) -> int:
    """Bytes a document counts in a page: its canonical JSON, its id, its times and version."""
    return size + len(id_.encode()) + PAGE_ITEM_OVERHEAD


def project(data: Data, query: Query) -> tuple[Data, int]:
    """The part of ``data`` a query asks for, and its canonical size if the query has a budget."""
    if query.fields is not None:
        data = {name: value for name, value in data.items() if name in query.fields}
    return data, (0 if query.max_bytes is None else canonical_size(data))


def _position(query: Query, id_: str, data: Data) -> tuple[bytes, str]:
    if query.order_by is None:
        return b"", id_
    return order_key(data.get(query.order_by.field, MISSING)), id_


def _place_position(place: Place) -> tuple[bytes, str]:
    return (b"" if place.parts is None else order_key_of_parts(place.parts)), place.id


def _fingerprint(
    namespace: str, collection: str, where: Sequence[Predicate], order_by: OrderBy | None
) -> str:
    order = None if order_by is None else [order_by.field, order_by.direction]
    return fingerprint_of(namespace, collection, where, order)


def _place_by_id(key: list[Any]) -> Place:
    (id_,) = key
    check_name(id_, "id in cursor")
    return Place(id_)


def _place_in_order(key: list[Any]) -> Place:
    rank, numeric, text, id_ = key
    if type(rank) is not int or type(numeric) not in (int, float) or type(text) is not str:
        raise ValueError(key)
    parts = SortParts(rank, numeric, text)
    order_key_of_parts(parts)
    check_name(id_, "id in cursor")
    return Place(id_, parts)
