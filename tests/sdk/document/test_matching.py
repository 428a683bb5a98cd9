"""Order and equality of values, and of the keys that stand for them in an index."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from decimal import Decimal
from functools import cmp_to_key
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naas_abi_sdk.document.encoding import to_json_text
from naas_abi_sdk.document.matching import (
    MISSING,
    SortParts,
    equal_keys,
    matches,
    order_key,
    order_key_of_parts,
    sort_key,
    sort_parts,
)
from naas_abi_sdk.document.types import Predicate
from tests.support.document_values import (
    SPECIAL_FLOATS,
    SPECIAL_NUMBERS,
    floats,
    golden_values,
    ints,
    scalars,
    values,
)

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "interop.json").read_text())["values"]

#: One ascending list of everything that can be told apart by an order.
ASCENDING = [
    None,
    False,
    True,
    -1e300,
    -(2**63),
    -(2**53) - 1,
    -(2**53),
    -1.5,
    -1,
    -5e-324,
    0,
    5e-324,
    0.1,
    1,
    1.5,
    2,
    2**53 - 1,
    2**53,
    2**53 + 1,
    2**53 + 2,
    2**63 - 1,
    1e300,
    "",
    "\x01",
    "A",
    "a",
    "aa",
    "b",
    "é",
    "\uffff",
    "\U0001f600",
    datetime(1, 1, 2, tzinfo=timezone.utc),
    datetime(999, 1, 1, tzinfo=timezone.utc),
    datetime(2026, 1, 1, tzinfo=timezone.utc),
    datetime(2026, 1, 1, microsecond=1, tzinfo=timezone.utc),
    b"",
    b"\0",
    b"\0\0",
    b"\xff",
    [2],
    {"a": 1},
]


def decimal_compare(left, right):
    """The rule of numbers, stated apart: the decimal value of the shortest text."""
    a, b = Decimal(repr(left)), Decimal(repr(right))
    return (a > b) - (a < b)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_sort_parts_equal_the_golden_vector(vector):
    parts = sort_parts(golden_values(vector))
    assert [parts.rank, parts.numeric, parts.text] == vector["sort_parts"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_keys_are_equal_exactly_where_the_golden_equality_keys_are(vector):
    for other in VECTORS:
        equal = vector["sqlite_equality_key"] == other["sqlite_equality_key"]
        assert (sort_key(golden_values(vector)) == sort_key(golden_values(other))) is equal


def test_order_keys_ascend():
    keys = [order_key(value) for value in ASCENDING]
    assert keys == sorted(set(keys))


def test_null_and_missing_tie_and_so_do_arrays_and_objects():
    assert order_key(None) == order_key(MISSING)
    assert order_key([1]) == order_key([])
    assert order_key({}) == order_key({"a": 1})
    assert sort_key([1]) != sort_key([])
    assert sort_key(None) is sort_key(MISSING) is None


@given(ints | floats, ints | floats)
def test_numbers_compare_by_decimal_value(left, right):
    a, b = sort_key(left), sort_key(right)
    assert (a > b) - (a < b) == decimal_compare(left, right)


def test_special_numbers_compare_by_decimal_value_all_against_all():
    numbers = SPECIAL_NUMBERS + SPECIAL_FLOATS
    by_rule = sorted(numbers, key=cmp_to_key(decimal_compare))
    assert sorted(numbers, key=sort_key) == by_rule
    for left in numbers:
        for right in numbers:
            assert (sort_key(left) == sort_key(right)) is (decimal_compare(left, right) == 0)


@given(values())
def test_parts_hold_all_an_order_needs(value):
    parts = sort_parts(value)
    key = json.loads(json.dumps([parts.rank, parts.numeric, parts.text]))
    assert order_key_of_parts(SortParts(*key)) == order_key(value)


@given(values(), values())
def test_keys_are_equal_only_for_equal_values(left, right):
    if sort_key(left) == sort_key(right):
        assert left == right or to_json_text({"a": left}) == to_json_text({"a": right})


@given(scalars())
def test_a_value_equals_itself_and_no_other_kind(value):
    assert matches({"a": value}, [Predicate("a", "eq", value)])
    assert not matches({"a": [value]}, [Predicate("a", "eq", value)])
    assert matches({"a": [value]}, [Predicate("a", "contains", value)])


@pytest.mark.parametrize(
    "parts",
    [
        SortParts(0, 1, ""),
        SortParts(0, 0, "x"),
        SortParts(1, 2, ""),
        SortParts(2, 1, "x"),
        SortParts(2, float("nan"), ""),
        SortParts(2, float("inf"), ""),
        SortParts(3, 1, "x"),
        SortParts(4, 0, "yesterday"),
        SortParts(4, 1, "2026-01-01T00:00:00.000000+00:00"),
        SortParts(5, 0, "zz"),
        SortParts(5, 1, "00"),
        SortParts(6, 0, "x"),
        SortParts(7, 1, ""),
        SortParts(8, 0, ""),
        SortParts(-1, 0, ""),
    ],
)
def test_parts_of_no_value_are_refused(parts):
    with pytest.raises(ValueError):  # noqa: PT011 -- each part is refused by what reads it
        order_key_of_parts(parts)


def test_parts_of_integers_beyond_64_bits_are_those_of_the_float():
    assert order_key_of_parts(SortParts(2, 10**30, "")) == order_key(1e30)


def test_keys_of_a_group_need_every_value():
    assert equal_keys(["a", 1]) == (b"\x03a", sort_key(1.0))
    assert equal_keys(["a", None]) is None
    assert equal_keys([MISSING]) is None


@given(st.lists(values(), max_size=4), values())
def test_membership_is_equality_with_any(items, value):
    any_equal = any(matches({"a": value}, [Predicate("a", "eq", item)]) for item in items)
    assert matches({"a": value}, [Predicate("a", "in", items)]) is any_equal
    assert matches({"a": value}, [Predicate("a", "nin", items)]) is not any_equal
    assert not matches({}, [Predicate("a", "in", items)])
    assert not matches({}, [Predicate("a", "nin", items)])
