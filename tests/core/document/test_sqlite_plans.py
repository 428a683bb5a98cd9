"""The queries the savers live on are index searches: no scan, and no sort of whole documents."""

from __future__ import annotations

import pytest

from naas_abi_core.services.document.adapters.sql.dialect import placeholders
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_sdk.document.types import CollectionSpec, FieldSpec, OrderBy, Predicate


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

#: Query, and the plans of the statements that read documents or find them.
QUERIES = [
    (
        "latest checkpoint",
        {"collection": "checkpoints", "where": ROOT, "order_by": NEWEST, "limit": 1},
        ["SEARCH d_1 USING INDEX d_1_u_0_1_2_3 (k0=? AND k1=? AND k2=? AND k3>?)"],
    ),
    (
        "history",
        {
            "collection": "checkpoints",
            "where": [*ROOT, Predicate("checkpoint_id", "lt", "p5")],
            "order_by": NEWEST,
            "limit": 2,
        },
        ["SEARCH d_1 USING INDEX d_1_u_0_1_2_3 (k0=? AND k1=? AND k2=? AND k3>? AND k3<?)"],
    ),
    (
        "references",
        {
            "collection": "blobs",
            "where": [*MINE, Predicate("ref", "in", [f"p{n}" for n in range(500)])],
            "limit": 500,
        },
        ["SEARCH d_2 USING INDEX d_2_u_0_1_2 (k0=? AND k1=? AND k2=?)"],
    ),
    (
        "some of more references than a page holds",
        {
            "collection": "blobs",
            "where": [*MINE, Predicate("ref", "in", [f"p{n}" for n in range(500)])],
            "limit": 499,
        },
        [
            "SEARCH d_2 USING INDEX d_2_u_0_1_2 (k0=? AND k1=? AND k2=?)",
            "USE TEMP B-TREE FOR ORDER BY",
            "SEARCH d_2 USING INTEGER PRIMARY KEY (rowid=?)",
        ],
    ),
    (
        "a thread's values",
        {"collection": "blobs", "where": MINE, "limit": 1000, "fields": ["ref"]},
        [
            "SEARCH d_2 USING INDEX d_2_u_0_1_2 (k0=? AND k1=?)",
            "USE TEMP B-TREE FOR ORDER BY",
            "SEARCH d_2 USING INTEGER PRIMARY KEY (rowid=?)",
        ],
    ),
    (
        "pending writes",
        {
            "collection": "writes",
            "where": [*ROOT, Predicate("checkpoint_id", "in", ["p3", "p13"])],
        },
        [
            "SEARCH d_3 USING INDEX d_3_u_0_1_2_3_4_5 (k0=? AND k1=? AND k2=? AND k3=?)",
            "USE TEMP B-TREE FOR ORDER BY",
            "SEARCH d_3 USING INTEGER PRIMARY KEY (rowid=?)",
        ],
    ),
    (
        "an indexed field",
        {"collection": "plain", "where": [Predicate("age", "gte", 3)], "order_by": OrderBy("age")},
        ["SEARCH d_4 USING INDEX d_4_i_0 (k0>? AND k0<?)"],
    ),
    ("everything", {"collection": "plain"}, ["SCAN d_4 USING INDEX sqlite_autoindex_d_4_1"]),
]


GROUPS = {"collection": "checkpoints", "by": "thread_id", "where": MINE[:1], "limit": 5}


@pytest.fixture
def store(tmp_path):
    store = SQLiteDocuments(tmp_path / "documents.sqlite")
    for declared in SPECS:
        store.ensure_collection("n", declared)
    for number in range(200):
        common = {"agent_id": "engine.v1", "thread_id": f"t-{number % 10}", "checkpoint_ns": ""}
        for collection in ("checkpoints", "blobs", "writes"):
            data = {
                **common,
                "checkpoint_id": f"p{number}",
                "ref": f"p{number}",
                "task_id": "task",
                "index": number,
            }
            store.put("n", collection, f"d{number}", data)
        store.put("n", "plain", f"d{number}", {"age": number})
    yield store
    store.close()


def statements(store, query):
    """The statements one find or groups runs, as SQLite was given them, values filled in."""
    run = []
    with store._connections.reading() as connection:
        connection.set_trace_callback(run.append)
    (store.groups if "by" in query else store.find)("n", **query)
    with store._connections.reading() as connection:
        connection.set_trace_callback(None)
    return [
        statement for statement in run if statement.startswith("SELECT") and "FROM d_" in statement
    ]


def plans(store, query):
    found = []
    for statement in statements(store, query):
        with store._connections.reading() as connection:
            found += [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize(
    ("query", "expected"), [item[1:] for item in QUERIES], ids=[item[0] for item in QUERIES]
)
def test_a_query_is_an_index_search(store, query, expected):
    assert plans(store, query) == expected


@pytest.mark.parametrize("turned", [0, 1])
def test_listing_threads_is_an_index_search_that_ends_with_the_page(store, turned):
    """C119."""
    query = GROUPS | {"cursor": store.groups("n", **GROUPS).cursor if turned else None}
    index = "SEARCH d_1 USING INDEX d_1_u_0_1_2_3 (k0=? AND k1>? AND k1<?)"
    assert plans(store, query) == [index]
    (statement,) = statements(store, query)
    assert "LIMIT 6" in statement
    assert "data" not in statement
    assert "payload" not in statement


def test_statements_that_return_no_field_read_neither_data_nor_payload(store):
    query = {"collection": "checkpoints", "where": ROOT, "order_by": NEWEST, "fields": ()}
    for statement in statements(store, query):
        assert "data" not in statement
        assert "payload" not in statement


def test_payload_is_read_only_where_a_chosen_field_holds_bytes(store):
    store.put("n", "blobs", "bytes", {"agent_id": "a", "thread_id": "t", "ref": "r", "value": b"x"})
    where = [Predicate("agent_id", "eq", "a"), Predicate("thread_id", "eq", "t")]
    for fields, reads in ((["ref", "thread_id"], 0), (["ref", "value"], 1)):
        query = {"collection": "blobs", "where": where, "fields": fields}
        assert sum("payload" in statement for statement in statements(store, query)) == reads


def test_lists_of_any_length_make_few_statements():
    texts = set()
    for count in range(1, 501):
        places, values = placeholders(list(range(count)))
        assert places.count("?") == len(values)
        assert set(values) == set(range(count))
        texts.add(places)
    assert len(texts) == 10
