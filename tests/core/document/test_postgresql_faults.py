"""Lost connections, restarts, unreachable databases: replaced, repeated where right, or told."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import closing
from time import monotonic

import psycopg
import pytest

from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Delete,
    FieldSpec,
    Keep,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.errors import (
    DocumentAdapterError,
    DocumentStorageError,
    InvalidArgument,
    VersionConflict,
)
from tests.support.cutting_proxy import cutting_proxy
from tests.support.postgresql_documents import (
    postgresql_documents,
    temporary_schema,
    wait_for,
)


@pytest.fixture
def schema(postgres_server):
    with temporary_schema(postgres_server) as name:
        yield name


@pytest.fixture
def proxy(postgres_server):
    with cutting_proxy(postgres_server) as proxy:
        yield proxy


@pytest.fixture
def store(proxy, schema):
    with closing(PostgreSQLDocuments(proxy.dsn, schema=schema)) as store:
        spec = CollectionSpec("c", [FieldSpec("n", "int", indexed=True)], [("n", "m")])
        store.ensure_collection("n", spec)
        yield store


@pytest.fixture
def admin(postgres_server):
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        yield connection


def terminate(admin, schema):
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE %s "
        "AND pid <> pg_backend_pid()",
        (f"%{schema}%",),
    )
    gone = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE %s AND pid <> pg_backend_pid()"
    while admin.execute(gone, (f"%{schema}%",)).fetchone() != (0,):
        pass


def test_an_idle_connection_that_died_is_replaced_and_nothing_is_uncertain(store, proxy, admin):
    """C096: the connection dies during a long model call."""
    for number in range(3):
        proxy.cut_all()
        assert store.put("n", "c", "x", {"n": number}).version == number + 1
    terminate(admin, store._settings.schema)
    ((idle, _, _),) = store._connections._process.idle
    select.select([idle.fileno()], [], [], 30)  # until the proxy has passed it on
    assert store.put("n", "c", "x", {"n": 9}).version == 4


def test_a_restart_is_waited_for(store, proxy):
    proxy.stop_listening()
    proxy.cut_all()
    back = threading.Timer(0.5, proxy.listen_again)
    back.start()
    assert store.put("n", "c", "x", {}).version == 1
    back.join()


def test_reading_is_repeated(store, proxy):
    store.put("n", "c", "x", {"n": 1})
    proxy.cut_reply()
    assert store.count("n", "c", [Predicate("undeclared", "exists", False)]) == 1
    proxy.cut_reply()
    assert store.get("n", "c", "x").data == {"n": 1}
    proxy.cut_reply()
    assert store.count("n", "c") == 1
    proxy.cut_reply()
    assert len(store.find("n", "c").items) == 1
    proxy.cut_reply()
    assert store.collections("n") == ["c"]


def test_what_may_be_repeated_is_and_is_answered_as_if_done_once(store, proxy):
    store.put("n", "c", "parent", {})
    store.put("n", "c", "taken", {"n": 7, "m": 7})

    def calls(name, cut):
        """All that may be repeated; what runs the first time is also prepared then."""
        cut()
        batch = [
            Require("c", "parent"),
            Put("c", f"{name}-created", {"n": 1, "b": b"x" * 5000}, 0),
            Put("c", "taken", {"n": 7, "m": 7}, 0),
            Keep("c", f"{name}-kept", {"n": 2}),
        ]
        answers = [(outcome.state, outcome.version) for outcome in store.write("n", batch)]
        cut()
        answers.append(store.put("n", "c", f"{name}-new", {"n": 5}, if_version=0).version)
        cut()
        store.delete("n", "c", f"{name}-new")
        cut()
        return [*answers, *store.write("n", [Delete("c", f"{name}-created"), Delete("c", "no")])]

    once = calls("once", lambda: None)
    again = calls("again", proxy.cut_reply)
    assert once[:5] == [("done", None), ("done", 1), ("conflict", None), ("done", 1), 1]
    assert again[3] == ("done", 2), "a kept document's version may move on"
    assert again[:3] + again[4:] == once[:3] + once[4:]
    assert [item.id for item in store.find("n", "c").items] == [
        "again-kept",
        "once-kept",
        "parent",
        "taken",
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda store, id_: store.put("n", "c", id_, {"n": 2}),
        lambda store, id_: store.delete("n", "c", id_, if_version=1),
        lambda store, id_: store.write("n", [Put("c", id_, {"n": 2})]),
        lambda store, id_: store.write("n", [Delete("c", id_, 1)]),
    ],
)
def test_what_may_not_be_repeated_is_done_once_and_an_error_says_so(store, proxy, call):
    for id_ in ("prepares", "x"):
        store.put("n", "c", id_, {"n": 1})
    call(store, "prepares")
    proxy.cut_reply()
    with pytest.raises(DocumentStorageError, match=r"broke off .* may or may not have been done"):
        call(store, "x")
    left = {item.id: item.version for item in store.find("n", "c").items}
    assert left == {} or left == {"prepares": 2, "x": 2}


def test_a_transaction_that_was_cut_before_its_end_is_repeated_whole(
    store, postgres_server, admin, schema
):
    """A mixed batch is several statements; the first of them waits, and is terminated."""
    store.put("n", "c", "x", {"n": 1})
    batch = [Put("c", "x", {"n": 2}, 1), Put("c", "y", {"n": 3}), Delete("c", "z")]
    with psycopg.connect(postgres_server) as other:
        other.execute(f"SELECT 1 FROM {schema}.d_1 FOR UPDATE")
        outcomes = []
        writer = threading.Thread(target=lambda: outcomes.extend(store.write("n", batch)))
        writer.start()
        wait_for(admin, 1, schema)
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE wait_event_type = 'Lock' AND query LIKE %s",
            (f"%{schema}%",),
        )
        wait_for(admin, 1, schema)
        other.rollback()
        writer.join()
    assert [(outcome.state, outcome.version) for outcome in outcomes] == [
        ("done", 2),
        ("done", 1),
        ("done", None),
    ]


def test_a_statement_takes_no_longer_than_its_timeout(postgres_server):
    with postgresql_documents(postgres_server, statement_timeout=0.2) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        store.put("n", "c", "x", {})
        schema = store._settings.schema
        with psycopg.connect(postgres_server) as other:
            other.execute(f"SELECT 1 FROM {schema}.d_1 FOR UPDATE")
            began = monotonic()
            for call in (
                lambda: store.put("n", "c", "x", {}),
                lambda: store.write("n", [Put("c", "x", {}, 1), Put("c", "x", {}, 2)]),
            ):
                with pytest.raises(
                    DocumentStorageError, match=r"did not finish a statement in 0.2 s.*raise"
                ):
                    call()
            assert monotonic() - began < 5
            assert store.count("n", "c") == 1
        assert store.put("n", "c", "x", {}).version == 2


def test_a_database_that_refuses_connections_is_named_without_its_password():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    dsn = f"postgresql://me:s3cret%40x@127.0.0.1:{port}/memories"
    began = monotonic()
    with pytest.raises(
        DocumentStorageError, match=rf"PostgreSQL at 127.0.0.1:{port}/memories cannot be reached"
    ) as caught:
        PostgreSQLDocuments(dsn)
    assert monotonic() - began < 3
    assert "s3cret" not in str(caught.value)
    assert dsn not in str(caught.value)


def test_a_database_that_never_answers_is_an_error_in_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        began = monotonic()
        with pytest.raises(DocumentStorageError, match=rf"127.0.0.1:{port}/x cannot be reached"):
            PostgreSQLDocuments(f"host=127.0.0.1 port={port} dbname=x", connect_timeout=1)
        assert monotonic() - began < 8


def test_a_store_that_cannot_be_reached_any_more_is_an_error_in_time(proxy, schema):
    with closing(PostgreSQLDocuments(proxy.dsn, schema=schema, connect_timeout=0.5)) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        proxy.stop_listening()
        proxy.cut_all()
        began = monotonic()
        with pytest.raises(DocumentStorageError, match=r"cannot be reached; check that it runs"):
            store.count("n", "c")
        assert monotonic() - began < 5
        proxy.listen_again()
        assert store.count("n", "c") == 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ("data = '{'", DocumentStorageError, "holds a damaged document; restore"),
        ("""data = '{"b":{"$b":[0,9999]}}'""", DocumentStorageError, "damaged document"),
        ("payload = NULL", DocumentStorageError, "damaged document"),
    ],
)
def test_a_damaged_document_is_an_error_and_its_neighbours_are_read(
    store, admin, schema, change, error, message
):
    store.write("n", [Put("c", f"d{n}", {"n": n, "b": b"x" * 3000}) for n in range(3)])
    admin.execute(f"UPDATE {schema}.d_1 SET {change} WHERE id = 'd1'")
    for read in (
        lambda: store.get("n", "c", "d1"),
        lambda: store.find("n", "c"),
        lambda: store.find("n", "c", fields=["b"]),
        lambda: store.ensure_collection("n", CollectionSpec("c", [FieldSpec("b", "bytes")])),
    ):
        with pytest.raises(error, match=message):
            read()
    assert store.get("n", "c", "d2").data == {"n": 2, "b": b"x" * 3000}


def test_a_refused_statement_is_a_defect_and_says_where(store, admin, schema):
    admin.execute(f"ALTER TABLE {schema}.d_1 DROP COLUMN payload")
    with pytest.raises(DocumentAdapterError, match=r"PostgreSQL at .* refused a statement"):
        store.put("n", "c", "x", {})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dsn": None}, "dsn must be a connection string such as"),
        ({"dsn": ""}, "dsn must be"),
        ({"dsn": "postgresql://me:s3cret@[host/d"}, "dsn must be"),
        ({"schema": "Upper"}, "schema must be a name of lower-case.*'Upper'"),
        ({"schema": 'a"b'}, "schema must be"),
        ({"schema": "x" * 64}, "schema must be"),
        ({"pool_max_size": 0}, "pool_max_size must be a number of connections"),
        ({"pool_max_size": True}, "pool_max_size"),
        ({"pool_timeout": 0}, "pool_timeout must be a number of seconds"),
        ({"connect_timeout": "5"}, "connect_timeout must be"),
        ({"statement_timeout": float("inf")}, "statement_timeout must be"),
        ({"statement_timeout": float("nan")}, "statement_timeout must be"),
    ],
)
def test_settings_that_are_none_are_refused_before_anything_is_opened(settings, message):
    given = {"dsn": "host=127.0.0.1 port=1", **settings}
    with pytest.raises(InvalidArgument, match=message) as caught:
        PostgreSQLDocuments(**given)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_version_conflict_is_told_before_a_taken_value(store):
    store.put("n", "c", "x", {"n": 1, "m": 1})
    store.put("n", "c", "y", {"n": 2, "m": 2})
    with pytest.raises(VersionConflict, match="'y' is at version 1, not at version 0"):
        store.put("n", "c", "y", {"n": 1, "m": 1}, if_version=0)
