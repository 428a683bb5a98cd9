"""Values, times and names of single documents."""

from __future__ import annotations

from datetime import timedelta

import pytest

from naas_abi_sdk.document.types import (
    CollectionSpec,
    FieldSpec,
    Keep,
    OrderBy,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.errors import InvalidArgument
from tests.contracts.document_port.common import NAIVE, NS, VARIETY, DocumentPortContract, ids
from tests.support.document_values import same

BAD_NAMES = ["", "a\0b", "\ud800", None, 7, b"x"]


class StoringContract(DocumentPortContract):
    """Values, times and names of single documents."""

    @pytest.mark.parametrize("id_", sorted(VARIETY))
    def test_a_document_comes_back_with_its_values_and_their_types(self, store, id_):
        data = {**VARIETY[id_], "": 0.0, "$t": {"$b": [1], "$$v": b""}, "nested": [[{"x": -1}]]}
        stored = store.put(NS, "c", id_, data)
        assert stored.id == id_
        assert stored.version == 1
        assert stored.created_at == stored.updated_at
        assert stored.created_at.utcoffset() == timedelta(0)
        assert same(stored.data, data)
        assert store.get(NS, "c", id_) == stored
        assert same(store.get(NS, "c", id_).data, data)

    def test_what_is_stored_is_what_was_passed_at_call_time(self, store):
        data = {"list": [1], "object": {"a": 1}}
        returned = store.put(NS, "c", "x", data)
        data["list"].append(2)
        returned.data["object"]["a"] = 2
        store.get(NS, "c", "x").data["list"].clear()
        store.find(NS, "c").items[0].data.clear()
        assert store.get(NS, "c", "x").data == {"list": [1], "object": {"a": 1}}

    def test_times_and_versions_of_replaced_and_recreated_documents(self, store):
        first = store.put(NS, "c", "x", {"n": 1})
        second = store.put(NS, "c", "x", {"m": 2})
        assert second.data == {"m": 2}
        assert second.version == 2
        assert second.created_at == first.created_at
        assert second.updated_at >= first.updated_at
        store.delete(NS, "c", "x")
        assert store.put(NS, "c", "x", {}).version == 1

    @pytest.mark.parametrize(
        "data", [{"a": {1}}, {"a": 2**63}, {"a": "\0"}, {"a": NAIVE}, {1: 1}, [], None, "x"]
    )
    def test_data_that_is_not_portable_is_refused_and_nothing_is_stored(self, store, data):
        for refused in (
            lambda: store.put(NS, "c", "x", data),
            lambda: store.write(NS, [Put("c", "y", {}), Put("c", "x", data)]),
            lambda: store.write(NS, [Keep("c", "y", {}), Keep("c", "x", data)]),
        ):
            with pytest.raises(InvalidArgument, match="data"):
                refused()
        assert store.count(NS, "c") == 0

    @pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
    def test_names_that_are_not_portable_are_refused_everywhere(self, store, name):
        for refused in (
            lambda: store.put(name, "c", "x", {}),
            lambda: store.put(NS, name, "x", {}),
            lambda: store.put(NS, "c", name, {}),
            lambda: store.get(name, "c", "x"),
            lambda: store.get(NS, name, "x"),
            lambda: store.get(NS, "c", name),
            lambda: store.delete(NS, "c", name),
            lambda: store.find(name, "c"),
            lambda: store.find(NS, name),
            lambda: store.find(NS, "c", [Predicate(name, "eq", 1)]),
            lambda: store.find(NS, "c", (), OrderBy(name)),
            lambda: store.count(NS, "c", [Predicate(name, "eq", 1)]),
            lambda: store.write(name, []),
            lambda: store.write(NS, [Put("c", name, {})]),
            lambda: store.write(NS, [Require(name, "x")]),
            lambda: store.ensure_collection(name, CollectionSpec("d")),
            lambda: store.ensure_collection(NS, CollectionSpec(name)),
            lambda: store.ensure_collection(NS, CollectionSpec("d", [FieldSpec(name, "int")])),
            lambda: store.ensure_collection(NS, CollectionSpec("d", (), [(name,)])),
            lambda: store.drop_collection(NS, name),
            lambda: store.collections(name),
            lambda: store.collection_spec(NS, name),
        ):
            with pytest.raises(InvalidArgument):
                refused()

    @pytest.mark.parametrize(
        "name",
        ["a'b", 'a"b', "a.b", "a[0]", "$a", "a;DROP TABLE x;--", "%_*?", "é", " ", "x" * 100_000],
        ids=lambda name: name[:20],
    )
    def test_any_other_text_is_a_name_and_only_a_name(self, documents, name):
        spec = CollectionSpec(name, [FieldSpec(name, "json", indexed=True)], [(name, "other")])
        documents.ensure_collection(name, spec)
        documents.ensure_collection(name, CollectionSpec("bystander"))
        documents.put(name, name, name, {name: name, "other": 1})
        documents.put(name, name, "nested", {"a": {"b": name}})
        condition = [Predicate(name, "eq", name)]
        assert documents.get(name, name, name).data == {name: name, "other": 1}
        assert ids(documents.find(name, name, condition, OrderBy(name), fields=[name])) == [name]
        assert documents.collections(name) == sorted([name, "bystander"])
        assert documents.namespaces() == [name]
