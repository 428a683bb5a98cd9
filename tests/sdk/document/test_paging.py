"""Cursors as the golden vectors have them, and where pages end."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from naas_abi_sdk.document.matching import SortParts
from naas_abi_sdk.document.paging import Entry, Place, assemble, item_weight, prepare, select
from naas_abi_sdk.document.types import Document, OrderBy, Predicate
from naas_abi_sdk.errors import InvalidArgument

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "interop.json").read_text())
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def arguments(vector):
    query = vector["query"]
    order = query["order_by"]
    return {
        "namespace": query["namespace"],
        "collection": query["collection"],
        "where": [Predicate(*condition) for condition in query["where"]],
        "order_by": OrderBy(*order) if order else None,
        "limit": query["limit"],
    }


def place(vector):
    *parts, id_ = json.loads(vector["decoded"])["key"]
    return Place(id_, SortParts(*parts) if parts else None)


@pytest.mark.parametrize("vector", VECTORS["cursors"])
def test_cursors_equal_the_golden_vector(vector):
    assert prepare(**arguments(vector)).cursor_after(place(vector)) == vector["cursor"]


@pytest.mark.parametrize("vector", VECTORS["cursors"])
def test_golden_cursors_are_read_with_any_limit_and_order_of_conditions(vector):
    asked = arguments(vector) | {"limit": 7, "cursor": vector["cursor"], "max_bytes": 5}
    asked["where"].reverse()
    assert prepare(**asked).after == place(vector)


def encoded(content):
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode()


FINGERPRINT = prepare("n", "c").fingerprint


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "%",
        "é",
        7,
        b"e30=",
        encoded({}),
        encoded([]),
        encoded({"key": ["a"], "q": FINGERPRINT}),
        encoded({"key": ["a"], "q": FINGERPRINT, "v": 2}),
        encoded({"key": ["a"], "q": FINGERPRINT, "v": True}),
        encoded({"key": "a", "q": FINGERPRINT, "v": 1}),
        encoded({"key": [], "q": FINGERPRINT, "v": 1}),
        encoded({"key": [1], "q": FINGERPRINT, "v": 1}),
        encoded({"key": [""], "q": FINGERPRINT, "v": 1}),
        encoded({"key": [3, 0, "", "a"], "q": FINGERPRINT, "v": 1}),
        encoded({"key": ["a"], "q": FINGERPRINT, "v": 1})[:-2],
        encoded({"key": ["a"], "q": FINGERPRINT, "v": 1}) + "*",
    ],
)
def test_malformed_cursors_are_refused(cursor):
    with pytest.raises(InvalidArgument, match="malformed"):
        prepare("n", "c", cursor=cursor)


@pytest.mark.parametrize(
    "key", [["a"], [3, 0, "", 1], [True, 0, "", "a"], [3, "0", "", "a"], [4, 0, "x", "a"]]
)
def test_malformed_places_in_an_order_are_refused(key):
    order = OrderBy("age")
    cursor = encoded({"key": key, "q": prepare("n", "c", (), order).fingerprint, "v": 1})
    with pytest.raises(InvalidArgument, match="malformed"):
        prepare("n", "c", (), order, cursor=cursor)


@pytest.mark.parametrize(
    "other",
    [
        {"namespace": "m"},
        {"collection": "d"},
        {"where": [Predicate("a", "eq", 2)]},
        {"where": [Predicate("a", "ne", 1)]},
        {"where": []},
        {"order_by": OrderBy("a", "asc")},
        {"order_by": OrderBy("b", "desc")},
    ],
)
def test_a_cursor_of_another_query_is_refused(other):
    asked = {
        "namespace": "n",
        "collection": "c",
        "where": [Predicate("a", "eq", 1)],
        "order_by": OrderBy("a", "desc"),
    }
    cursor = prepare(**asked).cursor_after(Place("x", SortParts(2, 1, "")))
    assert prepare(**asked, cursor=cursor).after
    with pytest.raises(InvalidArgument, match="another query"):
        prepare(**asked | other, cursor=cursor)


def entries(sizes):
    for number, size in enumerate(sizes):
        yield Entry(Document(f"d{number}", {}, NOW, NOW, 1), size, None)


@pytest.mark.parametrize(
    ("sizes", "limit", "budget", "held", "more"),
    [
        ([], 1, None, 0, False),
        ([10], 1, None, 1, False),
        ([10, 10], 1, None, 1, True),
        ([10, 10, 10], 9, item_weight("d0", 10) * 3, 3, False),
        ([10, 10, 10], 9, item_weight("d0", 10) * 3 - 1, 2, True),
        ([10, 10, 10], 9, 1, 1, True),
        ([10], 9, 1, 1, False),
    ],
)
def test_a_page_ends_at_the_limit_or_before_the_budget(sizes, limit, budget, held, more):
    page = assemble(entries(sizes), prepare("n", "c", limit=limit, max_bytes=budget))
    assert len(page.items) == held
    assert (page.cursor is not None) is more


def test_no_entry_is_taken_beyond_the_first_that_does_not_fit():
    taken = []

    def counted():
        for entry in entries([10] * 100):
            taken.append(entry)
            yield entry

    assemble(counted(), prepare("n", "c", limit=3))
    assert len(taken) == 4


def test_the_weight_of_an_item_is_its_size_its_id_and_64():
    assert item_weight("é", 10) == 10 + 2 + 64


def test_selection_is_one_more_than_the_page_and_starts_after_its_cursor():
    documents = [(f"d{number}", {"n": number % 3}) for number in range(9)]
    query = prepare("n", "c", (), OrderBy("n", "desc"), 2)
    assert select(iter(documents), query) == ["d8", "d5", "d2"]
    rest = prepare(
        "n", "c", (), OrderBy("n", "desc"), 2, query.cursor_after(Place("d5", SortParts(2, 2, "")))
    )
    assert select(reversed(documents), rest) == ["d2", "d7", "d4"]
