"""Batches of writes, and what a closed store does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from naas_abi_sdk.document.types import (
    CollectionSpec,
    Delete,
    FieldSpec,
    Keep,
    Outcome,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.errors import (
    CollectionNotFound,
    DocumentStorageError,
    InvalidArgument,
)
from tests.contracts.document_port.common import NS, DocumentPortContract, ids


class WritingContract(DocumentPortContract):
    """Batches of writes, and what a closed store does."""

    def test_writes_are_done_in_order_and_answered_one_by_one(self, store):
        store.ensure_collection(NS, CollectionSpec("d"))
        outcomes = store.write(
            NS,
            (
                Put("c", "x", {"n": 1}, 0),
                Put("d", "x", {"n": 2}),
                Put("c", "x", {"n": 3}, 1),
                Put("c", "x", {"n": 4}, 1),
                Put("c", "x", {"n": 5}, 0),
                Put("c", "x", {"n": 6}),
                Put("c", "gone", {}),
                Delete("c", "gone"),
                Delete("c", "gone"),
                Delete("c", "gone", 1),
                Delete("d", "x", 1),
            ),
        )
        assert outcomes == [
            Outcome("done", 1),
            Outcome("done", 1),
            Outcome("done", 2),
            Outcome("conflict"),
            Outcome("conflict"),
            Outcome("done", 3),
            Outcome("done", 1),
            Outcome("done"),
            Outcome("done"),
            Outcome("conflict"),
            Outcome("done"),
        ]
        assert all(outcome.reason for outcome in outcomes if outcome.state == "conflict")
        assert store.get(NS, "c", "x").data == {"n": 6}
        assert (store.count(NS, "c"), store.count(NS, "d")) == (1, 0)
        assert store.write(NS, []) == []

    def test_keep_stores_once_and_then_only_counts(self, store):
        write = Keep("c", "x", {"n": 1})
        assert store.write(NS, [write, write]) == [Outcome("done", 1), Outcome("done", 2)]
        first = store.get(NS, "c", "x")
        assert store.write(NS, [Keep("c", "x", {"n": "ignored"})]) == [Outcome("done", 3)]
        kept = store.get(NS, "c", "x")
        assert kept.data == {"n": 1}
        assert kept.created_at == first.created_at
        assert kept.updated_at >= first.updated_at
        assert ids(store.find(NS, "c", [Predicate("n", "eq", "ignored")])) == []

    def test_after_a_refused_require_nothing_is_done(self, store):
        store.put(NS, "c", "parent", {})
        outcomes = store.write(
            NS,
            [
                Require("c", "parent"),
                Put("c", "before", {}),
                Require("c", "before"),
                Require("c", "absent"),
                Put("c", "after", {}),
                Delete("c", "parent"),
                Keep("c", "after", {}),
                Require("c", "parent"),
            ],
        )
        states = ["done", "done", "done", "conflict", "skipped", "skipped", "skipped", "skipped"]
        assert [outcome.state for outcome in outcomes] == states
        assert [outcome.version for outcome in outcomes] == [None, 1] + [None] * 6
        assert "absent" in outcomes[3].reason
        assert ids(store.find(NS, "c")) == ["before", "parent"]

    def test_a_version_can_be_required(self, store):
        store.put(NS, "c", "x", {})
        store.put(NS, "c", "x", {})
        for version, states in (
            (1, ["conflict", "skipped"]),
            (2, ["done", "done"]),
            (3, ["conflict", "skipped"]),
        ):
            batch = [Require("c", "x", version), Keep("c", f"after {version}", {})]
            assert [outcome.state for outcome in store.write(NS, batch)] == states
        absent = store.write(NS, [Require("c", "absent", 1), Put("c", "y", {}, 1)])
        assert [outcome.state for outcome in absent] == ["conflict", "skipped"]
        both = store.write(NS, [Require("c", "x", 1), Require("c", "x", 2), Put("c", "y", {})])
        assert [outcome.state for outcome in both] == ["conflict", "skipped", "skipped"]
        mixed = [Require("c", "x"), Require("c", "x", 2), Put("c", "x", {}), Require("c", "x", 2)]
        answers = [outcome.state for outcome in store.write(NS, mixed)]
        assert answers == ["done", "done", "done", "conflict"]
        assert ids(store.find(NS, "c")) == ["after 2", "x"]
        assert store.get(NS, "c", "x").version == 3

    def test_a_taken_unique_value_is_a_conflict_and_the_rest_goes_on(self, documents):
        documents.ensure_collection(NS, CollectionSpec("c", [FieldSpec("a", "json", unique=True)]))
        outcomes = documents.write(
            NS,
            [
                Put("c", "x", {"a": 1}),
                Put("c", "y", {"a": 1.0}),
                Put("c", "y", {"a": 1.0}, 0),
                Keep("c", "y", {"a": 1}),
                Keep("c", "x", {"a": 1}),
                Put("c", "y", {"a": 2}),
                Put("c", "y", {"a": 1}, 1),
            ],
        )
        assert [outcome.state for outcome in outcomes] == [
            "done", "conflict", "conflict", "conflict", "done", "done", "conflict",
        ]  # fmt: skip
        assert documents.get(NS, "c", "y").data == {"a": 2}
        assert documents.get(NS, "c", "x").version == 2

    def test_a_batch_with_a_wrong_write_writes_nothing(self, store):
        store.ensure_collection(NS, CollectionSpec("t", [FieldSpec("a", "int")]))
        for wrong in (
            Put("c", "", {}),
            Put("c", "x", {"a": object()}),
            Put("t", "x", {"a": "text"}),
            Put("nowhere", "x", {}),
            "write",
        ):
            with pytest.raises((InvalidArgument, CollectionNotFound)):
                store.write(NS, [Put("c", "first", {}), wrong])
        assert store.count(NS, "c") == 0

    def test_concurrent_batches_lose_nothing(self, store):
        def batch(number):
            writes = [Put("c", f"{number}-{n}", {"n": n}, 0) for n in range(10)]
            return store.write(NS, [*writes, Keep("c", "shared", {"n": 1})])

        with ThreadPoolExecutor(6) as threads:
            answers = list(threads.map(batch, range(30)))
        assert all(outcome.state == "done" for outcomes in answers for outcome in outcomes)
        assert store.count(NS, "c") == 301
        assert store.get(NS, "c", "shared").version == 30

    def test_a_closed_store_refuses_every_call(self, store):
        store.close()
        store.close()
        for refused in (
            lambda: store.put(NS, "c", "x", {}),
            lambda: store.get(NS, "c", "x"),
            lambda: store.delete(NS, "c", "x"),
            lambda: store.find(NS, "c"),
            lambda: store.count(NS, "c"),
            lambda: store.write(NS, [Put("c", "x", {})]),
            lambda: store.ensure_collection(NS, CollectionSpec("c")),
            lambda: store.drop_collection(NS, "c"),
            lambda: store.collections(NS),
            lambda: store.collection_spec(NS, "c"),
            store.namespaces,
        ):
            with pytest.raises(DocumentStorageError, match="closed"):
                refused()
