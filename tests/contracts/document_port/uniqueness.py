"""Values that only one document may hold."""

from __future__ import annotations

from typing import Any

import pytest

from naas_abi_sdk.document.types import (
    CollectionSpec,
    FieldSpec,
)
from naas_abi_sdk.errors import (
    UniqueViolation,
    VersionConflict,
)
from tests.contracts.document_port.common import NOON, NOON_ELSEWHERE, NS, DocumentPortContract

UNIQUE_PAIRS: list[tuple[Any, Any, bool]] = [
    (1, 1.0, True),
    (1, True, False),
    (2**53, 2**53 + 1, False),
    ("x", "x", True),
    ("x", "X", False),
    ("x", b"x", False),
    (NOON, NOON_ELSEWHERE, True),
    ([1, {"a": 1.0}], [1.0, {"a": 1}], True),
    ([1, 2], [2, 1], False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    (None, None, False),
    ([], {}, False),
    (0.0, -0.0, True),
]


class UniquenessContract(DocumentPortContract):
    """Values that only one document may hold."""

    @pytest.mark.parametrize(("first", "second", "clash"), UNIQUE_PAIRS)
    def test_a_unique_value_is_held_once(self, documents, first, second, clash):
        documents.ensure_collection(NS, CollectionSpec("c", [FieldSpec("a", "json", unique=True)]))
        documents.put(NS, "c", "x", {"a": first})
        documents.put(NS, "c", "none", {})
        documents.put(NS, "c", "none-2", {})
        if not clash:
            documents.put(NS, "c", "y", {"a": second})
            return
        for if_version in (None, 0):
            with pytest.raises(UniqueViolation):
                documents.put(NS, "c", "y", {"a": second}, if_version=if_version)
        documents.put(NS, "c", "y", {"a": "free"})
        for if_version in (None, 1):
            with pytest.raises(UniqueViolation):
                documents.put(NS, "c", "y", {"a": second}, if_version=if_version)
        assert documents.get(NS, "c", "y").data == {"a": "free"}
        documents.put(NS, "c", "x", {"a": second})
        documents.delete(NS, "c", "x")
        documents.put(NS, "c", "y", {"a": first})

    def test_a_replaced_or_deleted_document_gives_its_unique_values_back(self, documents):
        documents.ensure_collection(NS, CollectionSpec("c", [FieldSpec("a", "int", unique=True)]))
        documents.put(NS, "c", "x", {"a": 1})
        documents.put(NS, "c", "x", {"a": 2})
        documents.put(NS, "c", "y", {"a": 1})
        documents.delete(NS, "c", "y")
        documents.put(NS, "c", "z", {"a": 1})
        assert [item.id for item in documents.find(NS, "c").items] == ["x", "z"]

    def test_a_wrong_version_is_told_before_a_taken_value(self, documents):
        documents.ensure_collection(NS, CollectionSpec("c", [FieldSpec("a", "json", unique=True)]))
        documents.put(NS, "c", "x", {"a": 1})
        documents.put(NS, "c", "y", {"a": 2})
        for if_version in (0, 7):
            with pytest.raises(VersionConflict):
                documents.put(NS, "c", "y", {"a": 1}, if_version=if_version)

    def test_a_group_is_unique_together_where_it_is_whole(self, documents):
        documents.ensure_collection(NS, CollectionSpec("c", (), [("a", "b")]))
        documents.put(NS, "c", "x", {"a": 1, "b": 1})
        documents.put(NS, "c", "other-b", {"a": 1, "b": 2})
        for number, partial in enumerate([{"a": 1}, {"a": 1, "b": None}, {"b": 1}, {}] * 2):
            documents.put(NS, "c", f"partial-{number}", partial)
        with pytest.raises(UniqueViolation):
            documents.put(NS, "c", "y", {"a": 1.0, "b": 1})

    def test_declaring_a_unique_field_that_is_not_changes_nothing(self, store):
        store.put(NS, "c", "x", {"a": 1, "b": 1})
        store.put(NS, "c", "y", {"a": 1.0})
        added = CollectionSpec("c", [FieldSpec("b", "int")], [("a",)])
        with pytest.raises(UniqueViolation):
            store.ensure_collection(NS, added)
        assert store.collection_spec(NS, "c") == CollectionSpec("c", (), ())
        store.delete(NS, "c", "y")
        store.ensure_collection(NS, added)
        with pytest.raises(UniqueViolation):
            store.put(NS, "c", "y", {"a": 1})
