"""What the parts of the contract share: documents of every kind, and the fixtures."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from naas_abi_sdk.document.types import (
    CollectionSpec,
    FieldSpec,
)

NS = "acme.module"

NAIVE = datetime(2026, 1, 1, tzinfo=timezone.utc).replace(tzinfo=None)

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

NOON_ELSEWHERE = NOON.astimezone(timezone(timedelta(hours=-7)))

#: Documents that hold ``a`` in every kind of value; ``missing`` holds none.
VARIETY: dict[str, dict[str, Any]] = {
    "array": {"a": [1, "x", None, {"k": 1}]},
    "bytes": {"a": b"\x00\xff"},
    "empty-array": {"a": []},
    "false": {"a": False},
    "int": {"a": 1},
    "int-big": {"a": 2**53 + 1},
    "float": {"a": 1.5},
    "float-big": {"a": float(2**53)},
    "missing": {"b": 1},
    "noon": {"a": NOON},
    "null": {"a": None},
    "object": {"a": {"k": [1, {"d": NOON}]}},
    "string": {"a": "x"},
    "string-2": {"a": "é"},
    "true": {"a": True},
}

PRESENT = set(VARIETY) - {"missing"}

#: Declarations of ``a`` that must not change what a query answers.
DECLARATIONS = {
    "undeclared": CollectionSpec("c"),
    "indexed": CollectionSpec("c", [FieldSpec("a", "json", indexed=True)]),
    "unique": CollectionSpec("c", [FieldSpec("a", "json", unique=True)]),
    "second in a group": CollectionSpec("c", unique_together=[("b", "a")]),
    "first in a group": CollectionSpec("c", unique_together=[("a", "b")]),
}


def ids(page: Any) -> list[str]:
    return [item.id for item in page.items]


def flat(lists: list[list[str]]) -> list[str]:
    return [item for items in lists for item in items]


def pages(documents: Any, limit: int, *args: Any, **kwargs: Any) -> list[list[str]]:
    """All pages of a query, as ids."""
    result, cursor = [], None
    while True:
        page = documents.find(NS, "c", *args, limit=limit, cursor=cursor, **kwargs)
        result.append(ids(page))
        cursor = page.cursor
        if cursor is None:
            return result


class DocumentPortContract:
    """Supplies the store to the tests of the parts."""

    @pytest.fixture
    def documents(self) -> Any:
        raise NotImplementedError

    @pytest.fixture
    def store(self, documents: Any) -> Any:
        documents.ensure_collection(NS, CollectionSpec("c"))
        return documents

    @pytest.fixture(params=sorted(DECLARATIONS))
    def variety(self, request, documents):
        """The documents of VARIETY, half of them stored before the declaration."""
        documents.ensure_collection(NS, CollectionSpec("c"))
        for number, (id_, data) in enumerate(VARIETY.items()):
            if number == len(VARIETY) // 2:
                documents.ensure_collection(NS, DECLARATIONS[request.param])
            documents.put(NS, "c", id_, data)
        return documents
