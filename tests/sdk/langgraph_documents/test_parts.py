"""The pure pieces of the codec, by tables."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel, ConfigDict, SecretBytes, SecretStr

from naas_abi_sdk.errors import CheckpointDamaged, InvalidCheckpointConfig
from naas_abi_sdk.langgraph_documents import (
    REDACTED_SECRET,
    Memory,
    Recall,
    next_version,
    redact_secrets,
)
from naas_abi_sdk.langgraph_documents.addresses import document_id, element_ref, part_refs
from naas_abi_sdk.langgraph_documents.batching import batches, references
from naas_abi_sdk.langgraph_documents.configuring import address, configurable
from naas_abi_sdk.langgraph_documents.decoding import channel_values, value_of
from naas_abi_sdk.langgraph_documents.ordering import order_after
from naas_abi_sdk.langgraph_documents.recall import KnownCheckpoint, KnownValue


class Loads:
    """A serializer that tells what it was given."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return data

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "kind", str(obj).encode()


SECRET = SecretStr("s3cret")


@dataclass
class Settings:
    token: SecretStr
    name: str = "n"
    derived: str = field(init=False, default="d")


class Pair(NamedTuple):
    name: str
    token: Any


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")
    token: SecretStr
    inner: dict[str, Any] = {}


class Send:
    """A packet as LangGraph's, which is another distribution."""

    def __init__(self, node: str, arg: Any) -> None:
        self.node, self.arg = node, arg


class Odd:
    """A secret whose type cannot hold the marker."""

    def __init__(self, *, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        return self._value


def deep(value: Any, levels: int = 100) -> Any:
    for _ in range(levels):
        value = {"x": [value]}
    return value


def revealed(value: Any) -> str:
    """Everything in ``value``, secrets included."""
    if hasattr(value, "get_secret_value"):
        return str(value.get_secret_value())
    if isinstance(value, dict):
        return " ".join(map(revealed, value.values()))
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return " ".join(map(revealed, value))
    if isinstance(value, Send):
        return revealed(value.arg)
    if hasattr(value, "__dict__"):
        extra = getattr(value, "__pydantic_extra__", None) or {}
        return " ".join(map(revealed, [*vars(value).values(), *extra.values()]))
    return str(value)


@pytest.mark.parametrize(
    "value",
    [
        SECRET,
        SecretBytes(b"s3cret"),
        Odd(value="s3cret"),
        {"a": SECRET},
        [1, SECRET],
        (SECRET,),
        {SECRET},
        frozenset({SECRET}),
        deque([SECRET], maxlen=3),
        Pair("p", SECRET),
        Settings(SECRET),
        Model(token=SECRET),
        Model(token=SecretStr("x"), inner={"k": [SECRET]}),
        Model(token=SecretStr("x"), extra={"k": SECRET}),
        Send("node", {"k": SECRET}),
        HumanMessage("hi", additional_kwargs={"key": SECRET}),
        deep(SECRET),
    ],
    ids=lambda value: type(value).__name__,
)
def test_secrets_are_taken_out_everywhere(value: Any) -> None:
    redacted = redact_secrets(value)
    assert "s3cret" in revealed(value)
    assert "s3cret" not in revealed(redacted)
    assert REDACTED_SECRET in revealed(redacted)
    if not isinstance(value, Odd):
        assert type(redacted) is type(value)


def test_redaction_keeps_what_is_no_secret() -> None:
    assert redact_secrets(deque([SECRET, 2], maxlen=3)).maxlen == 3
    assert redact_secrets(Pair("p", SECRET)).name == "p"
    assert redact_secrets(Settings(SECRET, "kept")).name == "kept"
    assert redact_secrets(Send("node", SECRET)).node == "node"
    assert isinstance(redact_secrets(SecretBytes(b"x")).get_secret_value(), bytes)


@pytest.mark.parametrize(
    "value",
    [
        1,
        "text",
        None,
        b"b",
        [1, [2]],
        {"a": (1,)},
        Settings,
        HumanMessage("hi"),
        object(),
        Send("n", 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_without_secrets_is_returned_itself(value: Any) -> None:
    assert redact_secrets(value) is value


def test_a_dataclass_without_secrets_is_returned_itself() -> None:
    @dataclass
    class Plain:
        n: int

    value = Plain(1)
    assert redact_secrets(value) is value


def test_looking_for_secrets_does_not_recurse() -> None:
    value = deep("plain", 100_000)
    assert redact_secrets(value) is value
    with pytest.raises(RecursionError):
        redact_secrets(deep(SECRET, 100_000))
    # Taken apart level by level: freeing it at once would recurse as well.
    while isinstance(value, dict):
        (value,) = value["x"]


def test_a_value_that_holds_itself_ends() -> None:
    value: list[Any] = [SECRET]
    value.append(value)
    assert redact_secrets(value)[0].get_secret_value() == REDACTED_SECRET


@pytest.mark.parametrize("text", ["a\ud800", "\udfff\ud800", "nul\0", "é", ""])
def test_addresses_of_any_text_are_made_and_differ(text: str) -> None:
    """C016."""
    distinct = {("",), (text,), (text, ""), ("", text), (text + " ",)}
    assert len({document_id(text, *parts) for parts in distinct}) == len(distinct)
    assert document_id(text, text) == document_id(text, text)
    assert element_ref("k", text.encode("utf-8", "surrogatepass")) != element_ref("k", b"other")


def test_generated_keys_never_collide() -> None:
    """C129."""
    pieces = ["a", "b", ":", "|", "/", "\0", "", "a:b", '"', "\\", ", "]
    keys = {
        (one, two, three, number): document_id("agent", one + two, three, number)
        for one in pieces
        for two in pieces
        for three in pieces
        for number in range(-4, 78)
    }
    distinct = {(one + two, three, number) for one, two, three, number in keys}
    assert len(keys) > 100_000
    assert len(set(keys.values())) == len(distinct)


@pytest.mark.parametrize(
    ("parent", "checkpoint_id", "order"),
    [
        (None, "b", "b"),
        ("a", "b", "b"),
        ("b", "a", "b~00000001"),
        ("b", "b", "b~00000001"),
        ("b~00000001", "a", "b~00000002"),
        ("b~00000001", "c", "c"),
    ],
)
def test_order(parent: str | None, checkpoint_id: str, order: str) -> None:
    assert order_after(parent, checkpoint_id) == order
    assert parent is None or order > parent


@pytest.mark.parametrize("version", ["abc", "", ".5", "-1.0"])
def test_a_version_that_cannot_be_counted_up_is_refused(version: str) -> None:
    with pytest.raises(InvalidCheckpointConfig, match="does not start with a number"):
        next_version(version)


def test_versions_of_each_kind_increase() -> None:
    """C133."""
    for version in (1, 1.0, "00000000000000000000000000000009.0.5", "7"):
        following = [version]
        for _ in range(12):
            following.append(next_version(following[-1]))
        assert following[1:] == sorted(following[1:])
        assert len({type(item) for item in following}) == 1


@pytest.mark.parametrize("value", [None, {}, {"configurable": None}, {"configurable": {}}])
def test_no_configurable_is_an_empty_one(value: Any) -> None:
    assert configurable(value) == {}


def test_a_configurable_of_another_type_is_refused() -> None:
    with pytest.raises(
        InvalidCheckpointConfig, match=r"config\['configurable'\] must be a dict, got str"
    ):
        address({"configurable": "thread"})


def test_an_address_defaults_to_the_root_namespace() -> None:
    found = address(
        {"configurable": {"thread_id": "t", "checkpoint_ns": None, "checkpoint_id": ""}}
    )
    assert (found.thread_id, found.checkpoint_ns, found.checkpoint_id) == ("t", "", None)


def test_references_of_every_kind_of_document() -> None:
    parts = {"kind": "k", "size": 1, "parts": ["p-1.0"]}
    inline = {"kind": "k", "payload": b""}
    cases: list[tuple[Any, list[str]]] = [
        ({"value": inline}, []),
        ({"value": parts}, ["p-1.0"]),
        ({"chunks": ["c-1", "c-2"], "length": 2}, ["c-1", "c-2"]),
        ({"elements": [["e-1", 3], ["e-2", 9_999_999]]}, ["e-1", "e-2"]),
        ({"payload": b""}, []),
        (
            {
                "checkpoint": parts,
                "metadata": inline,
                "channels": {"a": {"blob": "b-1"}, "b": {"value": parts}},
            },
            ["p-1.0", "b-1", "p-1.0"],
        ),
    ]
    for document, refs in cases:
        assert [ref for ref, _ in references(document)] == refs
    assert dict(references(cases[3][0])) == {"e-1": 4099, "e-2": 266_240}


def test_a_batch_names_at_most_500_references() -> None:
    wanted = [(f"e-{number}", 1) for number in range(1001)]
    assert [len(refs) for _, refs in batches(wanted)] == [500, 500, 1]
    assert batches([("p-1.0", 99_000_000), ("p-1.1", 1)]) == [
        ("langgraph_parts_v2", ["p-1.0"]),
        ("langgraph_parts_v2", ["p-1.1"]),
    ]


def known(number: int, size: int = 3) -> KnownCheckpoint:
    refs = frozenset(f"e-{number}-{index}" for index in range(size - 1))
    return KnownCheckpoint(
        ("t", "", str(number)),
        str(number),
        {"a": KnownValue(1, {}, {f"b-{number}": refs})},
        parent_id=None,
    )


def test_recall_forgets_the_least_recently_used() -> None:
    recall = Recall(capacity=9)
    for number in (1, 2, 3):
        recall.learn(known(number))
    assert recall.of(("t", "", "1")) is not None
    recall.learn(known(4))
    assert [recall.of(("t", "", str(number))) is not None for number in (1, 2, 3, 4)] == [
        True,
        False,
        True,
        True,
    ]
    assert len(recall) == 9
    recall.learn(known(1, size=4))
    assert recall.of(("t", "", "3")) is None
    recall.forget([("t", "", "1"), ("t", "", "absent")])
    assert len(recall) == 3
    recall.forget_thread("t")
    assert len(recall) == 0


def test_recall_keeps_one_checkpoint_larger_than_its_capacity() -> None:
    recall = Recall(capacity=2)
    recall.learn(known(1, size=50))
    assert recall.of(("t", "", "1")) is not None


def test_a_known_checkpoint_holds_exactly_its_references() -> None:
    checkpoint = KnownCheckpoint(
        ("t", "", "1"), "1", known(1).channels, frozenset({"p-1.0"}), parent_id=None
    )
    assert checkpoint.holds("e-1-0")
    assert checkpoint.holds("p-1.0")
    assert not checkpoint.holds("e-2-0")
    assert checkpoint.piece("b-1") is not None
    assert checkpoint.piece("c-1") is None


@pytest.mark.parametrize(
    ("entry", "stored", "message"),
    [
        ({"blob": "b-1"}, {}, "'b-1' is missing"),
        ({"blob": "b-1"}, {"b-1": {"chunks": ["c-1"], "length": 1}}, "'c-1' is missing"),
        (
            {"blob": "b-1"},
            {"b-1": {"chunks": ["c-1"], "length": 1}, "c-1": {"elements": [["e-1", 1]]}},
            "'e-1' is missing",
        ),
        ({"blob": "b-1"}, {"b-1": {"chunks": [], "length": 1}}, "has 0 elements, 1 were stored"),
        ({"value": {"kind": "k", "size": 3, "parts": ["p-1.0"]}}, {}, "'p-1.0' is missing"),
        (
            {"value": {"kind": "k", "size": 3, "parts": ["p-1.0"]}},
            {"p-1.0": {"payload": b"ab"}},
            "hold 2 bytes, 3 were stored",
        ),
    ],
)
def test_damage_is_named(entry: Any, stored: Any, message: str) -> None:
    with pytest.raises(CheckpointDamaged, match=message):
        channel_values({"channels": {"a": entry}}, stored, Memory("agent", Loads()))


def test_parts_are_joined_in_order() -> None:
    first, second = part_refs(b"abc", 2)
    stored = {first: {"payload": b"ab"}, second: {"payload": b"c"}}
    value = {"kind": "k", "size": 3, "parts": [first, second]}
    assert value_of(value, stored, Loads()) == ("k", b"abc")
