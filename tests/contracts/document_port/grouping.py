"""How many documents have each value of a field, and when they were created."""

from __future__ import annotations

from typing import Any

import pytest

from naas_abi_sdk.document.commands import Groups
from naas_abi_sdk.document.driving import run
from naas_abi_sdk.document.grouping import groups_by_finding
from naas_abi_sdk.document.types import CollectionSpec, FieldSpec, Group, GroupPage, Predicate
from naas_abi_sdk.errors import CollectionNotFound, InvalidArgument
from tests.contracts.document_port.common import NS, DocumentPortContract

GROUPABLE = {
    "indexed": CollectionSpec("c", [FieldSpec("a", "string", indexed=True)]),
    "first in a group": CollectionSpec("c", [FieldSpec("a", "string")], [("a", "n")]),
    "last in a group": CollectionSpec("c", [FieldSpec("a", "string")], [("b", "n", "a")]),
    "both": CollectionSpec("c", [FieldSpec("a", "string", indexed=True)], [("b", "a", "n")]),
}

#: Among them texts that no index of PostgreSQL takes whole and that begin alike.
LONG = "x" * 300
VALUES = ["", "A", "a", "aa", "x", LONG, LONG + "!", LONG + "é", "é", "￿",
          "\U0001f600"]  # fmt: skip

CONDITIONS = {
    "all": [],
    "of an indexed field": [Predicate("b", "eq", "odd")],
    "of any field": [Predicate("p", "lt", 3)],
    "on bytes": [Predicate("raw", "eq", b"x")],
    "on what is missing": [Predicate("b", "exists", False)],
    "on the grouped field": [Predicate("a", "gte", "a"), Predicate("a", "ne", "x")],
    "met by none": [Predicate("b", "eq", "neither")],
}


def all_groups(documents: Any, limit: int, *args: Any) -> list[Group]:
    """Every group, page after page; each page is what ``find`` says it is."""
    groups: list[Group] = []
    cursor = None
    while True:
        page = documents.groups(NS, "c", *args, limit=limit, cursor=cursor)
        assert page == by_finding(documents, limit, cursor, *args)
        groups += page.items
        cursor = page.cursor
        if cursor is None:
            return groups
        assert len(page.items) == limit


def by_finding(documents: Any, limit: int, cursor: Any, by: str, where: Any = ()) -> GroupPage:
    def answer(query: Any) -> Any:
        where, order = query.where, query.order_by
        found = (query.collection, where, order, query.limit, query.cursor)
        return documents.find(NS, *found, fields=query.fields)

    return run(groups_by_finding(NS, Groups("c", by, tuple(where), limit, cursor)), answer)


def expected(documents: Any, where: Any = ()) -> list[tuple[str, int, Any, Any]]:
    """Counted by hand."""
    times: dict[str, list[Any]] = {}
    for item in documents.find(NS, "c", where, limit=1000).items:
        if item.data.get("a") is not None:
            times.setdefault(item.data["a"], []).append(item.created_at)
    return [(a, len(times[a]), min(times[a]), max(times[a])) for a in sorted(times)]


def plain(groups: list[Group]) -> list[tuple[str, int, Any, Any]]:
    return [
        (each.value, each.count, each.first_created_at, each.last_created_at) for each in groups
    ]


class GroupingContract(DocumentPortContract):
    """How many documents have each value of a field, and when they were created."""

    @pytest.fixture
    def grouped(self, documents):
        """Every value one to three times, and some documents with none."""
        documents.ensure_collection(NS, GROUPABLE["both"])
        number = 0
        for repeat in range(3):
            for value in VALUES[repeat * 3 :]:
                number += 1
                data = {"a": value, "n": number, "p": number % 7, "raw": b"xy"[: 1 + number % 2]}
                if number % 5:
                    data["b"] = ("even", "odd")[number % 2]
                documents.put(NS, "c", f"d{number}", data)
        documents.put(NS, "c", "null", {"a": None, "b": "odd", "n": 0})
        documents.put(NS, "c", "missing", {"b": "odd", "n": 0})
        return documents

    @pytest.mark.parametrize("name", CONDITIONS)
    @pytest.mark.parametrize("limit", [1, 4, 1000])
    def test_groups_are_what_counting_documents_gives(self, grouped, name, limit):
        where = CONDITIONS[name]
        right = expected(grouped, where)
        assert bool(right) is (name != "met by none")
        assert plain(all_groups(grouped, limit, "a", where)) == right

    def test_groups_come_by_value_in_byte_order(self, grouped):
        assert [each.value for each in all_groups(grouped, 3, "a")] == VALUES

    def test_times_are_of_creation(self, documents):
        documents.ensure_collection(NS, GROUPABLE["indexed"])
        created = [documents.put(NS, "c", id_, {"a": "x"}).created_at for id_ in ("2", "1", "3")]
        replaced = documents.put(NS, "c", "2", {"a": "x", "more": 1})
        assert replaced.updated_at >= created[2]
        documents.put(NS, "c", "4", {"a": "y"})
        assert documents.groups(NS, "c", "a").items[0] == Group("x", 3, created[0], created[2])

    @pytest.mark.parametrize("declaration", sorted(GROUPABLE))
    def test_every_indexed_string_can_be_grouped_by(self, documents, declaration):
        documents.ensure_collection(NS, CollectionSpec("c"))
        documents.put(NS, "c", "before", {"a": "x", "b": "b", "n": 1})
        documents.ensure_collection(NS, GROUPABLE[declaration])
        documents.put(NS, "c", "after", {"a": "x", "n": 2})
        documents.put(NS, "c", "other", {"a": "y", "b": "b", "n": 3})
        found = all_groups(documents, 1, "a")
        assert [(each.value, each.count) for each in found] == [("x", 2), ("y", 1)]

    def test_unique_values_are_groups_of_one(self, documents):
        documents.ensure_collection(
            NS, CollectionSpec("c", [FieldSpec("a", "string", unique=True)])
        )
        for value in "xy":
            documents.put(NS, "c", value, {"a": value})
        assert [each.count for each in all_groups(documents, 9, "a")] == [1, 1]

    @pytest.mark.parametrize(
        "spec",
        [
            CollectionSpec("c"),
            CollectionSpec("c", [FieldSpec("a", "string")]),
            CollectionSpec("c", [FieldSpec("a", "int", indexed=True)]),
            CollectionSpec("c", [FieldSpec("a", "json", indexed=True)]),
            CollectionSpec("c", (), [("a", "b")]),
        ],
    )
    def test_no_other_field_can_be(self, documents, spec):
        documents.ensure_collection(NS, spec)
        with pytest.raises(InvalidArgument, match="'a' of collection 'c' cannot be grouped by"):
            documents.groups(NS, "c", "a")

    def test_paging_goes_on_when_its_anchor_is_gone_and_sees_what_came(self, documents):
        documents.ensure_collection(NS, GROUPABLE["indexed"])
        for value in "bcd":
            documents.put(NS, "c", value, {"a": value})
        first = documents.groups(NS, "c", "a", limit=1)
        documents.delete(NS, "c", "b")
        for value in ("a", "bb"):
            documents.put(NS, "c", value, {"a": value})
        rest = documents.groups(NS, "c", "a", limit=3, cursor=first.cursor)
        assert ([each.value for each in rest.items], rest.cursor) == (["bb", "c", "d"], None)

    def test_a_cursor_of_anything_else_is_refused(self, documents):
        documents.ensure_collection(NS, GROUPABLE["indexed"])
        documents.ensure_collection(
            NS, CollectionSpec("c", [FieldSpec("b", "string", indexed=True)])
        )
        documents.ensure_collection(
            NS, CollectionSpec("d", [FieldSpec("a", "string", indexed=True)])
        )
        for value in "xy":
            documents.put(NS, "c", value, {"a": value, "b": value})
        cursor = documents.groups(NS, "c", "a", limit=1).cursor
        of_find = documents.find(NS, "c", limit=1).cursor
        for other in (
            {"by": "b", "cursor": cursor},
            {"by": "a", "cursor": cursor, "where": [Predicate("b", "eq", "x")]},
            {"by": "a", "cursor": of_find},
            {"by": "a", "cursor": cursor, "collection": "d"},
        ):
            with pytest.raises(InvalidArgument, match="another query"):
                documents.groups(NS, **({"collection": "c"} | other))
        with pytest.raises(InvalidArgument, match="another query"):
            documents.find(NS, "c", limit=1, cursor=cursor)

    @pytest.mark.parametrize(
        "wrong", [{"by": ""}, {"by": 7}, {"limit": 0}, {"limit": 1001}, {"cursor": "x"},
                  {"where": [Predicate("a", "like", "x")]}, {"collection": ""}]
    )  # fmt: skip
    def test_malformed_calls_are_refused(self, documents, wrong):
        documents.ensure_collection(NS, GROUPABLE["indexed"])
        with pytest.raises(InvalidArgument):
            documents.groups(NS, **({"collection": "c", "by": "a"} | wrong))

    def test_a_collection_has_to_be_declared(self, documents):
        with pytest.raises(CollectionNotFound):
            documents.groups(NS, "c", "a")
