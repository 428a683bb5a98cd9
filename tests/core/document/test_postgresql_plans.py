"""The statements the savers live on are index searches, with statistics and without."""

from __future__ import annotations

import json

import psycopg
import pytest

from naas_abi_core.services.document.adapters.postgresql_arrays import register_arrays
from naas_abi_core.services.document.adapters.postgresql_sessions import Session, _numbered
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Delete,
    FieldSpec,
    Keep,
    OrderBy,
    Predicate,
    Put,
    Require,
)
from tests.support.postgresql_documents import postgresql_documents


def spec(name, *group):
    fields = [FieldSpec(field, "string", indexed=True) for field in group if field != "index"]
    return CollectionSpec(name, fields, [group])


SPECS = [
    spec("checkpoints", "agent_id", "thread_id", "checkpoint_ns", "checkpoint_id"),
    spec("blobs", "agent_id", "thread_id", "ref"),
    spec("writes", "agent_id", "thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "index"),
    CollectionSpec("plain", [FieldSpec("age", "int", indexed=True)]),
]

MINE = [Predicate("agent_id", "eq", "engine.v1"), Predicate("thread_id", "eq", "t-3")]
ROOT = [*MINE, Predicate("checkpoint_ns", "eq", "")]
NEWEST = OrderBy("checkpoint_id", "desc")

DOCUMENT = {"agent_id": "engine.v1", "thread_id": "t-3", "checkpoint_ns": "", "checkpoint_id": "p"}

#: Calls, and the indexes through which they look at tables.
CALLS = {
    "latest checkpoint": (
        lambda store: store.find("n", "checkpoints", ROOT, NEWEST, limit=1),
        {"d_1_u_0_1_2_3"},
    ),
    "history": (
        lambda store: store.find(
            "n", "checkpoints", [*ROOT, Predicate("checkpoint_id", "lt", "p5")], NEWEST, limit=20,
            max_bytes=2_000_000,
        ),
        {"d_1_u_0_1_2_3"},
    ),
    "references": (
        lambda store: store.find(
            "n", "blobs", [*MINE, Predicate("ref", "in", [f"p{n}" for n in range(50)])], limit=50
        ),
        {"d_2_u_0_1_2"},
    ),
    "a thread's values": (
        lambda store: store.find("n", "blobs", MINE, limit=1000, fields=()),
        {"d_2_u_0_1_2"},
    ),
    "pending writes": (
        lambda store: store.find(
            "n", "writes", [*ROOT, Predicate("checkpoint_id", "in", ["p3", "p13"])],
            limit=1000, max_bytes=2_000_000,
        ),
        {"d_3_u_0_1_2_3_4_5"},
    ),
    "a document": (lambda store: store.get("n", "blobs", "d7"), {"d_2_pkey"}),
    "a put": (
        lambda store: store.write(
            "n",
            [
                Require("checkpoints", "d7"),
                Keep("blobs", "d7", {"agent_id": "a", "ref": "r"}),
                Put("checkpoints", "new", DOCUMENT, 0),
            ],
        ),
        {"d_1_pkey"},
    ),
    "deleting": (
        lambda store: store.write("n", [Delete("blobs", f"d{n}", 99) for n in range(10)]),
        {"d_2_pkey"},
    ),
    "everything by id": (lambda store: store.find("n", "plain", limit=10), {"d_4_pkey"}),
    "an order": (
        lambda store: store.find("n", "plain", [Predicate("age", "gte", 3)], OrderBy("age"), 10),
        {"d_4_i_0"},
    ),
    "threads": (
        lambda store: store.groups("n", "checkpoints", "thread_id", MINE[:1], 10),
        {"d_1_u_0_1_2_3"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def store(postgres_server):
    with postgresql_documents(postgres_server) as store:
        for declared in SPECS:
            store.ensure_collection("n", declared)
        for first in range(0, 6000, 500):
            for collection in ("checkpoints", "blobs", "writes", "plain"):
                store.write(
                    "n",
                    [Keep(collection, f"d{n}", data(n)) for n in range(first, first + 500)],
                )
        yield store


def data(number):
    return {
        "agent_id": "engine.v1",
        "thread_id": f"t-{number % 100}",
        "checkpoint_ns": "",
        "checkpoint_id": f"p{number}",
        "ref": f"p{number}",
        "task_id": "task",
        "index": number,
        "age": number,
        "text": "x" * 300,
    }


def scans(plan, schema):
    """How tables of documents are looked at: index names, or the kind of scan."""
    found = set()
    pending = [plan]
    while pending:
        node = pending.pop()
        pending += node.get("Plans", [])
        if "Index Name" in node:
            found.add(node["Index Name"])
        elif node["Node Type"] == "Seq Scan":
            found.add(f"scan of {node['Relation Name']}")
    return found


def explain(store, monkeypatch, call, kinds):
    run = []
    execute = Session.execute

    def record(session, sql, parameters=()):
        run.append((sql, parameters))
        return execute(session, sql, parameters)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "execute", record)
        call(store)
    found = set()
    parameters = store._settings.parameters
    with psycopg.connect("", cursor_factory=psycopg.RawCursor, **parameters) as connection:
        register_arrays(connection)
        connection.execute(f"SET search_path = {store._settings.schema}")
        if "analysed" in kinds:
            connection.execute("ANALYZE")
        else:
            connection.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text ~ '^d_'")
        generic = ", GENERIC_PLAN" if "generic" in kinds else ""
        for sql, bound in run:
            statement = f"EXPLAIN (FORMAT JSON{generic}) {_numbered(sql)}"
            row = connection.execute(statement, None if generic else bound)
            (text,) = row.fetchone()
            plan = text if isinstance(text, list) else json.loads(text)
            found |= scans(plan[0]["Plan"], store._settings.schema)
        connection.rollback()
    return found


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kinds", ["analysed", "unknown", "analysed generic", "unknown generic"])
def test_a_statement_is_an_index_search(store, monkeypatch, name, kinds):
    call, indexes = CALLS[name]
    assert explain(store, monkeypatch, call, kinds) == indexes


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.find("n", "checkpoints", ROOT, NEWEST, fields=()),
        lambda store: store.groups("n", "checkpoints", "thread_id", MINE[:1]),
    ],
)
def test_statements_that_return_no_field_read_neither_data_nor_payload(store, monkeypatch, call):
    run = []
    execute = Session.execute

    def record(session, sql, parameters=()):
        run.append(sql)
        return execute(session, sql, parameters)

    monkeypatch.setattr(Session, "execute", record)
    call(store)
    assert len(run) == 1
    assert "data" not in run[0]
    assert "payload" not in run[0]


def test_most_calls_are_one_statement(store, monkeypatch):
    run = []
    execute = Session.execute

    def record(session, sql, parameters=()):
        run.append(sql)
        return execute(session, sql, parameters)

    monkeypatch.setattr(Session, "execute", record)
    for call, _ in CALLS.values():
        run.clear()
        call(store)
        assert len(run) == 1
