"""The bound service, its root, the factory and the meter."""

from __future__ import annotations

import pytest

from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.factory import ADAPTER_NAMES, DocumentFactory, create_adapter
from naas_abi_core.services.document.metering import CollectionUsage, MeteredDocuments
from naas_abi_core.services.document.port import DocumentPort
from naas_abi_core.services.document.service import DocumentRoot, DocumentService
from naas_abi_sdk.document.encoding import canonical_size
from naas_abi_sdk.document.performing import Documents
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
)
from naas_abi_sdk.testing import MemoryDocuments
from tests.contracts.documents import DocumentContract


class TestMeteredDocuments(DocumentContract):
    @pytest.fixture
    def documents(self):
        store = MeteredDocuments(MemoryDocuments())
        yield store
        store.close()


@pytest.fixture
def root():
    return DocumentService.for_engine(MemoryDocuments())


@pytest.fixture
def service(root):
    service = root.for_namespace("acme")
    service.ensure_collection(CollectionSpec("c", [FieldSpec("u", "int", unique=True)]))
    return service


def test_every_call_goes_to_the_services_namespace(root, service):
    service.put("c", "x", {"n": 1})
    other = root.for_namespace("other")
    other.ensure_collection(CollectionSpec("c"))
    assert other.count("c") == 0
    assert (service.namespace, root.namespaces()) == ("acme", ["acme", "other"])
    assert service.collections() == ["c"]
    assert service.collection_spec("c").name == "c"
    service.delete("c", "x", if_version=1)
    with pytest.raises(DocumentNotFound):
        service.get("c", "x")
    service.drop_collection("c")
    with pytest.raises(CollectionNotFound):
        service.count("c")
    assert other.collections() == ["c"]


def test_what_is_built_on_the_port(service):
    assert service.put_many("c", {f"d{n:04}": {"n": n} for n in range(1200)}) is None
    service.put_many("c", [("extra", {"n": -1})])
    assert service.exists("c", "extra")
    assert not service.exists("c", "absent")
    newest = service.find_one("c", [Predicate("n", "lt", 100)], OrderBy("n", "desc"), fields=["n"])
    assert newest.data == {"n": 99}
    assert service.find_one("c", [Predicate("n", "gt", 5000)]) is None
    where = (predicate for predicate in [Predicate("n", "gte", 0)])
    assert [item.data["n"] for item in service.iterate("c", where)] == list(range(1200))
    small = service.iterate("c", order_by=OrderBy("n", "desc"), fields=["n"], max_bytes=500)
    assert [item.data["n"] for item in small] == list(range(1199, -2, -1))
    service.delete_many("c", ["extra", "absent", "d0000"])
    assert service.count("c") == 1199


def test_put_many_and_delete_many_are_one_write_each(service):
    adapter = service._adapter
    adapter.calls.clear()
    service.put_many("c", {"x": {}, "y": {}})
    service.delete_many("c", ["x", "y"])
    assert adapter.calls == [("write", "acme", 2)] * 2


def test_put_many_names_what_is_not_stored(service):
    with pytest.raises(UniqueViolation, match=r"not stored in 'c': \['y'\]"):
        service.put_many("c", {"x": {"u": 1}, "y": {"u": 1}, "z": {"u": 2}})
    assert service.count("c") == 2


def test_a_bound_service_cannot_leave_its_namespace(service):
    with pytest.raises(PermissionError, match="'acme' cannot open namespace 'other'"):
        service.for_namespace("other")
    with pytest.raises(PermissionError, match="only the root"):
        service.namespaces()


CALLS = ["ensure_collection", "drop_collection", "collections", "collection_spec", "put", "get",
         "exists", "delete", "find", "find_one", "iterate", "count", "groups", "put_many",
         "delete_many", "write"]  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_root_stores_nothing(root, name):
    with pytest.raises(PermissionError, match=rf"{name} needs a namespace; call for_namespace"):
        getattr(root, name)("c", "x")


def test_the_root_has_nothing_else(root):
    with pytest.raises(AttributeError, match="DocumentRoot"):
        root.anything  # noqa: B018 -- the access is the test


def test_a_namespace_must_be_a_name(root):
    with pytest.raises(InvalidArgument, match="namespace"):
        root.for_namespace("")


def test_closing_the_root_closes_every_namespace(root, service):
    root.close()
    with pytest.raises(DocumentStorageError, match="closed"):
        service.count("c")


def test_the_service_is_what_operations_are_performed_on(service):
    def takes(documents: Documents) -> None:
        assert documents.write([Put("c", "x", {})]) == [Outcome("done", 1)]

    takes(service)


def test_adapters_are_opened_by_name(tmp_path):
    assert ADAPTER_NAMES == ("memory", "nats_rpc", "postgresql", "sqlite")
    memory = create_adapter("memory")
    sqlite = create_adapter("sqlite", {"path": tmp_path / "a" / "b.sqlite", "timeout": 1})
    for adapter in (memory, sqlite):
        assert isinstance(adapter, DocumentPort)
        adapter.close()
    assert isinstance(sqlite, SQLiteDocuments)
    assert (tmp_path / "a" / "b.sqlite").is_file()
    root = DocumentFactory.create_root("memory")
    assert isinstance(root, DocumentRoot)
    root.close()


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("mongo", {}, "known are memory, nats_rpc, postgresql, sqlite"),
        ("memory", {"path": "x"}, "'memory' has no setting path; its settings: none"),
        (
            "sqlite",
            {"dsn": "x", "file": "y"},
            "'sqlite' has no setting dsn, file; its .* path, timeout",
        ),
        ("postgresql", {}, "'postgresql' needs the setting dsn, a connection string"),
        (
            "postgresql",
            {"dsn": "host=x", "database": "y"},
            "'postgresql' has no setting database; its settings: dsn, schema, pool_max_size",
        ),
        ("sqlite", {"path": 7}, "path of the document file must be text, not 7"),
    ],
)
def test_wrong_settings_are_named(name, config, message):
    with pytest.raises(InvalidArgument, match=message):
        DocumentFactory.create_adapter(name, config)


def test_the_meter_counts_documents_bytes_and_transactions():
    meter = MeteredDocuments(MemoryDocuments())
    service = DocumentService(meter, "n")
    for name in ("a", "b"):
        service.ensure_collection(CollectionSpec(name, [FieldSpec("x", "string", indexed=True)]))
    data = {"x": "é", "b": b"1234"}
    size = canonical_size(data)
    service.put("a", "1", data)
    before = meter.usage()
    service.write(
        [
            Keep("a", "1", data),
            Keep("a", "2", data),
            Put("b", "1", data),
            Put("b", "1", data, 0),
            Delete("b", "1"),
            Require("b", "1"),
            Put("b", "2", data),
        ]
    )
    service.get("a", "1")
    service.find("a")
    service.count("b")
    assert [group.count for group in service.groups("a", "x").items] == [2]
    service.delete("a", "1")
    service.write([])
    spent = meter.usage() - before
    assert spent.collections == {
        ("n", "a"): CollectionUsage(written=1, bytes_written=size, touched=1, deleted=1, read=3),
        ("n", "b"): CollectionUsage(written=1, bytes_written=size, deleted=1),
    }
    assert (spent.operations, spent.reads, spent.transactions) == (6, 4, 2)
    assert spent.total.written == 2
    assert spent.of("a").read == 3
    assert meter.usage().of("a").bytes_written == 2 * size
