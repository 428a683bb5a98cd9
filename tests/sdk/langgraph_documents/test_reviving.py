"""Messages loaded again are copies: equal to what is stored, and nobody else's."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.reviving import Revival, fresh
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import AGENT_ID, Codec, config, make_checkpoint


def conversation(turns: int = 15) -> list[Any]:
    messages: list[Any] = []
    for turn in range(turns):
        call = {
            "name": "t",
            "args": {"q": [turn, {"deep": True}]},
            "id": f"c{turn}",
            "type": "tool_call",
        }
        messages += [
            HumanMessage([{"type": "text", "text": f"question {turn}"}], id=f"h{turn}"),
            AIMessage("", id=f"a{turn}", tool_calls=[call], response_metadata={"model": "m"}),
            ToolMessage(
                "result " * 20, id=f"t{turn}", tool_call_id=f"c{turn}", artifact={"a": [1]}
            ),
            AIMessage("answer " * 20, id=f"b{turn}", additional_kwargs={"k": {"n": [turn]}}),
        ]
    return messages


def parts(value: Any) -> list[Any]:
    """Every list and dict in a message."""
    found = []
    pending = [vars(value)]
    while pending:
        item = pending.pop()
        if isinstance(item, (dict, list)):
            found.append(item)
            pending.extend(item.values() if isinstance(item, dict) else item)
    return found


@pytest.mark.parametrize("message", conversation(1), ids=lambda message: message.type)
def test_a_copy_is_equal_and_shares_nothing_that_can_change(message: Any) -> None:
    twin = fresh(message)
    assert type(twin) is type(message)
    assert vars(twin) == vars(message)
    assert twin.model_fields_set == message.model_fields_set
    assert not {id(part) for part in parts(twin)} & {id(part) for part in parts(message)}


def test_loading_again_and_again_gives_the_same_and_nobody_elses() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": conversation()}))
    first = codec.get_tuple(config()).checkpoint["channel_values"]["messages"]
    seen: set[int] = set()
    keep_alive: list[Any] = []
    for _ in range(5):
        loaded = codec.get_tuple(config()).checkpoint["channel_values"]["messages"]
        assert loaded == first
        assert [vars(message) for message in loaded] == [vars(message) for message in first]
        ids = {id(part) for message in loaded for part in parts(message)}
        assert not ids & seen
        seen |= ids
        keep_alive.append(loaded)
        for message in loaded:  # what a user does to his own does not come back
            message.additional_kwargs["mine"] = True
            message.response_metadata.clear()
            if isinstance(message.content, list):
                message.content[0]["text"] = "mine"


def test_a_field_that_is_not_declared_is_copied_too() -> None:
    message = HumanMessage("x", id="1", note={"a": [1]})  # type: ignore[call-arg]  # extra is allowed
    twin = fresh(message)
    twin.note["a"].append(2)
    assert message.note == {"a": [1]}  # type: ignore[attr-defined]  # as above


def deserialized(revival: Revival, serde: Any, values: dict[str, Any], times: int) -> list[str]:
    """References that were deserialized when ``values`` are loaded ``times`` times."""
    asked: list[str] = []

    def deserialize(ref: str) -> Any:
        asked.append(ref)
        return values[ref]

    for _ in range(times):
        assert revival.load(serde, list(values), deserialize) == list(values.values())
    return asked


def test_a_message_is_kept_when_it_is_loaded_for_the_second_time() -> None:
    values: dict[str, Any] = {"e-1": HumanMessage("a"), "e-2": HumanMessage("b")}
    assert deserialized(Revival(), JsonPlusSerializer(), values, times=4) == ["e-1", "e-2"] * 2


@pytest.mark.parametrize(
    "value",
    ["text", {"a": 1}, None, HumanMessage("x", additional_kwargs={"s": (1, 2)}), object()],
    ids=lambda value: type(value).__name__,
)
def test_anything_else_is_deserialized_every_time(value: Any) -> None:
    assert deserialized(Revival(), JsonPlusSerializer(), {"e-1": value}, times=4) == ["e-1"] * 4


def test_what_one_serializer_made_is_not_given_to_another() -> None:
    revival, values = Revival(), {"e-1": HumanMessage("a")}
    first, second = JsonPlusSerializer(), JsonPlusSerializer()
    deserialized(revival, first, values, times=3)
    assert deserialized(revival, second, values, times=1) == ["e-1"]
    del first
    gc.collect()
    assert len(revival._kept) == 1


def test_it_keeps_no_more_than_its_capacity() -> None:
    revival, serde = Revival(capacity=3), JsonPlusSerializer()
    values: dict[str, Any] = {f"e-{number}": HumanMessage(str(number)) for number in range(10)}
    deserialized(revival, serde, values, times=4)
    kept = revival._kept[serde]
    assert len(kept.messages) <= 3
    assert len(kept.met) <= 10
    for number in range(50):
        deserialized(revival, serde, {f"x-{number}": HumanMessage("x")}, times=1)
    assert len(kept.met) <= 4


def test_a_saver_of_small_capacity_gives_the_same() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.memory = Memory(AGENT_ID, codec.memory.serde, codec.recall, revival=Revival(capacity=2))
    messages = conversation()
    codec.put(config(), make_checkpoint(1, {"messages": messages}))
    loads = [codec.get_tuple(config()).checkpoint["channel_values"]["messages"] for _ in range(5)]
    assert all(loaded == loads[0] for loaded in loads)


def test_what_is_kept_for_a_serializer_is_found_again_by_it() -> None:
    """A memory makes LangGraph's serializer faithful once, not for every call."""
    given = JsonPlusSerializer()
    memory = Memory(AGENT_ID, given)
    assert memory.with_serde(given) is memory
    other = memory.with_serde(JsonPlusSerializer())
    assert other.serde is not memory.serde
    assert other.revival is memory.revival
