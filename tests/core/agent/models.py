"""Chat models for tests: one that refuses what providers refuse, one that says what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field


class ScriptedModel(BaseChatModel):
    """Gives the replies of its script in turn and keeps every history it was shown.

    Like a provider it refuses a history in which a tool call has no result right after it, or a
    result has no call right before it.
    """

    script: list[Any]
    shown: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(**kwargs)

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        refuse_dangling_calls(messages)
        self.shown.append(list(messages))
        reply = self.script.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return ChatResult(generations=[ChatGeneration(message=reply)])


def refuse_dangling_calls(messages: Sequence[BaseMessage]) -> None:
    """Raise as a provider would answer 400."""
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                raise ValueError(f"400: result of no call: {message.tool_call_id}")
            open_calls.remove(message.tool_call_id)
            continue
        if open_calls:
            raise ValueError(f"400: calls without result: {open_calls}")
        if isinstance(message, AIMessage):
            open_calls = [str(call["id"]) for call in message.tool_calls]
    if open_calls:
        raise ValueError(f"400: calls without result: {open_calls}")


def asks(*calls: tuple[str, dict[str, Any]], call_id: str = "call") -> AIMessage:
    """A reply that asks for tools."""
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": args, "id": f"{call_id}-{at}", "type": "tool_call"}
            for at, (name, args) in enumerate(calls)
        ],
    )
