"""Groups without a store: cursors, pages, and what is asked of one that knows no groups."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from naas_abi_sdk.document.commands import Find, Groups
from naas_abi_sdk.document.cursors import write_cursor
from naas_abi_sdk.document.grouping import gather, groups_by_finding, page_of, prepare_groups
from naas_abi_sdk.document.performing import perform
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Document,
    FieldSpec,
    Group,
    GroupPage,
    OrderBy,
    Page,
    Predicate,
)
from naas_abi_sdk.errors import CollectionNotFound, InvalidArgument
from naas_abi_sdk.limits import MAX_PAGE_SIZE
from naas_abi_sdk.testing import MemoryDocuments

MINE = Predicate("owner", "eq", "me")


def at(minute):
    return datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(minutes=minute)


def document(value, minute):
    return Document(f"d{minute}", {"a": value}, at(minute), at(99), 3)


def test_documents_in_any_order_are_gathered():
    found = [("b", at(3)), ("a", at(2)), ("b", at(1)), ("b", at(2))]
    assert gather(found, prepare_groups("n", "c", "a")) == GroupPage(
        (Group("a", 1, at(2), at(2)), Group("b", 3, at(1), at(3)))
    )
    assert gather([], prepare_groups("n", "c", "a")) == GroupPage(())


def test_a_page_goes_on_after_its_last_value():
    groups = [Group(value, 1, at(0), at(0)) for value in "xyz"]
    page = page_of(groups, prepare_groups("n", "c", "a", [MINE], limit=2))
    assert page.items == tuple(groups[:2])
    rest = prepare_groups("n", "c", "a", [MINE], 7, page.cursor)
    assert rest.conditions == (MINE, Predicate("a", "gt", "y"))
    assert page_of(groups[2:], rest) == GroupPage((groups[2],))


def test_documents_without_a_text_are_in_no_group():
    assert prepare_groups("n", "c", "a").conditions == (Predicate("a", "gte", ""),)


@pytest.mark.parametrize("key", [[], ["x", "y"], [7], [None], ["\0"], ["\ud800"]])
def test_malformed_places_are_refused(key):
    cursor = write_cursor(key, prepare_groups("n", "c", "a").fingerprint)
    with pytest.raises(InvalidArgument, match="malformed"):
        prepare_groups("n", "c", "a", cursor=cursor)


def test_an_empty_value_is_a_place():
    cursor = write_cursor([""], prepare_groups("n", "c", "a").fingerprint)
    query = prepare_groups("n", "c", "a", cursor=cursor)
    assert query.conditions == (Predicate("a", "gt", ""),)


def test_a_store_that_knows_no_groups_is_asked_for_no_more_than_the_page():
    operation = groups_by_finding("n", Groups("c", "a", (MINE,), 2))
    asked = Find("c", (MINE, Predicate("a", "gte", "")), OrderBy("a"), MAX_PAGE_SIZE, fields=("a",))
    assert next(operation) == asked
    command = operation.send(Page((document("x", 5), document("x", 4)), "more"))
    assert command == replace(asked, cursor="more")
    operation.send(Page((document("y", 7),), "and more"))
    # A third value says that the second is whole: whatever else there is, is not read.
    with pytest.raises(StopIteration) as stop:
        operation.send(Page((document("y", 8), document("z", 1)), "and yet more"))
    page = stop.value.value
    assert page.items == (Group("x", 2, at(4), at(5)), Group("y", 2, at(7), at(8)))
    assert page.cursor is not None
    following = next(groups_by_finding("n", Groups("c", "a", (MINE,), 2, page.cursor)))
    assert following.where == (MINE, Predicate("a", "gt", "y"))


def test_groups_are_performed():
    view = MemoryDocuments().for_namespace("n")
    command = Groups("c", "a", limit=1)
    with pytest.raises(CollectionNotFound):
        perform(view, command)
    view.ensure_collection(CollectionSpec("c", [FieldSpec("a", "string", indexed=True)]))
    for value in "xy":
        view.put("c", value, {"a": value})
    first = perform(view, command)
    rest = perform(view, Groups("c", "a", cursor=first.cursor))
    assert [group.value for group in (*first.items, *rest.items)] == ["x", "y"]
