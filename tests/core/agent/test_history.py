from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from naas_abi_core.services.agent.history import answered, unanswered
from tests.core.agent.models import asks, refuse_dangling_calls

ASKS_TWO = asks(("a", {}), ("b", {}))
RESULT_0 = ToolMessage("first", tool_call_id="call-0")
RESULT_1 = ToolMessage("second", tool_call_id="call-1")
SAID = HumanMessage("hello")

UNANSWERED: list[tuple[list[BaseMessage], list[str]]] = [
    ([], []),
    ([SAID], []),
    ([SAID, AIMessage("hi")], []),
    ([SAID, ASKS_TWO], ["call-0", "call-1"]),
    ([SAID, ASKS_TWO, RESULT_1], ["call-0"]),
    ([SAID, ASKS_TWO, RESULT_0, RESULT_1], []),
    ([ASKS_TWO, SAID], []),
    ([RESULT_0], []),
]


@pytest.mark.parametrize(("messages", "calls"), UNANSWERED)
def test_calls_of_the_last_reply_without_a_result(
    messages: list[BaseMessage], calls: list[str]
) -> None:
    assert [call["id"] for call in unanswered(messages)] == calls


HISTORIES: list[tuple[str, list[BaseMessage], list[str]]] = [
    ("whole", [SAID, ASKS_TWO, RESULT_0, RESULT_1], ["human", "ai", "first", "second"]),
    ("other order", [SAID, ASKS_TWO, RESULT_1, RESULT_0], ["human", "ai", "first", "second"]),
    ("one missing", [SAID, ASKS_TWO, RESULT_1, SAID], ["human", "ai", "error", "second", "human"]),
    ("late result", [ASKS_TWO, SAID, RESULT_0, RESULT_1], ["ai", "first", "second", "human"]),
    ("call trimmed away", [RESULT_0, SAID], ["human"]),
    ("all missing", [ASKS_TWO], ["ai", "error", "error"]),
    (
        "ids used again",
        [asks(("a", {})), RESULT_0, SAID, asks(("a", {})), SAID],
        ["ai", "first", "human", "ai", "error", "human"],
    ),
    (
        "a later result of the same id",
        [asks(("a", {})), SAID, asks(("a", {})), RESULT_0],
        ["ai", "error", "human", "ai", "first"],
    ),
]


@pytest.mark.parametrize(
    ("messages", "expected"), [case[1:] for case in HISTORIES], ids=[case[0] for case in HISTORIES]
)
def test_every_call_is_followed_by_its_result(
    messages: list[BaseMessage], expected: list[str]
) -> None:
    before = list(messages)
    shown = answered(messages)
    told = [
        "error"
        if isinstance(each, ToolMessage) and each.status == "error"
        else str(each.content)
        if isinstance(each, ToolMessage)
        else each.type
        for each in shown
    ]
    assert told == expected
    assert messages == before
    refuse_dangling_calls(shown)


def test_the_stated_error_names_the_tool_and_says_what_is_not_known() -> None:
    (_, error, _) = answered([ASKS_TWO])
    assert isinstance(error, ToolMessage)
    assert (error.tool_call_id, error.name) == ("call-0", "a")
    assert "'a' was interrupted" in str(error.content)
    assert "unknown" in str(error.content)
