"""Declaring, merging, typing, listing and dropping collections."""

from __future__ import annotations

from typing import Any

import pytest

from naas_abi_sdk.document.types import (
    CollectionSpec,
    FieldSpec,
    Keep,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.errors import (
    CollectionNotFound,
    InvalidArgument,
)
from tests.contracts.document_port.common import NOON, NS, DocumentPortContract, ids
from tests.support.document_values import same

TYPED: dict[str, tuple[list[Any], list[Any]]] = {
    "string": (["", "x"], [1, b"x", True]),
    "int": ([1, -1], [1.0, True, "1"]),
    "float": ([1, 1.5], [True, "1"]),
    "bool": ([True, False], [1, "true"]),
    "datetime": ([NOON], ["2026-01-01T00:00:00+00:00", 1]),
    "bytes": ([b""], ["", 1]),
    "json": ([1, "x", True, b"", NOON, [], {}], []),
}


class CollectionContract(DocumentPortContract):
    """Declaring, merging, typing, listing and dropping collections."""

    def test_nothing_works_on_a_collection_that_is_not_declared(self, documents):
        documents.ensure_collection("other", CollectionSpec("c"))
        for refused in (
            lambda: documents.put(NS, "c", "x", {}),
            lambda: documents.get(NS, "c", "x"),
            lambda: documents.delete(NS, "c", "x"),
            lambda: documents.find(NS, "c"),
            lambda: documents.count(NS, "c"),
            lambda: documents.write(NS, [Put("c", "x", {})]),
            lambda: documents.write(NS, [Require("c", "x")]),
            lambda: documents.drop_collection(NS, "c"),
            lambda: documents.collection_spec(NS, "c"),
        ):
            with pytest.raises(CollectionNotFound, match="'c'"):
                refused()
        assert documents.collections(NS) == []

    def test_collections_and_namespaces_are_listed_sorted(self, documents):
        for namespace, collection in (("n", "b"), ("n", "a"), ("m", "z"), ("gone", "x")):
            documents.ensure_collection(namespace, CollectionSpec(collection))
        documents.drop_collection("gone", "x")
        assert documents.collections("n") == ["a", "b"]
        assert documents.collections("gone") == []
        assert documents.namespaces() == ["m", "n"]

    def test_namespaces_and_collections_are_apart(self, documents):
        for namespace in ("n", "m"):
            for collection in ("a", "b"):
                documents.ensure_collection(namespace, CollectionSpec(collection))
                documents.put(namespace, collection, "x", {"at": namespace + collection})
        documents.drop_collection("n", "a")
        assert documents.get("m", "a", "x").data == {"at": "ma"}
        assert documents.get("n", "b", "x").data == {"at": "nb"}

    def test_dropping_deletes_the_documents(self, store):
        store.put(NS, "c", "x", {})
        store.drop_collection(NS, "c")
        store.ensure_collection(NS, CollectionSpec("c"))
        assert store.count(NS, "c") == 0

    def test_declaring_again_merges(self, documents):
        documents.ensure_collection(
            NS,
            CollectionSpec("c", [FieldSpec("b", "int", indexed=True), FieldSpec("a", "json")],
                           [("x", "y")]),
        )  # fmt: skip
        documents.ensure_collection(
            NS,
            CollectionSpec("c", [FieldSpec("z", "bool"), FieldSpec("b", "int", unique=True)],
                           [("y", "x"), ("x", "y", "z")]),
        )  # fmt: skip
        documents.ensure_collection(NS, CollectionSpec("c"))
        assert documents.collection_spec(NS, "c") == CollectionSpec(
            "c",
            (
                FieldSpec("b", "int", indexed=True, unique=True),
                FieldSpec("a", "json"),
                FieldSpec("z", "bool"),
            ),
            (("x", "y"), ("x", "y", "z")),
        )

    @pytest.mark.parametrize(
        "spec",
        [
            CollectionSpec("c", [FieldSpec("a", "int"), FieldSpec("a", "int")]),
            CollectionSpec("c", [FieldSpec("a", "text")]),  # type: ignore[arg-type]  # on purpose
            CollectionSpec("c", [FieldSpec("a", "int", indexed=1)]),  # type: ignore[arg-type]  # as above
            CollectionSpec("c", (), [()]),
            CollectionSpec("c", (), [("a", "a")]),
            CollectionSpec("c", (), ["ab"]),
            CollectionSpec("c", [("a", "int")]),  # type: ignore[list-item]  # as above
            CollectionSpec("c", 1),  # type: ignore[arg-type]  # as above
            "c",
        ],
        ids=str,
    )
    def test_malformed_declarations_are_refused(self, documents, spec):
        with pytest.raises(InvalidArgument):
            documents.ensure_collection(NS, spec)
        assert documents.collections(NS) == []

    def test_a_field_cannot_change_its_type(self, documents):
        spec = CollectionSpec("c", [FieldSpec("a", "int")])
        documents.ensure_collection(NS, spec)
        changed = CollectionSpec("c", [FieldSpec("b", "int"), FieldSpec("a", "float")])
        with pytest.raises(InvalidArgument, match=r"'a'.*declared int.*cannot become float"):
            documents.ensure_collection(NS, changed)
        assert documents.collection_spec(NS, "c") == CollectionSpec("c", (FieldSpec("a", "int"),))

    @pytest.mark.parametrize("type_", sorted(TYPED))
    def test_declared_types_constrain_present_values(self, documents, type_):
        good, bad = TYPED[type_]
        documents.ensure_collection(NS, CollectionSpec("c", [FieldSpec("a", type_, indexed=True)]))
        for value in good:
            assert same(documents.put(NS, "c", "x", {"a": value}).data["a"], value)
        assert documents.put(NS, "c", "x", {"a": None}).data == {"a": None}
        assert documents.put(NS, "c", "x", {"free": [1]}).data == {"free": [1]}
        for value in bad:
            for refused in (
                lambda value=value: documents.put(NS, "c", "x", {"a": value}),
                lambda value=value: documents.write(NS, [Keep("c", "y", {"a": value})]),
            ):
                with pytest.raises(InvalidArgument, match=rf"data\.a is declared {type_}"):
                    refused()
        assert documents.count(NS, "c") == 1

    def test_declaring_a_type_stored_documents_do_not_have_changes_nothing(self, store):
        store.put(NS, "c", "good", {"a": 1})
        store.put(NS, "c", "bad", {"a": "text"})
        added = CollectionSpec("c", [FieldSpec("a", "int", indexed=True), FieldSpec("b", "int")])
        with pytest.raises(InvalidArgument, match="'bad'"):
            store.ensure_collection(NS, added)
        assert store.collection_spec(NS, "c") == CollectionSpec("c", (), ())
        store.put(NS, "c", "worse", {"a": "text", "b": "text"})
        store.delete(NS, "c", "bad")
        store.delete(NS, "c", "worse")
        store.ensure_collection(NS, added)
        assert ids(store.find(NS, "c", [Predicate("a", "eq", 1)])) == ["good"]
