"""Groups: how many documents have each value of a field, and when the first and last were created.

Groups come by value, as UTF-8 bytes compare. A store that can, answers from its indexes; one that
looks at documents hands what it sees to :func:`gather`; and one that knows no groups, such as an
engine of an earlier release, is asked by :func:`groups_by_finding`, page by page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from naas_abi_sdk.document.commands import Find, Groups, Operation, find
from naas_abi_sdk.document.cursors import fingerprint_of, read_cursor, write_cursor
from naas_abi_sdk.document.encoding import check_text
from naas_abi_sdk.document.types import Group, GroupPage, OrderBy, Predicate
from naas_abi_sdk.document.validation import check_limit, check_name, check_predicates
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE

__all__ = ["GroupQuery", "gather", "groups_by_finding", "page_of", "prepare_groups"]


@dataclass(frozen=True)
class GroupQuery:
    """A checked grouping.

    Attributes:
        conditions: What a document of the page meets: what was asked for, and to have a value of
            ``by`` that comes after the previous page's.
        limit: Groups at most.
        fingerprint: What tells its cursors from those of others.
    """

    collection: str
    by: str
    conditions: tuple[Predicate, ...]
    limit: int
    fingerprint: str


def prepare_groups(
    namespace: str,
    collection: str,
    by: str,
    where: Iterable[Predicate] = (),
    limit: int = DEFAULT_PAGE_SIZE,
    cursor: str | None = None,
) -> GroupQuery:
    """Check the arguments of a ``groups``, as far as the declaration of ``by`` does not matter.

    Raises:
        InvalidArgument: one is malformed, or the cursor is or belongs to another query.
    """
    check_name(namespace, "namespace")
    check_name(collection, "collection")
    check_name(by, "field to group by")
    predicates = check_predicates(where)
    check_limit(limit)
    fingerprint = fingerprint_of(namespace, collection, predicates, {"by": by})
    has_next_value = Predicate(by, "gte", "")
    if cursor is not None:
        has_next_value = Predicate(by, "gt", read_cursor(cursor, fingerprint, _value_of))
    return GroupQuery(collection, by, (*predicates, has_next_value), limit, fingerprint)


def page_of(groups: Sequence[Group], query: GroupQuery) -> GroupPage:
    """The page that the first ``groups`` fill. It has a cursor if there is one group more."""
    items = tuple(groups[: query.limit])
    if len(items) == len(groups):
        return GroupPage(items)
    return GroupPage(items, write_cursor([items[-1].value], query.fingerprint))


def gather(found: Iterable[tuple[str, datetime]], query: GroupQuery) -> GroupPage:
    """The page that documents form; of each the value and the time of creation, in any order."""
    groups: dict[str, Group] = {}
    for value, created_at in found:
        _add(groups, value, created_at)
    return page_of([groups[value] for value in sorted(groups)], query)


def groups_by_finding(namespace: str, query: Groups) -> Operation[GroupPage]:
    """What a store answers ``query`` with, from its ``find``.

    It reads the documents of the page's groups and little more, of each no more than the value.
    A field that is not declared as it must be is not noticed: its values that are text count.

    Raises:
        InvalidArgument: as :func:`prepare_groups`.
    """
    asked = prepare_groups(
        namespace, query.collection, query.by, query.where, query.limit, query.cursor
    )
    groups: dict[str, Group] = {}
    cursor: str | None = None
    while True:
        page = yield from find(
            Find(
                query.collection,
                asked.conditions,
                OrderBy(query.by),
                MAX_PAGE_SIZE,
                cursor,
                fields=(query.by,),
            )
        )
        for document in page.items:
            _add(groups, document.data[query.by], document.created_at)
        cursor = page.cursor
        if cursor is None or len(groups) > query.limit:
            return page_of(list(groups.values()), asked)


def _add(groups: dict[str, Group], value: str, created_at: datetime) -> None:
    known = groups.get(value)
    if known is None:
        groups[value] = Group(value, 1, created_at, created_at)
        return
    groups[value] = Group(
        value,
        known.count + 1,
        min(known.first_created_at, created_at),
        max(known.last_created_at, created_at),
    )


def _value_of(key: list[Any]) -> str:
    (value,) = key
    if type(value) is not str:
        raise ValueError(key)
    check_text(value, "value in cursor")
    return value
