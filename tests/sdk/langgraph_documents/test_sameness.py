"""Sameness tells apart what equality does not, and arrays come back as they were."""

from __future__ import annotations

import datetime as dt
import sys
from collections import defaultdict, deque
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from naas_abi_sdk.errors import NotFaithful
from naas_abi_sdk.langgraph_documents.faithful import FaithfulSerializer
from naas_abi_sdk.langgraph_documents.sameness import difference
from naas_abi_sdk.langgraph_documents.tagging import KIND
from tests.support.kept_values import Basket, Name, Order, Point, Ticket, Total

UTC = dt.timezone.utc
DAY = dt.datetime(2026, 10, 25, 1, 30, tzinfo=ZoneInfo("Europe/London"))


class Equal:
    """Equal to everything, and to nothing it could be told from by what it holds."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]  # as Python does


def basket(extra: int) -> Basket:
    value = Basket()
    value.extra = extra  # type: ignore[attr-defined]  # what users do
    return value


@pytest.mark.parametrize(
    ("stored", "loaded", "path"),
    [
        (1, True, ""),
        (1, 1.0, ""),
        (0.0, -0.0, ""),
        ("x", Name("x"), ""),
        ([1], (1,), ""),
        ([1, [2]], [1, [2.0]], "[1][0]"),
        ({"a": 1}, {"a": 2}, "['a']"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ""),
        ({1: 1}, {True: 1}, ""),
        ({2: 1}, {2.0: 1}, ""),
        ({"a": 1}, {}, ""),
        ({1}, {True}, "{member}"),
        ({1}, {2}, ""),
        ({(1,)}, {(1.0,)}, "{member}[0]"),
        (deque([1]), deque([1], 2), ""),
        (defaultdict(list), defaultdict(set), ""),
        (Decimal("1.0"), Decimal("1.00"), ""),
        (b"x", bytearray(b"x"), ""),
        (memoryview(b"x"), memoryview(b"y"), ""),
        (DAY, DAY.replace(fold=1), ""),
        (DAY, DAY.astimezone(UTC), ""),
        (DAY, DAY.replace(tzinfo=UTC), ""),
        (dt.time(1, tzinfo=UTC), dt.time(1), ""),
        (UTC, dt.timezone(dt.timedelta(0), "x"), ""),
        (dt.date(2026, 1, 1), dt.date(2026, 1, 2), ""),
        (Order.State.OPEN, "open", ""),
        (Order(note=1), Order(note=2), ".note"),
        (Order(note=[1]), Order(note=[True]), ".note[0]"),
        (Point(1, 2), (1, 2), ""),
        (Total(1), Total(1, tags=1), ".tags"),
        (basket(1), basket(2), ".extra"),
        (HumanMessage("x"), AIMessage("x"), ""),
        (Ticket(1), Ticket(1), ""),
        (np.array([1]), np.array([2]), ""),
        (np.array([1]), np.array([1.0]), ""),
        (np.array([1]), np.array([[1]]), ""),
        (np.array([1, [2]], object), np.array([1, [3]], object), "[1][0]"),
        (np.int64(1), np.int32(1), ""),
        (object, int, ""),
    ],
)
def test_differences_are_found(stored: Any, loaded: Any, path: str) -> None:
    found = difference(stored, loaded)
    assert found is not None
    assert found.path == path
    assert difference(stored, stored) is None or isinstance(stored, Ticket)


def test_what_cannot_be_looked_into_is_compared_by_itself() -> None:
    assert difference(Equal(), Equal()) is None
    assert difference(object, object) is None


@pytest.mark.parametrize(
    "value",
    [
        np.float64(1.5),
        np.int64(3),
        np.float32(1.1),
        np.bool_(True),
        np.str_("abc"),
        np.datetime64("2026-01-01"),
        np.complex128(1 + 2j),
        np.array([1, None, [2]], dtype=object),
        np.array([[1, "a"], [None, (1,)]], dtype=object),
        np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]),
        np.array(["2026-01-01"], dtype="M8[D]"),
        {"a": (np.arange(3),)},
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}",
)
def test_what_langgraph_loses_of_arrays_is_kept(value: Any) -> None:
    """C006: scalars keep their type, arrays their elements."""
    serde = FaithfulSerializer(allowed_types=[])
    kind, payload = serde.dumps_typed(value)
    assert kind == KIND
    loaded = serde.loads_typed((kind, payload))
    assert difference(value, loaded) is None


@pytest.mark.parametrize(
    "value", [np.arange(6).reshape(2, 3).T, np.arange(6)[::2], np.zeros((0, 3)), np.array("ab")]
)
def test_what_langgraph_keeps_of_arrays_stays_writable(value: Any) -> None:
    serde = FaithfulSerializer(allowed_types=[])
    kind, payload = serde.dumps_typed(value)
    loaded = serde.loads_typed((kind, payload))
    assert kind == "msgpack"
    assert difference(value, loaded) is None
    assert loaded.flags.writeable


@pytest.mark.parametrize(
    "value",
    [np.array([(1, None)], dtype=[("a", "<i4"), ("b", "O")]), np.ma.masked_array([1], [True])],
)
def test_other_arrays_are_refused(value: Any) -> None:
    with pytest.raises(NotFaithful) as caught:
        FaithfulSerializer().dumps_typed([value])
    assert caught.value.path == "[0]"


def test_an_array_where_numpy_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    serde = FaithfulSerializer()
    typed = serde.dumps_typed(np.arange(3))
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ValueError, match="numpy is not installed"):
        serde.loads_typed(typed)
