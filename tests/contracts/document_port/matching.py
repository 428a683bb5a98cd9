"""Which documents a query matches."""

from __future__ import annotations

from typing import Any

import pytest

from naas_abi_sdk.document.types import (
    OrderBy,
    Predicate,
)
from naas_abi_sdk.errors import InvalidArgument
from tests.contracts.document_port.common import (
    NOON,
    NOON_ELSEWHERE,
    NS,
    PRESENT,
    DocumentPortContract,
    ids,
)

MATCHES: list[tuple[str, Any, set[str]]] = [
    ("eq", 1, {"int"}),
    ("eq", 1.0, {"int"}),
    ("eq", True, {"true"}),
    ("eq", 2**53, {"float-big"}),
    ("eq", float(2**53), {"float-big"}),
    ("eq", 2**53 + 1, {"int-big"}),
    ("eq", None, {"null"}),
    ("eq", "x", {"string"}),
    ("eq", NOON_ELSEWHERE, {"noon"}),
    ("eq", b"\x00\xff", {"bytes"}),
    ("eq", [], {"empty-array"}),
    ("eq", [1.0, "x", None, {"k": 1.0}], {"array"}),
    ("eq", ["x", 1, None, {"k": 1}], set()),
    ("eq", {"k": [1, {"d": NOON_ELSEWHERE}]}, {"object"}),
    ("eq", {"k": [1]}, set()),
    ("ne", 1, PRESENT - {"int"}),
    ("ne", None, PRESENT - {"null"}),
    ("ne", [], PRESENT - {"empty-array"}),
    ("lt", 1.5, {"int"}),
    ("lte", 1.5, {"int", "float"}),
    ("gt", 1, {"float", "float-big", "int-big"}),
    ("gt", 2**53, {"int-big"}),
    ("gte", 2**53, {"float-big", "int-big"}),
    ("gte", False, {"false", "true"}),
    ("lt", True, {"false"}),
    ("gte", "", {"string", "string-2"}),
    ("gt", "x", {"string-2"}),
    ("lt", "\U0010ffff", {"string", "string-2"}),
    ("lte", NOON_ELSEWHERE, {"noon"}),
    ("lt", NOON, set()),
    ("gte", b"", {"bytes"}),
    ("lt", b"\x00\xff\x00", {"bytes"}),
    ("in", [1.0, "x", NOON], {"int", "string", "noon"}),
    ("in", [None, [], b"\x00\xff"], {"null", "empty-array", "bytes"}),
    ("in", [1, 1, 1.0], {"int"}),
    ("in", [], set()),
    ("nin", [1, None, "x"], PRESENT - {"int", "null", "string"}),
    ("nin", [1], PRESENT - {"int"}),
    ("nin", [], PRESENT),
    ("contains", 1.0, {"array"}),
    ("contains", None, {"array"}),
    ("contains", {"k": 1}, {"array"}),
    ("contains", True, set()),
    ("contains", "é", set()),
    ("exists", True, PRESENT),
    ("exists", False, {"missing"}),
]

BAD_QUERIES: list[dict[str, Any]] = [
    {"where": [Predicate("a", "like", 1)]},  # type: ignore[arg-type]  # on purpose
    {"where": [("a", "eq", 1)]},
    {"where": Predicate("a", "eq", 1)},
    {"where": "a"},
    {"where": [Predicate("a", "eq", {1})]},
    {"where": [Predicate("a", "eq", 2**63)]},
    {"where": [Predicate("a", "lt", None)]},
    {"where": [Predicate("a", "gte", [])]},
    {"where": [Predicate("a", "lte", {})]},
    {"where": [Predicate("a", "in", 1)]},
    {"where": [Predicate("a", "in", (1,))]},
    {"where": [Predicate("a", "nin", [0] * 501)]},
    {"where": [Predicate("a", "exists", 1)]},
    {"where": [Predicate("a", "exists", None)]},
    {"where": [Predicate("a", "contains", float("inf"))]},
]

BAD_PAGES: list[dict[str, Any]] = [
    {"order_by": "a"},
    {"order_by": OrderBy("a", "down")},  # type: ignore[arg-type]  # on purpose
    {"limit": 0},
    {"limit": 1001},
    {"limit": True},
    {"limit": None},
    {"limit": 1.0},
    {"cursor": ""},
    {"cursor": "nonsense"},
    {"max_bytes": 0},
    {"max_bytes": True},
    {"fields": "a"},
    {"fields": [1]},
    {"fields": ["\0"]},
]


class MatchingContract(DocumentPortContract):
    """Which documents a query matches."""

    def test_predicates_match_exactly(self, variety):
        for operator, value, expected in MATCHES:
            where = [Predicate("a", operator, value)]
            assert (operator, value, set(ids(variety.find(NS, "c", where)))) == (
                operator,
                value,
                expected,
            )
            assert variety.count(NS, "c", where) == len(expected)
            ordered = variety.find(NS, "c", where, OrderBy("a", "desc"))
            assert set(ids(ordered)) == expected

    def test_conditions_are_all_met_and_may_be_any_iterable(self, variety):
        where = (Predicate("a", "gte", bound) for bound in (1, 1.5))
        assert ids(variety.find(NS, "c", where)) == ["float", "float-big", "int-big"]
        both = [Predicate("a", "exists", False), Predicate("b", "eq", 1)]
        assert ids(variety.find(NS, "c", both)) == ["missing"]
        assert ids(variety.find(NS, "c", [*both, Predicate("b", "eq", 2)])) == []

    @pytest.mark.parametrize("query", [*BAD_QUERIES, *BAD_PAGES], ids=str)
    def test_malformed_queries_are_refused(self, store, query):
        with pytest.raises(InvalidArgument):
            store.find(NS, "c", **query)
        if "where" in query:
            with pytest.raises(InvalidArgument):
                store.count(NS, "c", **query)

    def test_the_most_values_of_a_condition(self, store):
        for number in range(3):
            store.put(NS, "c", f"d{number}", {"a": number * 499})
        where = [Predicate("a", "in", list(range(500)))]
        assert ids(store.find(NS, "c", where)) == ["d0", "d1"]
