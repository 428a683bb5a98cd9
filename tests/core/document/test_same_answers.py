"""All stores give the same answers to the same calls, errors included."""

from __future__ import annotations

from contextlib import closing

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_sdk.document.commands import Groups
from naas_abi_sdk.document.driving import run as drive
from naas_abi_sdk.document.grouping import groups_by_finding
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Delete,
    FieldSpec,
    GroupPage,
    Keep,
    OrderBy,
    Page,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.errors import DocumentError
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.document_values import same, scalars, values
from tests.support.postgresql_documents import postgresql_documents

fields = st.sampled_from(["a", "b", "c"])
ids = st.sampled_from(["x", "y", "z", "é", "0"])
long = "s" * 300  # no index of PostgreSQL takes it whole
texts = ["", "s", "t", long, long + "t"]
few = st.sampled_from([None, 0, 1, 1.0, 2, True, *texts, b"s", [], [1], {"k": 1.0}])
data = st.dictionaries(fields, few | values(), max_size=3)
versions = st.sampled_from([None, None, 0, 1, 2])
collections = st.just("c") | st.just("d")
specs = st.builds(
    CollectionSpec,
    collections,
    st.lists(
        st.builds(
            FieldSpec,
            fields,
            st.sampled_from(["json", "json", "int", "string", "float"]),
            indexed=st.booleans(),
            unique=st.sampled_from([False, False, True]),
        ),
        max_size=2,
    ),
    st.lists(st.lists(fields, max_size=3), max_size=1),
)
predicates = st.one_of(
    st.builds(Predicate, fields, st.sampled_from(["eq", "ne", "contains"]), few | values()),
    st.builds(Predicate, fields, st.sampled_from(["lt", "lte", "gt", "gte"]), few | scalars()),
    st.builds(
        Predicate, fields, st.sampled_from(["in", "nin"]), st.lists(few | values(), max_size=4)
    ),
    st.builds(Predicate, fields, st.just("exists"), st.booleans()),
)
queries = st.lists(predicates, max_size=2)
orders = st.none() | st.builds(OrderBy, fields, st.sampled_from(["asc", "desc"]))
writes = st.one_of(
    st.builds(Put, collections, ids, data, versions),
    st.builds(Keep, collections, ids, data),
    st.builds(Delete, collections, ids, versions),
    st.builds(Require, collections, ids, versions),
)
calls = st.one_of(
    st.tuples(st.just("ensure_collection"), specs),
    st.tuples(st.just("put"), collections, ids, data),
    st.tuples(st.just("write"), st.lists(writes, max_size=5)),
    st.tuples(st.just("write"), st.lists(writes, max_size=5)),
    st.tuples(st.just("find"), collections, queries, orders, st.integers(1, 3)),
    st.tuples(st.just("find"), collections, queries, orders, st.integers(1, 3)),
    st.tuples(st.just("count"), collections, queries),
    st.tuples(st.just("groups"), collections, fields, queries, st.integers(1, 2)),
    st.tuples(st.just("get"), collections, ids),
    st.tuples(st.just("collection_spec"), collections),
    st.tuples(st.just("drop_collection"), st.just("d")),
)


text_fields = [FieldSpec("a", "string", indexed=True), FieldSpec("b", "string", indexed=True)]
text_spec = CollectionSpec("c", text_fields, [("b", "c", "a")])
text_data = st.dictionaries(fields, st.sampled_from([None, *texts]), max_size=3)
text_calls = st.one_of(
    st.tuples(st.just("put"), st.just("c"), st.text("xyz", min_size=1, max_size=2), text_data),
    st.tuples(
        st.just("groups"),
        st.just("c"),
        st.sampled_from(["a", "b"]),
        st.lists(
            st.builds(
                Predicate,
                fields,
                st.sampled_from(["eq", "ne", "gt", "lte"]),
                st.sampled_from(texts),
            ),
            max_size=2,
        ),
        st.integers(1, 2),
    ),
)
text_sequences = st.lists(text_calls, min_size=3, max_size=14).map(
    lambda sequence: [("ensure_collection", text_spec), *sequence]
)
sequences = st.lists(calls, min_size=3, max_size=14) | text_sequences


def answer(store, name, *arguments):
    """What a call answers, without times, or the type of its error; pages are turned."""
    turned = {"find": find, "groups": groups}.get(name)
    try:
        if turned is None:
            return plain(getattr(store, name)("n", *arguments))
        return [plain(page) for page in every_page(store, turned, *arguments)]
    except DocumentError as error:
        return type(error)


def every_page(store, turned, *arguments):
    cursor = None
    for _ in range(10):
        page = turned(store, *arguments, cursor)
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def find(store, *arguments):
    return store.find("n", *arguments, max_bytes=150)


def groups(store, collection, by, where, limit, cursor):
    page = store.groups("n", collection, by, where, limit, cursor)

    def by_find(query):
        return store.find("n", query.collection, query.where, query.order_by, 1, query.cursor)

    query = Groups(collection, by, tuple(where), limit, cursor)
    assert drive(groups_by_finding("n", query), by_find) == page
    return page


def plain(value):
    if isinstance(value, Page):
        return [[plain(item) for item in value.items], value.cursor]
    if isinstance(value, GroupPage):
        return [[(group.value, group.count) for group in value.items], value.cursor]
    if hasattr(value, "created_at"):
        return [value.id, value.version, value.data]
    return value


def run(store, sequence):
    """Answers to all calls, and what is stored after them."""
    calls = [("ensure_collection", CollectionSpec("c")), *sequence]
    answers = [(call, answer(store, *call)) for call in calls]
    stored = {
        collection: {item.id: item.data for item in store.find("n", collection).items}
        for collection in store.collections("n")
    }
    return answers, stored


def check(store, sequence):
    expected, expected_documents = run(MemoryDocuments(), sequence)
    answers, documents = run(store, sequence)
    for (call, actual), (_, right) in zip(answers, expected, strict=True):
        assert same(actual, right), call
    assert same(documents, expected_documents)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sequences)
def test_sqlite_answers_as_memory_does(tmp_path_factory, sequence):
    path = tmp_path_factory.mktemp("same") / "documents.sqlite"
    with closing(SQLiteDocuments(path)) as sqlite:
        check(sqlite, sequence)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sequences)
def test_postgresql_answers_as_memory_does(postgres_server, sequence):
    with postgresql_documents(postgres_server) as store:
        check(store, sequence)
