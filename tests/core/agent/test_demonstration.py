from __future__ import annotations

from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from naas_abi_core.services.agent.demonstration import DEMONSTRATION_LABEL, DemonstrationChatModel


def roll_dice(sides: int, times: int = 1) -> str:
    """Roll a die."""
    return f"{sides} {times}"


def look_up(topic: str) -> str:
    """Look something up."""
    return topic


def get_weather(city: str, unit: Literal["celsius", "kelvin"]) -> str:
    """Tell the weather."""
    return city + unit


def open_door(wide: bool, tags: list[str], note: dict[str, str]) -> str:
    """Open a door."""
    return f"{wide}{tags}{note}"


TOOLS = [roll_dice, look_up, get_weather, open_door]


def reply(*texts: str, tools: list[Any] | None = None) -> AIMessage:
    """What it says to the last of ``texts``, the others having been said before."""
    messages: list[BaseMessage] = [SystemMessage("Be kind")]
    for text in texts[:-1]:
        messages += [HumanMessage(text), AIMessage("…")]
    model = DemonstrationChatModel()
    bound = model.bind_tools(tools) if tools else model
    return bound.invoke([*messages, HumanMessage(texts[-1])])


ANSWERS = [
    (["what is my name?"], "You have not told me your name."),
    (["My name is Ada"], "Hello Ada."),
    (["My name is Ada", "Nice day", "What's my name"], "Your name is Ada."),
    (["My name is Ada", "My name is Bob", "who am I?"], "Your name is Bob."),
    (["a", "b", "how many messages so far?"], "You sent me 2 messages before this one"),
    (
        ["Cheese is fine", "Is cheese old?", "What did I tell you about cheese?"],
        "“Cheese is fine”.",
    ),
    (["what did I tell you about rain?"], "You told me nothing about rain."),
    (["Rain falls", "more", "What was my first message?"], "“Rain falls”"),
    (["What was my first message?"], "This is your first message."),
    (["Rain falls", "Snow too", "What do you remember?"], "“Rain falls”; “Snow too”"),
    (["What do you know about me?"], "You have told me nothing yet."),
    (["Rain falls"], "Noted: “Rain falls”. I am not a language model"),
    ([""], "Noted: “”"),
]


@pytest.mark.parametrize(("texts", "expected"), ANSWERS)
def test_answers_come_from_the_conversation(texts: list[str], expected: str) -> None:
    said = reply(*texts, tools=TOOLS)
    assert not said.tool_calls
    assert expected in str(said.content)


CALLS = [
    ("Roll a die with 20 sides", "roll_dice", {"sides": 20}),
    ("please roll 6 3", "roll_dice", {"sides": 6, "times": 3}),
    ("use roll_dice", "roll_dice", {"sides": 1}),
    ('Look up "tall ships" now', "look_up", {"topic": "tall ships"}),
    ("could you look up the tides?", "look_up", {"topic": "tides"}),
    ("What is the weather in Oslo?", "get_weather", {"city": "Oslo", "unit": "celsius"}),
    ("weather for Rome in Kelvin", "get_weather", {"city": "Rome in Kelvin", "unit": "kelvin"}),
    ("open door", "open_door", {"wide": True, "tags": [], "note": {}}),
]


@pytest.mark.parametrize(("text", "tool", "arguments"), CALLS)
def test_a_tool_that_is_named_is_called(text: str, tool: str, arguments: dict[str, Any]) -> None:
    (call,) = reply(text, tools=TOOLS).tool_calls
    assert (call["name"], call["args"]) == (tool, arguments)


@pytest.mark.parametrize("text", ["I like dice", "Tell me more", "I look forward to it"])
def test_no_tool_is_called_where_none_is_named(text: str) -> None:
    assert not reply(text, tools=TOOLS).tool_calls


def test_results_are_repeated_to_the_person() -> None:
    messages: list[BaseMessage] = [
        HumanMessage("roll 6"),
        AIMessage("", tool_calls=[{"name": "roll_dice", "args": {"sides": 6}, "id": "1"}]),
        ToolMessage("4 of 6", name="roll_dice", tool_call_id="1"),
    ]
    said = DemonstrationChatModel().bind_tools(TOOLS).invoke(messages)
    assert said.content == "[demonstration] roll_dice answered: 4 of 6"


@pytest.mark.parametrize("texts", [["hello"], ["roll 6"]])
def test_no_reply_passes_for_a_language_models(texts: list[str]) -> None:
    said = reply(*texts, tools=TOOLS)
    assert said.tool_calls or str(said.content).startswith(DEMONSTRATION_LABEL)
    assert said.response_metadata["demonstration"] is True
    assert said.response_metadata["model_name"] == "demonstration"


@pytest.mark.parametrize("text", ["hello", "roll 6"])
def test_what_is_streamed_is_what_is_said(text: str) -> None:
    model = DemonstrationChatModel().bind_tools(TOOLS)
    chunks = list(model.stream(text))
    whole = sum(chunks[1:], chunks[0])
    said = model.invoke(text)
    assert (whole.content, whole.tool_calls) == (said.content, said.tool_calls)
    assert whole.response_metadata["demonstration"] is True


def test_the_same_conversation_gets_the_same_reply() -> None:
    assert reply("a", "b").content == reply("a", "b").content


def test_long_text_is_quoted_in_part() -> None:
    assert len(str(reply("x" * 5000).content)) < 1000
