"""What did not change is not serialized again, and whatever changed is."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from datetime import datetime, timezone
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import SecretStr

from naas_abi_sdk.langgraph_documents import ITEMS
from naas_abi_sdk.langgraph_documents.faithful import faithful, writes_as
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.recognising import ListedChunk, Recogniser, fingerprint
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import AGENT_ID, Codec, all_documents, config, make_checkpoint


class Text(str):
    """Text that is more than text."""

    __slots__ = ()


class Color(Enum):
    RED = "red"


class OwnMessage(HumanMessage):
    """A message of a user's, which may serialize itself as it likes."""


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        (1, 2),
        [(1, 2)],
        {1, 2},
        {1: "a"},
        b"a",
        bytearray(b"a"),
        [{"a": memoryview(b"a")}],
        Text("x"),
        {"a": Text("x")},
        Color.RED,
        UUID(int=1),
        datetime(2026, 1, 1, tzinfo=timezone.utc),
        SecretStr("s"),
        {"a": [SecretStr("s")]},
        OrderedDict(a=1),
        defaultdict(list),
        2**64,
        -(2**63) - 1,
        "\ud800",
        nested(5000),
        object(),
        OwnMessage("x"),
        HumanMessage("x", additional_kwargs={"key": SecretStr("s")}),
        HumanMessage("x", additional_kwargs={"pair": (1, 2)}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_has_no_fingerprint(value: Any) -> None:
    assert fingerprint([value]) is None


def test_alike_but_different_values_have_different_fingerprints() -> None:
    message = HumanMessage("x", id="1")
    values: list[list[Any]] = [
        [],
        [1],
        [1.0],
        [True],
        ["1"],
        [None],
        [0],
        [0.0],
        [-0.0],
        [False],
        [""],
        [[]],
        [{}],
        [[1]],
        [[1.0]],
        [[True]],
        [{"a": 1}],
        [{"a": True}],
        [{"1": "a"}],
        [{"a": 1, "b": 2}],
        [{"b": 2, "a": 1}],
        [1, 2],
        [[1, 2]],
        [message],
        [vars(message)],
        [[f"{HumanMessage.__module__}.HumanMessage", vars(message), message.__pydantic_extra__]],
        [AIMessage("x", id="1")],
        [HumanMessage("x", id="2")],
        [message, message],
    ]
    prints = [fingerprint(value) for value in values]
    assert None not in prints
    assert len(set(prints)) == len(prints)


CHANGES: list[Callable[[AIMessage], object]] = [
    lambda message: setattr(message, "content", "changed"),
    lambda message: message.additional_kwargs.update(a=1),
    lambda message: message.additional_kwargs["deep"]["list"].append(3),
    lambda message: message.additional_kwargs["deep"]["list"].__setitem__(0, True),
    lambda message: message.tool_calls.append(
        {"name": "t", "args": {}, "id": "c2", "type": "tool_call"}
    ),
    lambda message: message.tool_calls[0]["args"].update(q=2),
    lambda message: message.response_metadata.clear(),
    lambda message: setattr(message, "id", "2"),
    lambda message: setattr(message, "name", "n"),
    lambda message: setattr(message, "extra", "field"),
    lambda message: setattr(message, "usage_metadata", {"input_tokens": 1}),
]


def ai_message() -> AIMessage:
    return AIMessage(
        "content",
        id="1",
        additional_kwargs={"deep": {"list": [1, 2]}},
        tool_calls=[{"name": "t", "args": {"q": 1}, "id": "c1"}],
        response_metadata={"model": "m"},
    )


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_message_changes_its_fingerprint(change: Callable[[Any], object]) -> None:
    message = ai_message()
    before = fingerprint([message])
    assert before == fingerprint([ai_message()])
    change(message)
    assert fingerprint([message]) != before


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("position", [0, 31, 32, 69])
def test_a_message_changed_in_place_is_stored_changed(
    change: Callable[[Any], object], position: int
) -> None:
    messages: list[Any] = [
        HumanMessage(f"{number} " + "m" * 60, id=str(number)) for number in range(70)
    ]
    messages[position] = ai_message()
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": messages}))
    change(messages[position])
    codec.put(config(number=1), make_checkpoint(2, {"messages": messages}))
    for reader in (codec, Codec(codec.documents)):
        loaded = reader.get_tuple(config()).checkpoint["channel_values"]["messages"]
        assert loaded == messages
        assert vars(loaded[position]) == vars(messages[position])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text("ab", max_size=1) | st.integers(0, 1), inner, max_size=2)
    ),
    max_leaves=4,
)
MESSAGES = st.builds(
    HumanMessage,
    content=st.text("ab", max_size=2),
    id=st.sampled_from(["1", None]),
    additional_kwargs=st.dictionaries(st.text("ab", max_size=1), VALUES, max_size=1),
)


@given(st.lists(VALUES | MESSAGES, max_size=2), st.lists(VALUES | MESSAGES, max_size=2))
@settings(max_examples=300, deadline=None)
def test_equal_fingerprints_mean_equal_bytes(left: list[Any], right: list[Any]) -> None:
    serde = JsonPlusSerializer()
    same_bytes = [serde.dumps_typed(item) for item in left] == [
        serde.dumps_typed(item) for item in right
    ]
    content = fingerprint(left)
    if content is not None and content == fingerprint(right):
        assert same_bytes


def counting(codec: Codec) -> list[Any]:
    """What the codec's serializer is given from now on."""
    given_values: list[Any] = []
    serde: Any = codec.memory.serde
    serde = getattr(serde, "serde", serde)  # where it encrypts
    serde = getattr(serde, "_langgraph", serde)  # what a faithful one asks first
    dumps = serde.dumps_typed
    serde.dumps_typed = lambda value: (given_values.append(value), dumps(value))[1]
    return given_values


@pytest.mark.parametrize("restarted", [False, True], ids=["went on", "loaded"])
def test_only_what_is_new_is_serialized(restarted: bool) -> None:
    messages = [HumanMessage(f"{number} " + "m" * 60, id=str(number)) for number in range(100)]
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": messages[:99]}))
    if restarted:
        codec = Codec(codec.documents)
        loaded = codec.get_tuple(config()).checkpoint["channel_values"]["messages"]
        messages = [*loaded, messages[99]]
    serialized = counting(codec)
    codec.put(config(number=1), make_checkpoint(2, {"messages": messages}))
    assert [value for value in serialized if isinstance(value, HumanMessage)] == messages[99:]
    again = Codec(codec.documents).get_tuple(config())
    assert again.checkpoint["channel_values"]["messages"] == messages


def test_a_list_that_repeats_itself_stores_one_chunk() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": ["same" * 50] * 64}))
    stored = [key for collection, key in all_documents(codec.documents) if collection == ITEMS]
    assert len(stored) == 2
    loaded = Codec(codec.documents).get_tuple(config())
    assert loaded.checkpoint["channel_values"]["messages"] == ["same" * 50] * 64


def test_a_list_without_fingerprints_is_loaded_and_continued() -> None:
    moments = [datetime(2026, 1, 1, second=number, tzinfo=timezone.utc) for number in range(40)]
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"moments": moments}))
    codec = Codec(codec.documents)
    codec.get_tuple(config())
    codec.put(config(number=1), make_checkpoint(2, {"moments": [*moments, moments[0]]}))
    loaded = Codec(codec.documents).get_tuple(config())
    assert loaded.checkpoint["channel_values"]["moments"] == [*moments, moments[0]]
    assert len(codec.memory.recogniser) == 0


def test_a_recognised_chunk_the_thread_does_not_have_is_stored() -> None:
    messages = [HumanMessage(f"{number} " + "m" * 60, id=str(number)) for number in range(40)]
    codec = Codec(MemoryDocuments().for_namespace("n"))
    for thread_id in ("t-1", "t-2"):
        codec.put(config(thread_id), make_checkpoint(1, {"messages": messages}))
        codec.delete_thread("t-1")
    loaded = Codec(codec.documents).get_tuple(config("t-2"))
    assert loaded.checkpoint["channel_values"]["messages"] == messages


def test_ciphertext_that_differs_each_time_is_not_stored_again() -> None:
    store = MemoryDocuments()
    codec = Codec(store.for_namespace("n"))
    cipher = EncryptedSerializer.from_pycryptodome_aes(key=b"1234567890123456")
    codec.memory = Memory(AGENT_ID, cipher, codec.recall)
    messages = [ToolMessage(f"{number} " + "m" * 900, tool_call_id="c") for number in range(320)]
    codec.put(config(), make_checkpoint(1, {"messages": messages[:319]}))
    before = len(str(store.snapshot()))
    codec.put(config(number=1), make_checkpoint(2, {"messages": messages}))
    assert len(str(store.snapshot())) - before < before / 5


def test_serializers_that_write_alike_are_one() -> None:
    usual = writes_as(faithful(JsonPlusSerializer()))
    other = JsonPlusSerializer(allowed_json_modules=[("a", "b")])
    assert usual is not None
    assert writes_as(faithful(other)) == usual
    first = faithful(EncryptedSerializer.from_pycryptodome_aes(key=b"1234567890123456"))
    second = faithful(EncryptedSerializer.from_pycryptodome_aes(key=b"6543210987654321"))
    assert writes_as(first) != writes_as(second) != usual

    class Own(JsonPlusSerializer):
        pass

    assert writes_as(Own()) is None
    assert writes_as(EncryptedSerializer(first.cipher, Own())) is None


def test_a_serializer_of_ones_own_is_asked_every_time() -> None:
    class Own(JsonPlusSerializer):
        pass

    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.memory = Memory(AGENT_ID, Own(), codec.recall)
    messages = [HumanMessage(f"{number} " + "m" * 60, id=str(number)) for number in range(40)]
    codec.put(config(), make_checkpoint(1, {"messages": messages}))
    codec.get_tuple(config())
    serialized = counting(codec)
    codec.put(config(number=1), make_checkpoint(2, {"messages": messages}))
    assert [value for value in serialized if isinstance(value, HumanMessage)] == messages
    assert len(codec.memory.recogniser) == 0


def chunk(number: int) -> ListedChunk:
    return ListedChunk(f"c-{number}", [[f"e-{number}", 1]], 1)


def test_the_least_recently_used_chunk_is_forgotten() -> None:
    recogniser = Recogniser(capacity=2)
    for number in (1, 2):
        recogniser.learn("s", bytes([number]), chunk(number))
    assert recogniser.find("s", b"\1") == chunk(1)
    assert recogniser.find("other", b"\1") is None
    recogniser.learn("s", b"\3", chunk(3))
    assert recogniser.find("s", b"\2") is None
    assert [recogniser.knows(f"c-{number}") for number in (1, 2, 3)] == [True, False, True]
    recogniser.learn("s", b"\3", chunk(1))
    assert not recogniser.knows("c-3")
    recogniser.learn("s", b"\4", chunk(4))
    assert recogniser.knows("c-1")
    assert len(recogniser) == 2
