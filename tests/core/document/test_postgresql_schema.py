"""The schema: who makes it, who may not, which are refused; and keys longer than indexes take."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments
from naas_abi_core.services.document.factory import create_adapter
from naas_abi_sdk.document.types import CollectionSpec, FieldSpec, OrderBy, Predicate, Put
from naas_abi_sdk.errors import DocumentStorageError, UniqueViolation
from tests.contracts.document_port.common import flat, ids, pages
from tests.support.postgresql_documents import postgresql_documents, temporary_schema


@pytest.fixture
def schema(postgres_server):
    with temporary_schema(postgres_server) as name:
        yield name


@pytest.fixture
def open_store(postgres_server, schema):
    return partial(PostgreSQLDocuments, postgres_server, schema=schema)


@pytest.fixture
def admin(postgres_server):
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        yield connection


@pytest.fixture
def store(postgres_server):
    with postgresql_documents(postgres_server) as store:
        yield store


def test_what_was_stored_is_there_when_the_schema_is_opened_again(open_store):
    data = {"n": 7, "b": b"x" * 3000}
    with closing(open_store()) as store:
        store.ensure_collection("n", CollectionSpec("c", [FieldSpec("n", "int", indexed=True)]))
        store.put("n", "c", "d", data)
    with closing(open_store()) as store:
        assert store.get("n", "c", "d").data == data
        assert store.collection_spec("n", "c").fields == (FieldSpec("n", "int", indexed=True),)


def test_the_factory_opens_it_by_name(postgres_server, schema):
    with closing(create_adapter("postgresql", {"dsn": postgres_server, "schema": schema})) as store:
        assert store.namespaces() == []


def test_schemas_are_apart(postgres_server):
    with (
        postgresql_documents(postgres_server) as one,
        postgresql_documents(postgres_server) as two,
    ):
        one.ensure_collection("n", CollectionSpec("c"))
        assert two.namespaces() == []


def test_payload_is_kept_as_it_is_beside_the_row(store, admin):
    store.ensure_collection("n", CollectionSpec("c"))
    row = admin.execute(
        "SELECT attstorage FROM pg_attribute WHERE attname = 'payload' AND attrelid = %s::regclass",
        (f"{store._settings.schema}.d_1",),
    ).fetchone()
    assert row == ("e",)


def test_a_newer_format_is_refused_and_left_as_it_is(open_store, admin, schema):
    open_store().close()
    admin.execute(f"UPDATE {schema}.abi_format SET format = 2")
    with pytest.raises(
        DocumentStorageError, match=rf"schema {schema} of .* has format 2.*up to 1; upgrade"
    ):
        open_store()
    assert admin.execute(f"SELECT format FROM {schema}.abi_format").fetchone() == (2,)


def test_a_schema_of_the_published_layout_is_refused(open_store, admin, schema):
    admin.execute(f"CREATE SCHEMA {schema}")
    admin.execute(f"CREATE TABLE {schema}.abi_documents (id TEXT)")
    with pytest.raises(DocumentStorageError, match=r"written by naas-abi-core 3.*another schema"):
        open_store()
    tables = "SELECT count(*) FROM pg_class WHERE relnamespace = %s::regnamespace"
    assert admin.execute(tables, (schema,)).fetchone() == (1,)


def test_a_schema_that_someone_made_is_used(open_store, admin, schema):
    """C100: a role that may not create schemas is given one."""
    admin.execute(f"CREATE SCHEMA {schema}")
    admin.execute(f"CREATE TABLE {schema}.strange (id TEXT)")
    with closing(open_store()) as store:
        assert store.namespaces() == []


def test_a_role_without_rights_is_told_what_to_run_and_then_works(postgres_dsn):
    """C100."""
    role = f"role_{postgres_dsn[-8:]}"
    name = psycopg.conninfo.conninfo_to_dict(postgres_dsn)["dbname"]
    role = f"role_{name}"
    as_role = make_conninfo(postgres_dsn, user=role)
    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
        try:
            with pytest.raises(
                DocumentStorageError, match=r"refused: the role may not.*GRANT CREATE ON DATABASE"
            ):
                PostgreSQLDocuments(as_role)
            admin.execute(f"GRANT CREATE ON DATABASE {name} TO {role}")
            with closing(PostgreSQLDocuments(as_role)) as store:
                store.ensure_collection("n", CollectionSpec("c"))
                assert store.put("n", "c", "x", {}).version == 1
            admin.execute(f"REVOKE CREATE ON DATABASE {name} FROM {role}")
            PostgreSQLDocuments(as_role).close()
        finally:
            admin.execute(f"DROP OWNED BY {role} CASCADE")
            admin.execute(f"DROP ROLE {role}")


def test_a_database_of_another_encoding_is_refused(postgres_dsn):
    name = f"{psycopg.conninfo.conninfo_to_dict(postgres_dsn)['dbname']}_latin"
    with psycopg.connect(postgres_dsn, autocommit=True) as admin:
        admin.execute(
            f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' "
            "TEMPLATE template0"
        )
        try:
            with pytest.raises(DocumentStorageError, match="keeps text as LATIN1; create"):
                PostgreSQLDocuments(make_conninfo(postgres_dsn, dbname=name))
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("length", [255, 256, 257, 2_700, 10_000, 100_000])
def test_ids_and_keys_of_any_length_are_stored_found_and_unique(store, length):
    """C126."""
    long = "x" * length
    spec = CollectionSpec(
        "c",
        [FieldSpec("a", "string", indexed=True), FieldSpec("u", "string", unique=True)],
        [("a", "b", "d", "e", "f", "g")],
    )
    store.ensure_collection("n", spec)
    others = dict.fromkeys("bdefg", long)
    assert store.put("n", "c", long, {"a": long, "u": long, **others}).id == long
    assert store.write("n", [Put("c", long, {"a": long, "u": long, **others}, 1)])[0].version == 2
    with pytest.raises(UniqueViolation):
        store.put("n", "c", "other", {"u": long})
    store.put("n", "c", "other", {"a": long, "u": long + "y", **others, "b": "y"})
    found = store.find("n", "c", [Predicate("a", "eq", long), Predicate("u", "in", [long, "z"])])
    assert ids(found) == [long]
    assert store.count("n", "c", [Predicate("u", "gt", long)]) == 1
    assert store.count("n", "c", [Predicate("u", "gte", long)]) == 2
    assert store.count("n", "c", [Predicate("u", "lt", long + "y")]) == 1
    assert store.count("n", "c", [Predicate("u", "lte", long[:-1])]) == 0
    assert store.get("n", "c", long).data["u"] == long
    store.delete("n", "c", long, if_version=2)
    assert ids(store.find("n", "c")) == ["other"]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_what_begins_alike_comes_in_order_all_the_same(store, limit, direction):
    """Short forms of these are in the order of their digests, which is no order."""
    store.ensure_collection(
        "acme.module", CollectionSpec("c", [FieldSpec("a", "string", indexed=True)])
    )
    begin = "é" * 200
    values = [begin + end for end in ["", *"abcdefghij"]]
    for value in sorted(values, key=hash):
        store.put("acme.module", "c", value, {"a": value})
    for value in ("a", "é", "é" * 127, "é" * 128, "ê"):
        store.put("acme.module", "c", value, {"a": value})
    everything = sorted([*values, "a", "é", "é" * 127, "é" * 128, "ê"])
    order = OrderBy("a", direction)
    ordered = everything if direction == "asc" else everything[::-1]
    assert flat(pages(store, limit, (), order)) == ordered
    assert flat(pages(store, limit, (), order, fields=["a"])) == ordered
    assert flat(pages(store, limit, (), order, max_bytes=1000)) == ordered
    assert flat(pages(store, limit)) == everything
    where = [Predicate("a", "exists", True)]
    assert flat(pages(store, limit, where)) == everything


def test_groups_of_many_fields_are_unique_and_sparse(store):
    names = [f"f{number}" for number in range(40)]
    store.ensure_collection("n", CollectionSpec("c", (), [names]))
    data = dict.fromkeys(names, "x" * 1000)
    store.put("n", "c", "x", data)
    with pytest.raises(UniqueViolation):
        store.put("n", "c", "y", data)
    store.put("n", "c", "y", {**data, "f39": "y"})
    for id_ in ("z", "z2"):
        store.put("n", "c", id_, {name: data[name] for name in names[:-1]})


def test_a_page_of_few_fields_of_large_documents_reads_them_in_turn(store):
    store.ensure_collection("n", CollectionSpec("c"))
    for number in range(5):
        store.put("n", "c", f"d{number}", {"n": number, "text": "x" * 5_000_000})
    found = store.find("n", "c", fields=["n"])
    assert [item.data for item in found.items] == [{"n": number} for number in range(5)]
    assert found.cursor is None
    weighed = store.find("n", "c", fields=["n"], max_bytes=2 * 100)
    assert ids(weighed) == ["d0", "d1"]


def test_bytes_of_chosen_fields_are_those_of_the_rest(store):
    store.ensure_collection("n", CollectionSpec("c"))
    store.put("n", "c", "x", {"a": b"1" * 3000, "b": 2})
    assert store.find("n", "c", fields=["a"]).items[0].data == {"a": b"1" * 3000}
    where = [Predicate("b", "eq", 2)]
    assert store.find("n", "c", where, OrderBy("b")).items[0].data["a"] == b"1" * 3000
