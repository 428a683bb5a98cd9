"""Canonical text: the golden values, round trips, and what is refused where."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import given

from naas_abi_sdk.document.encoding import (
    MAX_NESTING,
    canonical_size,
    decode,
    encode,
    from_json_text,
    tagged,
    to_json_text,
)
from naas_abi_sdk.errors import InvalidArgument
from tests.support.document_values import data, golden_values, normalised, same

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "interop.json").read_text())
NAIVE = datetime(2026, 1, 1, tzinfo=timezone.utc).replace(tzinfo=None)


@pytest.mark.parametrize("vector", VECTORS["values"], ids=lambda vector: vector["name"])
def test_stored_text_equals_the_golden_vector(vector):
    value = golden_values(vector)
    text = to_json_text({"value": value})
    assert text == f'{{"value":{vector["stored_json"]}}}'
    assert same(from_json_text(text), {"value": normalised(value)})


@given(data())
def test_what_goes_in_comes_out(value):
    encoded = encode(value)
    assert same(decode(encoded.text, encoded.payload), normalised(value))
    assert same(from_json_text(to_json_text(value)), normalised(value))


@given(data())
def test_size_is_the_length_of_the_canonical_text(value):
    assert canonical_size(value) == len(to_json_text(value)) == encode(value).size


@given(data())
def test_canonical_text_is_ascii_and_does_not_depend_on_key_order(value):
    text = to_json_text(value)
    assert text.isascii()
    assert to_json_text(dict(reversed(value.items()))) == text


def test_numbers_keep_their_type():
    read = from_json_text(to_json_text({"a": 1, "b": 1.0, "c": 1e16, "d": 2**63 - 1, "e": True}))
    assert [type(read[key]) for key in "abcde"] == [int, float, float, int, bool]


def test_bytes_are_kept_apart_and_in_place():
    encoded = encode({"b": b"two", "a": [b"", {"x": b"one"}]})
    assert sorted(encoded.payload) == sorted(b"onetwo")
    assert "b25l" not in encoded.text
    assert decode(encoded.text, encoded.payload) == {"a": [b"", {"x": b"one"}], "b": b"two"}


def test_user_keys_cannot_pose_as_tags():
    value = {"$b": [0, 1], "$t": "bytes", "$v": "AA==", "$$t": {"$b": [0, 0]}, "$": 1}
    encoded = encode(value)
    assert encoded.payload == b""
    assert decode(encoded.text, b"") == value
    assert from_json_text(to_json_text(value)) == value


class Colour(str, Enum):
    RED = "red"


class Flag(int):
    pass


def _cyclic():
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**63, "data.a[1].b: integer 9223372036854775808 is outside signed 64 bits"),
        (-(2**63) - 1, "outside signed 64 bits"),
        (math.nan, "data.a[1].b: float nan is not finite"),
        (-math.inf, "float -inf is not finite"),
        ("\0", r"data.a[1].b: text must not hold U+0000"),
        ("ab\ud800", "data.a[1].b: text holds a lone surrogate at character 2"),
        (NAIVE, "data.a[1].b: datetime without a time zone"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "outside years 1 to 9999"),
        ((1,), "data.a[1].b: tuple is not storable; use a list"),
        ({1}, "set is not storable; use a list"),
        (bytearray(b"x"), "bytearray is not storable; use bytes"),
        (Colour.RED, "Colour is a subclass of str; convert it"),
        (Flag(1), "Flag is a subclass of int; convert it"),
        (object(), "data.a[1].b: object is not storable"),
        ({1: 2}, "data.a[1].b[1]: key 1 is int, not str"),
        ({"x y": None, "\0": 1}, r"data.a[1].b['\x00']: text must not hold U+0000"),
        ({"deep key": {1}}, "data.a[1].b['deep key']: set is not storable"),
        (_cyclic(), f"nested deeper than {MAX_NESTING} levels, or it contains itself"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_portable_is_refused_by_place(value, message):
    for encoding in (encode, to_json_text):
        with pytest.raises(InvalidArgument) as caught:
            encoding({"a": [0, {"b": value}]})
        assert message in str(caught.value)


@pytest.mark.parametrize("value", [None, [], "text", 1])
def test_data_must_be_a_dict(value):
    with pytest.raises(InvalidArgument, match="data must be a dict, not"):
        encode(value)


def test_the_deepest_nesting_allowed_is_stored_and_one_more_is_not():
    value: object = 1
    for _ in range(MAX_NESTING):
        value = [value]
    encoded = encode({"a": value})
    assert decode(encoded.text, b"") == {"a": value}
    with pytest.raises(InvalidArgument, match="nested deeper"):
        encode({"a": [value]})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"a":NaN}',
        '{"a":{"$t":"bytes"}}',
        '{"a":{"$t":"bytes","$v":"*"}}',
        '{"a":{"$t":"datetime","$v":"2026-01-01T00:00:00"}}',
        '{"a":{"$t":"datetime","$v":1}}',
        "[" * 100_000,
    ],
)
def test_text_that_is_no_document_is_refused(text):
    with pytest.raises(InvalidArgument):
        from_json_text(text)


def test_text_of_others_is_read_leniently():
    read = from_json_text('{"n":18446744073709551616,"$x":1,"t":{"$t":"other"},"$$t":2}')
    assert read == {"n": 18446744073709551616.0, "$x": 1, "t": {"$t": "other"}, "$t": 2}
    assert type(read["n"]) is float


def test_damaged_payload_is_noticed():
    encoded = encode({"a": b"12345"})
    with pytest.raises(ValueError, match="payload ends at 4, before byte 5"):
        decode(encoded.text, encoded.payload[:4])


def test_a_lone_value_is_named_as_the_caller_asks():
    assert tagged([b"x"]) == [{"$t": "bytes", "$v": "eA=="}]
    with pytest.raises(InvalidArgument, match=r"^value of 'age' eq\[0\]: set is not storable"):
        tagged([set()], "value of 'age' eq")
