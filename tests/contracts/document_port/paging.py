"""In which order documents come, and where pages end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from naas_abi_sdk.document.encoding import canonical_size
from naas_abi_sdk.document.types import (
    CollectionSpec,
    FieldSpec,
    OrderBy,
    Predicate,
)
from naas_abi_sdk.errors import InvalidArgument
from tests.contracts.document_port.common import (
    DECLARATIONS,
    NOON,
    NOON_ELSEWHERE,
    NS,
    PRESENT,
    VARIETY,
    DocumentPortContract,
    flat,
    ids,
    pages,
)
from tests.support.document_values import same

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


class PagingContract(DocumentPortContract):
    """In which order documents come, and where pages end."""

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
        others = [*where, Predicate("a", "ne", ascending[1])]
        assert flat(pages(documents, limit, others, OrderBy("a"))) == expected[:2] + expected[4:]

    @pytest.mark.parametrize("fields", [[], [FieldSpec("point", "string", indexed=True)]])
    def test_the_newest_of_a_group_by_its_unique_index(self, documents, fields):
        documents.ensure_collection(NS, CollectionSpec("c", fields, [("thread", "ns", "point")]))
        for point in range(10):
            for thread in ("t", "u"):
                for ns in ("", "sub"):
                    data = {"thread": thread, "ns": ns, "point": f"p{point}"}
                    documents.put(NS, "c", f"{thread}{ns}{point}", data)
        documents.put(NS, "c", "pointless", {"thread": "t", "ns": ""})
        where = [Predicate("thread", "eq", "t"), Predicate("ns", "eq", "")]
        newest = OrderBy("point", "desc")
        assert ids(documents.find(NS, "c", where, newest, 1)) == ["t9"]
        expected = [f"t{point}" for point in range(9, -1, -1)] + ["pointless"]
        for limit in (1, 4, 11):
            assert flat(pages(documents, limit, where, newest)) == expected
            ascending = flat(pages(documents, limit, where, OrderBy("point")))
            assert ascending == expected[::-1]
        # With part of the group left open the same point comes once for every namespace.
        whole_thread = flat(pages(documents, 3, where[:1], newest))
        assert whole_thread == [
            f"t{ns}{point}" for point in range(9, -1, -1) for ns in ("sub", "")
        ] + ["pointless"]

    @pytest.mark.parametrize("limit", [1, 4, 5, 1000])
    def test_documents_of_a_list_of_unique_keys_come_by_id(self, documents, limit):
        spec = CollectionSpec("c", unique_together=[("scope", "ref")])
        documents.ensure_collection(NS, spec)
        names = ["é", "b" * 300, "a", "b" * 299 + "c", "B"]  # some longer than an index may take
        for number, id_ in enumerate(names):
            documents.put(NS, "c", id_, {"scope": "s", "ref": f"r{number}", "value": id_.encode()})
        documents.put(NS, "c", "elsewhere", {"scope": "other", "ref": "r0"})
        documents.put(NS, "c", "not asked for", {"scope": "s", "ref": "r9"})
        asked = [f"r{number}" for number in (4, 0, 0, 2, 1, 3, 7)]
        where = [Predicate("scope", "eq", "s"), Predicate("ref", "in", asked)]
        found, cursor = [], None
        while not found or cursor is not None:
            page = documents.find(NS, "c", where, None, limit, cursor)
            found += page.items
            cursor = page.cursor
        assert [item.id for item in found] == sorted(names)
        assert all(item.data["value"] == item.id.encode() for item in found)
        assert {item.version for item in found} == {1}
        none = [*where, Predicate("ref", "eq", "r9")]
        assert documents.find(NS, "c", none, None, limit).items == ()

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
