"""Documents as protobuf: the golden bytes of the published peers, round trips, what is refused."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naas_abi_sdk.document import wire
from naas_abi_sdk.document.encoding import MAX_NESTING, from_json_text
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Delete,
    Document,
    FieldSpec,
    Keep,
    OrderBy,
    Outcome,
    Page,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.document.validation import check_data
from naas_abi_sdk.document.wire_values import from_data, from_value, to_data, to_value
from naas_abi_sdk.errors import InvalidArgument
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto
from tests.support.document_values import data, datetimes, golden_values, same, texts, values

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "interop.json").read_text("utf-8"))
NAIVE = datetime(2026, 1, 1, tzinfo=timezone.utc).replace(tzinfo=None)

names = texts.filter(bool)
versions = st.none() | st.integers(0, 2**63 - 1)
documents = st.builds(
    Document,
    names,
    data(),
    datetimes.map(lambda when: when.astimezone(timezone.utc)),
    datetimes.map(lambda when: when.astimezone(timezone.utc)),
    st.integers(1, 2**63 - 1),
)
writes = st.one_of(
    st.builds(Put, names, names, data(), versions),
    st.builds(Keep, names, names, data()),
    st.builds(Delete, names, names, versions),
    st.builds(Require, names, names, versions.filter(lambda version: version != 0)),
)
outcomes = st.builds(Outcome, st.sampled_from(["done", "conflict", "skipped"]), versions, texts)


def sent(message):
    """The message as the other side has it."""
    return type(message).FromString(message.SerializeToString())


def utc(value):
    """``value`` with its datetimes in UTC."""
    if isinstance(value, dict):
        return {key: utc(item) for key, item in value.items()}
    if isinstance(value, list):
        return [utc(item) for item in value]
    return value.astimezone(timezone.utc) if isinstance(value, datetime) else value


@pytest.mark.parametrize("vector", VECTORS["values"], ids=lambda vector: vector["name"])
def test_a_value_has_the_golden_bytes(vector):
    value = golden_values(vector)
    message = to_value(value)
    assert message.SerializeToString(deterministic=True).hex() == vector["proto_hex"]
    assert same(from_value(proto.Value.FromString(bytes.fromhex(vector["proto_hex"]))), utc(value))


def golden(group, name):
    return bytes.fromhex(VECTORS[group][name]["hex"])


CONTEXT = {"trace_id": "11111111-2222-4333-8444-555555555555", "timeout_ms": 10_000}
PLACE = {"namespace": "acme.module", "collection": "people"}
PERSON = from_json_text('{"age":3,"email":"a@b.c"}')
REQUESTS = {
    "ensure_collection": lambda: proto.EnsureCollectionRequest(
        namespace="acme.module",
        spec=wire.to_spec(
            CollectionSpec(
                "people",
                [FieldSpec("email", "string", unique=True), FieldSpec("age", "int", indexed=True)],
                [["first", "last"]],
            )
        ),
    ),
    "put_create_only": lambda: proto.PutRequest(
        **PLACE, id="p1", data=to_data({"email": "a@b.c"}), if_version=0
    ),
    "put_unconditional": lambda: proto.PutRequest(**PLACE, id="p1", data=to_data(PERSON)),
    "put_cas": lambda: proto.PutRequest(**PLACE, id="p1", data=to_data({}), if_version=2),
    "find": lambda: proto.FindRequest(
        **PLACE,
        where=wire.to_predicates(
            [
                Predicate("age", "gte", 3),
                Predicate("email", "in", ["a", "b"]),
                Predicate("gone", "exists", value=False),
            ]
        ),
        order_by=wire.to_order_by(OrderBy("age", "desc")),
        limit=2,
        cursor="abc",
        max_bytes=1000,
    ),
    "find_defaults": lambda: proto.FindRequest(
        **PLACE,
        where=wire.to_predicates([]),
        order_by=wire.to_order_by(None),
        projection=wire.to_projection(None),
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_has_the_golden_bytes(name):
    request = REQUESTS[name]()
    request.context.trace_id = CONTEXT["trace_id"]
    request.context.timeout_ms = CONTEXT["timeout_ms"]
    assert request.SerializeToString(deterministic=True) == golden("requests", name)


def test_a_golden_response_is_read_and_written():
    page = wire.from_page(proto.FindResponse.FromString(golden("responses", "find_page")))
    expected = Document(
        "doc-1",
        {
            "title": "hi",
            "tags": ["a", None],
            "raw": b"\1",
            "n": 7,
            "at": datetime(2026, 10, 6, 9, 30, tzinfo=timezone.utc),
        },
        datetime(2026, 10, 6, 9, 30, tzinfo=timezone.utc),
        datetime(2026, 10, 6, 9, 30, 12, 345678, tzinfo=timezone.utc),
        3,
    )
    assert page == Page((expected,), "abc")
    written = wire.to_page(page).SerializeToString(deterministic=True)
    assert written == golden("responses", "find_page")


@given(data())
def test_data_comes_back_as_it_was_sent(value):
    assert same(from_data(sent(to_data(value))), utc(value))


@given(st.lists(documents, max_size=3), st.none() | texts)
def test_a_page_comes_back_as_it_was_sent(items, cursor):
    page = Page(tuple(items), cursor)
    read = wire.from_page(sent(wire.to_page(page)))
    assert read.cursor == cursor
    assert [(item.id, item.version, item.created_at) for item in read.items] == [
        (item.id, item.version, item.created_at) for item in items
    ]
    assert all(same(a.data, utc(b.data)) for a, b in zip(read.items, items, strict=True))


@given(st.lists(writes, max_size=4))
def test_a_batch_comes_back_as_it_was_sent(batch):
    read = wire.from_writes(sent(proto.WriteRequest(writes=wire.to_writes(batch))).writes)
    assert read == batch


@given(st.lists(outcomes, max_size=4))
def test_outcomes_come_back_as_they_were_sent(ends):
    read = wire.from_outcomes(sent(proto.WriteResponse(outcomes=wire.to_outcomes(ends))).outcomes)
    assert read == ends
    assert [end.reason for end in read] == [end.reason for end in ends]


@given(st.none() | st.lists(texts, max_size=3, unique=True))
def test_no_projection_and_an_empty_one_are_told_apart(fields):
    request = sent(proto.FindRequest(projection=wire.to_projection(fields)))
    read = wire.from_projection(request)
    assert read == (None if fields is None else tuple(sorted(fields)))


@given(names, st.lists(st.builds(Predicate, names, st.just("eq"), values()), max_size=3))
def test_a_query_comes_back_as_it_was_sent(field, where):
    request = proto.FindRequest(
        where=wire.to_predicates(where), order_by=wire.to_order_by(OrderBy(field, "desc"))
    )
    read = sent(request)
    assert wire.from_order_by(read) == OrderBy(field, "desc")
    assert [(p.field, p.operator) for p in wire.from_predicates(read.where)] == [
        (p.field, p.operator) for p in where
    ]
    pairs = zip(wire.from_predicates(read.where), where, strict=True)
    assert all(same(a.value, utc(b.value)) for a, b in pairs)


@pytest.mark.parametrize("wrap", [lambda inner: {"a": inner}, lambda inner: [inner]])
def test_the_deepest_nesting_a_store_takes_travels_too(wrap):
    value = b"deep"
    for _ in range(MAX_NESTING):
        value = wrap(value)
    batch = proto.WriteRequest(writes=wire.to_writes([Put("c", "d", {"x": value})]))
    assert wire.from_writes(sent(batch).writes) == [Put("c", "d", {"x": value})]
    page = Page((Document("d", {"x": value}, *[datetime.now(timezone.utc)] * 2, 1),))
    assert wire.from_page(sent(wire.to_page(page))) == page
    with pytest.raises(InvalidArgument, match="nested deeper"):
        to_data({"x": wrap(value)})


class Colour(str, Enum):
    RED = "red"


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        "\0", "a\0b", "\ud800", "x\udfff", math.nan, math.inf, 2**63, -(2**63) - 1, NAIVE, (),
        bytearray(b"x"), Colour.RED, Text("x"), 1j, {"a\0": 1}, {"\ud800": 1}, {1: 1},
        {"a": [{"b": "\0"}]}, datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    ],
    ids=ascii,
)  # fmt: skip
def test_what_a_store_refuses_is_refused_with_the_same_words(value):
    """C110: text that is not valid UTF-8 among it."""
    with pytest.raises(InvalidArgument) as in_process:
        check_data({"x": value})
    with pytest.raises(InvalidArgument) as remote:
        to_data({"x": value})
    assert str(remote.value) == str(in_process.value)
    with pytest.raises(InvalidArgument):
        to_value(value)


@pytest.mark.parametrize("text", ["\ud800", "\0", "", None, 1])
def test_names_are_refused_before_protobuf_sees_them(text):
    with pytest.raises(InvalidArgument):
        wire.to_writes([Require(text, "id")])
    with pytest.raises(InvalidArgument):
        wire.to_spec(CollectionSpec(text))
    with pytest.raises(InvalidArgument):
        wire.to_predicates([Predicate(text, "eq", 1)])


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (proto.Value(), "no kind"),
        (proto.Value(datetime_value="2026-01-02T03:04:05"), "no offset"),
        (proto.Value(datetime_value="yesterday"), "ISO 8601"),
        (proto.Value(nested_value="["), "JSON"),
        (proto.Value(nested_value='{"$t":"bytes","$v":"?"}'), "JSON"),
    ],
    ids=["no-kind", "naive", "not-a-datetime", "not-json", "bad-tag"],
)
def test_a_malformed_value_is_refused(message, said):
    with pytest.raises(InvalidArgument, match=said):
        from_value(message)


def test_what_other_peers_write_is_read():
    assert from_value(proto.Value(null_value=False)) is None
    when = from_value(proto.Value(datetime_value="2026-01-02T03:04:05.000006Z"))
    assert when == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)


def test_a_write_or_outcome_of_no_known_kind_is_refused():
    with pytest.raises(InvalidArgument, match="kind"):
        wire.from_writes([proto.Write()])
    with pytest.raises(InvalidArgument, match="state"):
        wire.from_outcomes([proto.Outcome()])
