"""The in-memory store passes the contract of the port, and does what only it does."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from naas_abi_sdk.document.commands import Apply, Declare, Find, Get, Together
from naas_abi_sdk.document.performing import perform
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
from naas_abi_sdk.errors import DocumentStorageError
from naas_abi_sdk.testing import MemoryDocuments
from tests.contracts.documents import DocumentContract


class TestMemoryDocuments(DocumentContract):
    @pytest.fixture
    def documents(self):
        store = MemoryDocuments()
        yield store
        store.close()


def test_calls_are_recorded():
    store = MemoryDocuments()
    view = store.for_namespace("n")
    view.ensure_collection(CollectionSpec("c", [FieldSpec("a", "string", indexed=True)]))
    view.write([Put("c", "x", {})])
    view.put("c", "y", {})
    view.get("c", "x")
    view.find("c", [Predicate("a", "eq", 1)])
    view.count("c")
    view.groups("c", "a")
    view.delete("c", "x")
    assert store.calls is view.calls
    assert store.calls == [
        ("ensure_collection", "n", "c"),
        ("write", "n", 1),
        ("put", "n", "c", "y"),
        ("get", "n", "c", "x"),
        ("find", "n", "c", (("a", "eq"),)),
        ("count", "n", "c", ()),
        ("groups", "n", "c", "a"),
        ("delete", "n", "c", "x"),
    ]


@pytest.mark.parametrize("left", range(5))
def test_a_failing_store_leaves_a_prefix(left):
    view = MemoryDocuments().for_namespace("n")
    view.ensure_collection(CollectionSpec("c"))
    view.put("c", "old", {})
    view.store.fail_after(left)
    batch = [
        Put("c", "a", {}),
        Require("c", "old"),
        Keep("c", "b", {}),
        Delete("c", "old"),
        Put("c", "d", {}),
    ]
    if left < 4:
        with pytest.raises(DocumentStorageError, match=r"fail_after\(None\)"):
            view.write(batch)
    else:
        assert len(view.write(batch)) == 5
    expected = [["old"], ["a", "old"], ["a", "b", "old"], ["a", "b"], ["a", "b", "d"]][left]
    assert list(view.snapshot()["c"]) == expected
    view.store.fail_after(None)
    view.put("c", "z", {})


def test_a_failing_store_refuses_single_writes():
    view = MemoryDocuments().for_namespace("n")
    view.ensure_collection(CollectionSpec("c"))
    view.store.fail_after(0)
    for refused in (lambda: view.put("c", "x", {}), lambda: view.delete("c", "x")):
        with pytest.raises(DocumentStorageError):
            refused()
    assert view.snapshot() == {"c": {}}


def test_a_snapshot_is_canonical_and_sorted():
    store = MemoryDocuments()
    view = store.for_namespace("n")
    view.ensure_collection(CollectionSpec("c"))
    view.put("c", "y", {"b": b"\0", "a": 1.0})
    view.put("c", "x", {})
    assert view.snapshot() == {"c": {"x": "{}", "y": '{"a":1.0,"b":{"$t":"bytes","$v":"AA=="}}'}}
    assert list(view.snapshot()["c"]) == ["x", "y"]
    assert store.snapshot() == {"n": view.snapshot()}
    assert store.for_namespace("other").snapshot() == {}


def test_the_clock_is_the_callers():
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    view = MemoryDocuments(clock=lambda: now).for_namespace("n")
    view.ensure_collection(CollectionSpec("c"))
    assert view.put("c", "x", {}).created_at == now


def test_commands_are_performed_on_a_namespace():
    view = MemoryDocuments().for_namespace("n")
    perform(view, Declare((CollectionSpec("c"),)))
    assert perform(view, Apply(((Put("c", "x", {}),), (Keep("c", "x", {}),)))) == [
        Outcome("done", 1),
        Outcome("done", 2),
    ]
    found, absent, page = perform(view, Together((Get("c", "x"), Get("c", "y"), Find("c"))))
    assert (found.version, absent, page.items) == (2, None, (found,))
