"""Which types are read, who is told, and which keys of a run are copied."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import SecretStr

from naas_abi_sdk.errors import NotFaithful
from naas_abi_sdk.langgraph_documents.copying_keys import looks_secret, with_copied_keys
from naas_abi_sdk.langgraph_documents.faithful import FaithfulSerializer, faithful
from naas_abi_sdk.langgraph_documents.unavailable import UnavailableValue
from tests.support.kept_values import Order, Total


def called(code: int, *content: Any) -> tuple[str, bytes]:
    return "msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(content)))


def test_a_strict_serializer_reads_what_it_was_given() -> None:
    """C022, C023: the rest is inert, and refused when saved."""
    typed = FaithfulSerializer().dumps_typed(Order(note=1))
    strict = FaithfulSerializer(allowed_types=[])
    held = strict.loads_typed(typed)
    assert type(held) is UnavailableValue
    assert "not an allowed type; add 'tests.support.kept_values.Order'" in repr(held)
    with pytest.raises(NotFaithful, match=r"could not be read again: it is not an allowed type"):
        strict.dumps_typed(Order(note=1))
    assert strict.with_msgpack_allowlist([Order]).loads_typed(typed) == Order(note=1)
    named = FaithfulSerializer(allowed_types=["tests.support.kept_values.Order"])
    assert named.loads_typed(typed) == Order(note=1)
    assert named.with_msgpack_allowlist([Order]) is named
    for wrong in ("Order", "a..b", "a.b c"):
        with pytest.raises(ValueError, match="is not the dotted path of a class"):
            FaithfulSerializer(allowed_types=[wrong])


def test_an_open_serializer_says_what_it_reads(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C023: once for each type, and not when saving."""
    monkeypatch.setattr("naas_abi_sdk.langgraph_documents.allowing._warned", set())
    with caplog.at_level(logging.WARNING):
        typed = FaithfulSerializer().dumps_typed([Total(1), Total(2)])
        assert caplog.text == ""
        for _ in range(2):
            assert FaithfulSerializer().loads_typed(typed) == [Total(1), Total(2)]
    (record,) = caplog.records
    assert record.getMessage().startswith("tests.support.kept_values.Total is read")


def test_warnings_and_reports_have_a_bound(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("naas_abi_sdk.langgraph_documents.allowing._WARNED_AT_MOST", 0)
    monkeypatch.setattr("naas_abi_sdk.langgraph_documents.unavailable._REPORTED_AT_MOST", 0)
    held = FaithfulSerializer().loads_typed(called(0, "no.such.module", "Thing", 1))
    assert held.unavailable_data == [1]
    assert caplog.text == ""


@pytest.mark.skipif(
    not hasattr(JsonPlusSerializer, "with_msgpack_allowlist"), reason="langgraph-checkpoint 3"
)
def test_the_lists_of_langgraphs_serializer_are_obeyed() -> None:
    """C023."""
    typed = FaithfulSerializer().dumps_typed(Order(note=1))
    given = faithful(JsonPlusSerializer(allowed_msgpack_modules=[("other", "Type")]))
    assert type(given.loads_typed(typed)) is UnavailableValue
    assert isinstance(given, FaithfulSerializer)
    wider = given.with_msgpack_allowlist([(Order.__module__, "Order")])
    assert wider.loads_typed(typed) == Order(note=1)


@pytest.mark.parametrize("name", ["eval", "type"])
def test_nothing_is_called_that_no_serializer_writes(name: str) -> None:
    """C022."""
    held = FaithfulSerializer().loads_typed(called(0, "builtins", name, "1 + 1"))
    assert "nothing a serializer writes" in held.unavailable_because


def test_methods_that_no_serializer_asks_for() -> None:
    """C022."""
    held = FaithfulSerializer().loads_typed(called(3, "datetime", "datetime", "2", "strptime"))
    assert "its method 'strptime'" in held.unavailable_because


def test_a_pickle_is_never_read() -> None:
    """C022."""
    serde = FaithfulSerializer(JsonPlusSerializer(pickle_fallback=True))
    with pytest.raises(ValueError, match="it is a pickle"):
        serde.loads_typed(("pickle", pickle.dumps(1)))


def test_what_does_not_validate_any_more_is_kept_as_it_is() -> None:
    """As LangGraph does: a model is stricter now than when it was stored."""
    fields = {"note": 1, "unknown": 2}
    held = FaithfulSerializer().loads_typed(called(5, Order.__module__, "Order", fields))
    assert held.note == 1
    name = "Numbers"
    held = FaithfulSerializer().loads_typed(called(5, Order.__module__, name, {"root": ["x"]}))
    assert held.root == ["x"]


def test_secrets_that_nobody_took_out_are_refused() -> None:
    """C027: as keys, or in attributes that redaction does not look at."""
    for value in ({SecretStr("s"): 1}, ({SecretStr("s")},)):
        with pytest.raises(NotFaithful, match="secrets are not stored"):
            FaithfulSerializer().dumps_typed(value)


@pytest.mark.parametrize(
    "name",
    [
        *("api_key", "apiKey", "API_KEY", "OPENAI_API_KEY", "x-api-keys", "apikey"),
        *("token", "authToken", "refresh_tokens", "password", "DB-PASSWORD", "dbPassword"),
        *("secret", "clientSecret", "Authorization", "aws.credentials", "session-cookie", "JWT"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    """C026."""
    assert looks_secret(name)
    config = {"configurable": {name: "s", "user": "ada"}, "metadata": {name: "s"}, "tags": [name]}
    copied = {"configurable": {"user": "ada"}, "metadata": {}, "tags": [name]}
    assert with_copied_keys(config, None) == copied
    only_it = {"configurable": {name: "s"}, "metadata": {name: "s"}, "tags": [name]}
    assert with_copied_keys(config, [name]) == only_it


@pytest.mark.parametrize(
    "name",
    ["key", "keys", "user", "monkey_business", "thread_id", "tokenizer", "author", "secretary"],
)
def test_names_that_are_no_secrets(name: str) -> None:
    """C026."""
    assert not looks_secret(name)
