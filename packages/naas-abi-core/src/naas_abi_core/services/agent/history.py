"""Tool calls without a result: where they are, and the history a model may be shown.

A process that dies inside a tool leaves a model reply that asks for a call and no answer to it.
Most providers refuse such a history, so every later turn of the thread would fail. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

__all__ = ["answered", "interrupted_result", "unanswered"]


def unanswered(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """The calls of the last model reply that have no result, if nothing else was said since."""
    results: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            results.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return [call for call in message.tool_calls if call["id"] not in results]
        else:
            return []
    return []


def answered(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The same history with every call followed by its result, as providers require.

    A call nobody answered is answered with a stated error. A result is moved up to its call; one
    that answers no call of the reply before it (which was trimmed away) is left out. The stored
    history is untouched.
    """
    shown: list[BaseMessage] = []
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            continue
        shown.append(message)
        if isinstance(message, AIMessage) and message.tool_calls:
            results = _results_after(messages, position)
            shown.extend(
                results.get(str(call["id"])) or interrupted_result(call)
                for call in message.tool_calls
            )
    return shown


def _results_after(messages: Sequence[BaseMessage], position: int) -> dict[str, ToolMessage]:
    """By call id, up to the next reply: some models use the same ids again in every reply."""
    results: dict[str, ToolMessage] = {}
    for message in islice(messages, position + 1, None):
        if isinstance(message, AIMessage):
            break
        if isinstance(message, ToolMessage):
            results.setdefault(message.tool_call_id, message)
    return results


def interrupted_result(call: ToolCall) -> ToolMessage:
    """The stated error that stands for a result that never came."""
    return ToolMessage(
        content=(
            f"Error: the call of {call['name']!r} was interrupted before it returned. Whether it "
            "took effect is unknown. Check before calling it again."
        ),
        name=call["name"],
        tool_call_id=str(call["id"]),
        status="error",
    )
