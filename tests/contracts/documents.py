"""What every document store promises: one class, run against each of them.

A test module derives from :class:`DocumentContract` and supplies the fixture ``documents``: an
empty store, which it closes itself. Only the port is used, so that a store may be anything.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from naas_abi_sdk.document.encoding import canonical_size
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Delete,
    FieldSpec,
    Keep,
    OrderBy,
    Outcome,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.errors import (
    CollectionNotFound,
    DocumentNotFound,
    DocumentStorageError,
    InvalidArgument,
    UniqueViolation,
    VersionConflict,
)
from tests.support.document_values import same

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

#: Declarations of ``a`` that must not change what a query answers.
DECLARATIONS = {
    "undeclared": CollectionSpec("c"),
    "indexed": CollectionSpec("c", [FieldSpec("a", "json", indexed=True)]),
    "unique": CollectionSpec("c", [FieldSpec("a", "json", unique=True)]),
    "second in a group": CollectionSpec("c", unique_together=[("b", "a")]),
    "first in a group": CollectionSpec("c", unique_together=[("a", "b")]),
}

TYPED: dict[str, tuple[list[Any], list[Any]]] = {
    "string": (["", "x"], [1, b"x", True]),
    "int": ([1, -1], [1.0, True, "1"]),
    "float": ([1, 1.5], [True, "1"]),
    "bool": ([True, False], [1, "true"]),
    "datetime": ([NOON], ["2026-01-01T00:00:00+00:00", 1]),
    "bytes": ([b""], ["", 1]),
    "json": ([1, "x", True, b"", NOON, [], {}], []),
}

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

ORDER = [
    "missing", "null", "false", "true", "int", "float", "float-big", "int-big", "string",
    "string-2", "noon", "bytes", "array", "empty-array", "object",
]  # fmt: skip

TYPED_ORDER: list[tuple[str, list[Any]]] = [
    ("int", [None, -(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 1]),
    ("float", [None, -1e300, -1, 0.5, 2**53, 2**53 + 1, 1e300]),
    ("string", [None, "", "A", "a", "aa", "é", "\U0001f600"]),
    ("datetime", [None, NOON, NOON_ELSEWHERE + timedelta(microseconds=1)]),
    ("bytes", [None, b"", b"\0", b"\0\0", b"\xff"]),
    ("bool", [None, False, True]),
]

BAD_NAMES = ["", "a\0b", "\ud800", None, 7, b"x"]


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


class DocumentContract:
    """Tests of the document port."""

    @pytest.fixture
    def documents(self) -> Any:
        raise NotImplementedError

    @pytest.fixture
    def store(self, documents: Any) -> Any:
        documents.ensure_collection(NS, CollectionSpec("c"))
        return documents

    # -- values and documents ---------------------------------------------------------------

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

    # -- versions ---------------------------------------------------------------------------

    def test_put_with_version_0_only_creates(self, store):
        assert store.put(NS, "c", "x", {"n": 1}, if_version=0).version == 1
        with pytest.raises(VersionConflict):
            store.put(NS, "c", "x", {"n": 2}, if_version=0)
        assert store.get(NS, "c", "x").data == {"n": 1}

    def test_put_with_a_version_replaces_exactly_that(self, store):
        with pytest.raises(VersionConflict):
            store.put(NS, "c", "x", {}, if_version=1)
        created = store.put(NS, "c", "x", {"n": 1})
        replaced = store.put(NS, "c", "x", {"n": 2}, if_version=1)
        assert replaced.version == 2
        assert replaced.created_at == created.created_at
        for version in (1, 3):
            with pytest.raises(VersionConflict):
                store.put(NS, "c", "x", {"n": 3}, if_version=version)
        assert store.get(NS, "c", "x").data == {"n": 2}

    def test_delete_with_a_version_removes_exactly_that(self, store):
        store.delete(NS, "c", "x")
        store.put(NS, "c", "x", {})
        for version in (0, 2):
            with pytest.raises(VersionConflict):
                store.delete(NS, "c", "x", if_version=version)
        store.delete(NS, "c", "x", if_version=1)
        for version in (0, 1):
            with pytest.raises(VersionConflict):
                store.delete(NS, "c", "x", if_version=version)
        with pytest.raises(DocumentNotFound):
            store.get(NS, "c", "x")

    @pytest.mark.parametrize("version", [-1, True, 1.0, "1", 2**63])
    def test_versions_that_are_none_are_refused(self, store, version):
        for refused in (
            lambda: store.put(NS, "c", "x", {}, if_version=version),
            lambda: store.delete(NS, "c", "x", if_version=version),
            lambda: store.write(NS, [Put("c", "x", {}, version)]),
            lambda: store.write(NS, [Delete("c", "x", version)]),
        ):
            with pytest.raises(InvalidArgument, match="if_version"):
                refused()

    def test_of_concurrent_replacements_one_wins(self, store):
        store.put(NS, "c", "x", {"n": 0})

        def replace(number):
            try:
                store.put(NS, "c", "x", {"n": number}, if_version=1)
            except VersionConflict:
                return None
            return number

        with ThreadPoolExecutor(8) as threads:
            winners = [n for n in threads.map(replace, range(1, 17)) if n is not None]
        assert len(winners) == 1
        document = store.get(NS, "c", "x")
        assert (document.version, document.data) == (2, {"n": winners[0]})

    def test_concurrent_counting_up_loses_nothing(self, store):
        store.put(NS, "c", "x", {"n": 0})

        def add(_):
            while True:
                document = store.get(NS, "c", "x")
                try:
                    store.put(
                        NS, "c", "x", {"n": document.data["n"] + 1}, if_version=document.version
                    )
                except VersionConflict:
                    continue
                return

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(add, range(40)))
        assert store.get(NS, "c", "x").data == {"n": 40}

    # -- collections ------------------------------------------------------------------------

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

    # -- uniqueness -------------------------------------------------------------------------

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

    # -- queries ----------------------------------------------------------------------------

    @pytest.fixture(params=sorted(DECLARATIONS))
    def variety(self, request, documents):
        """The documents of VARIETY, half of them stored before the declaration."""
        documents.ensure_collection(NS, CollectionSpec("c"))
        for number, (id_, data) in enumerate(VARIETY.items()):
            if number == len(VARIETY) // 2:
                documents.ensure_collection(NS, DECLARATIONS[request.param])
            documents.put(NS, "c", id_, data)
        return documents

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

    # -- orders and pages -------------------------------------------------------------------

    @pytest.mark.parametrize("limit", [1, 2, 4, 100])
    def test_an_order_pages_through_every_kind_once(self, variety, limit):
        for direction, expected in (("asc", ORDER), ("desc", ORDER[::-1])):
            result = pages(variety, limit, (), OrderBy("a", direction))
            assert flat(result) == expected
            assert all(len(page) == limit for page in result[:-1])

    @pytest.mark.parametrize("limit", [1, 3, 100])
    def test_without_an_order_documents_come_by_id(self, variety, limit):
        assert flat(pages(variety, limit)) == sorted(VARIETY)
        filtered = pages(variety, limit, [Predicate("a", "exists", True)])
        assert flat(filtered) == sorted(PRESENT)

    def test_ids_come_in_byte_order(self, store):
        some = ["", "\x01", "!", "A", "Z", "a", "z", "é", "￿", "\U0001f600"][1:]
        for id_ in reversed(some):
            store.put(NS, "c", id_, {})
        assert flat(pages(store, 2)) == some
        assert flat(pages(store, 2, (), OrderBy("x", "desc"))) == some[::-1]

    @pytest.mark.parametrize(("type_", "ascending"), TYPED_ORDER)
    @pytest.mark.parametrize("pinned", [False, True])
    @pytest.mark.parametrize("limit", [1, 2, 3, 50])
    def test_an_indexed_order_pages_alike(self, documents, type_, ascending, pinned, limit):
        spec = CollectionSpec(
            "c",
            [FieldSpec("a", type_, indexed=True)],
            [("g", "a", "n")] if pinned else [],
        )
        documents.ensure_collection(NS, spec)
        for number, value in enumerate(ascending):
            for copy in "ba":
                data = {"a": value, "g": "mine", "n": copy}
                documents.put(NS, "c", f"{copy}{9 - number}", data)
                documents.put(NS, "c", f"other-{copy}{number}", {**data, "g": "theirs"})
        where = [Predicate("g", "eq", "mine")]
        expected = [f"{copy}{9 - number}" for number in range(len(ascending)) for copy in "ab"]
        assert flat(pages(documents, limit, where, OrderBy("a"))) == expected
        assert flat(pages(documents, limit, where, OrderBy("a", "desc"))) == expected[::-1]
        above = [*where, Predicate("a", "gt", ascending[1])]
        assert flat(pages(documents, limit, above, OrderBy("a"))) == expected[4:]

    def test_the_newest_of_a_group_by_its_unique_index(self, documents):
        documents.ensure_collection(NS, CollectionSpec("c", (), [("thread", "ns", "point")]))
        for point in range(10):
            for thread in ("t", "u"):
                documents.put(
                    NS, "c", f"{thread}{point}", {"thread": thread, "ns": "", "point": f"p{point}"}
                )
        documents.put(NS, "c", "pointless", {"thread": "t", "ns": ""})
        where = [Predicate("thread", "eq", "t"), Predicate("ns", "eq", "")]
        newest = OrderBy("point", "desc")
        assert ids(documents.find(NS, "c", where, newest, 1)) == ["t9"]
        expected = [f"t{point}" for point in range(9, -1, -1)] + ["pointless"]
        for limit in (1, 4, 11):
            assert flat(pages(documents, limit, where, newest)) == expected
            ascending = flat(pages(documents, limit, where, OrderBy("point")))
            assert ascending == expected[::-1]

    def test_paging_goes_on_when_its_anchor_is_gone_and_sees_what_came(self, store):
        for order_by in (None, OrderBy("n")):
            for number in (1, 2, 3):
                store.put(NS, "c", f"d{number}", {"n": number})
            first = store.find(NS, "c", (), order_by, limit=1)
            store.delete(NS, "c", "d1")
            store.put(NS, "c", "d15", {"n": 1.5})
            store.put(NS, "c", "d0", {"n": 0})
            rest = store.find(NS, "c", (), order_by, limit=9, cursor=first.cursor)
            assert ids(rest) == ["d15", "d2", "d3"]
            assert rest.cursor is None
            store.delete(NS, "c", "d15")

    def test_a_full_last_page_has_no_cursor_and_limits_may_change(self, store):
        for number in range(4):
            store.put(NS, "c", f"d{number}", {})
        assert store.find(NS, "c", limit=4).cursor is None
        first = store.find(NS, "c", limit=1)
        rest = store.find(NS, "c", limit=3, cursor=first.cursor, max_bytes=10_000)
        assert (ids(rest), rest.cursor) == (["d1", "d2", "d3"], None)

    def test_a_cursor_of_another_query_is_refused(self, store):
        for id_ in "ab":
            store.put(NS, "c", id_, {"n": 1})
        cursor = store.find(NS, "c", limit=1).cursor
        for other in (
            {"where": [Predicate("n", "eq", 1)]},
            {"order_by": OrderBy("n")},
        ):
            with pytest.raises(InvalidArgument, match="another query"):
                store.find(NS, "c", cursor=cursor, **other)
        store.ensure_collection(NS, CollectionSpec("d"))
        with pytest.raises(InvalidArgument, match="another query"):
            store.find(NS, "d", cursor=cursor)

    def test_a_page_keeps_to_its_budget_but_holds_one_item(self, store):
        data = {"a": "x" * 100, "b": b"y" * 100}
        for number in range(5):
            store.put(NS, "c", f"d{number}", data)
        weight = canonical_size(data) + len("d0") + 64
        for budget, sizes in (
            (1, [1, 1, 1, 1, 1]),
            (2 * weight - 1, [1, 1, 1, 1, 1]),
            (2 * weight, [2, 2, 1]),
            (5 * weight, [5]),
        ):
            for order_by in (None, OrderBy("a")):
                result = pages(store, 100, (), order_by, max_bytes=budget)
                assert [len(page) for page in result] == sizes
        small = canonical_size({"a": data["a"]}) + len("d0") + 64
        result = pages(store, 100, fields=["a"], max_bytes=small * 4)
        assert [len(page) for page in result] == [4, 1]

    @pytest.mark.parametrize("declaration", sorted(DECLARATIONS))
    def test_chosen_fields_are_all_that_comes_back(self, documents, declaration):
        documents.ensure_collection(NS, DECLARATIONS[declaration])
        rows = {
            "1": {"a": "one", "b": b"bytes", "c": [1]},
            "2": {"a": None, "b": "two"},
            "3": {"c": {"d": b"x"}},
            "4": {"a": 4, "": "empty"},
        }
        for id_, data in rows.items():
            documents.put(NS, "c", id_, data)
        for fields in ([], ["a"], ["b"], ["a", "b"], ["c", "nothing"], ["", "a"], ("c", "c")):
            for where in ([], [Predicate("c", "exists", True)], [Predicate("b", "ne", "two")]):
                page = documents.find(NS, "c", where, OrderBy("b"), fields=fields)
                whole = documents.find(NS, "c", where, OrderBy("b"))
                assert ids(page) == ids(whole)
                for item, full in zip(page.items, whole.items, strict=True):
                    wanted = {key: value for key, value in full.data.items() if key in fields}
                    assert same(item.data, wanted)
                    assert (item.version, item.created_at) == (full.version, full.created_at)

    def test_fields_are_not_part_of_the_cursor(self, store):
        for id_ in "abc":
            store.put(NS, "c", id_, {"n": id_})
        cursor = store.find(NS, "c", (), OrderBy("n"), limit=1, fields=[]).cursor
        rest = store.find(NS, "c", (), OrderBy("n"), cursor=cursor, fields=["n"])
        assert [item.data for item in rest.items] == [{"n": "b"}, {"n": "c"}]

    # -- batches ----------------------------------------------------------------------------

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

    # -- the end ----------------------------------------------------------------------------

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
