"""One turn of a graph, as the events its caller is sent. Knows nothing of brokers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final

from naas_abi_sdk.errors import InvalidArgument, RPCError
from naas_abi_sdk.modules.subjects import QUESTION_OPEN
from naas_abi_sdk.proto.turns.v1 import turns_pb2 as proto

__all__ = ["MAX_SHOWN", "events_of_turn"]

#: Characters of a tool's arguments or answer, or of a question, in an event; the conversation has
#: them whole.
MAX_SHOWN: Final = 8000

_QUESTION_SHOWN: Final = 200

_BROKEN_OFF: Final = "The tool was interrupted; whether it did anything is unknown."


async def events_of_turn(graph: Any, request: proto.TurnRequest) -> AsyncIterator[proto.TurnEvent]:
    """Run the turn that ``request`` asks for, and yield what happens.

    A turn that broke off, with its process or by an error, is not gone on with: its tool calls that
    were never answered are answered with a stated error, before the new text.

    Args:
        graph: A compiled graph with a checkpointer and a channel ``messages``.
        request: Text, or the answer to the question the thread's last turn ended with.

    Raises:
        InvalidArgument: the request says nothing, or names no thread.
        RPCError: ``QUESTION_OPEN``, text while a question waits; ``CONFLICT``, an answer while
            none does.
    """
    if not request.thread_id or not request.WhichOneof("said"):
        message = "a turn needs a thread_id, and a text or an answer"
        raise InvalidArgument(message)
    config = {"configurable": {"thread_id": request.thread_id}}
    said = _input(await graph.aget_state(config), request)
    async for mode, chunk in graph.astream(said, config, stream_mode=["messages", "updates"]):
        for event in _spoken(chunk[0]) if mode == "messages" else _happened(chunk):
            yield event


def _input(stored: Any, request: proto.TurnRequest) -> Any:
    """What enters the graph."""
    from langgraph.types import Command

    questions = [each for task in stored.tasks for each in task.interrupts]
    if request.HasField("answer"):
        if not questions:
            message = f"no question waits for an answer in thread {request.thread_id!r}; say text"
            raise RPCError("CONFLICT", message)
        return Command(resume=request.answer)
    if questions:
        asked = "; ".join(_as_text(each.value)[:_QUESTION_SHOWN] for each in questions)
        message = f"a question waits for an answer in thread {request.thread_id!r}: {asked}"
        raise RPCError(QUESTION_OPEN, message)
    broken_off = _unanswered(stored.values.get("messages", ()))
    return {"messages": [*broken_off, ("user", request.text)]}


def _unanswered(messages: Sequence[Any]) -> list[Any]:
    """A stated error for each tool call that will never be answered: models refuse them else."""
    from langchain_core.messages import ToolMessage

    answered = {getattr(message, "tool_call_id", None) for message in messages}
    calls = next((message.tool_calls for message in reversed(messages) if message.type == "ai"), ())
    return [
        ToolMessage(_BROKEN_OFF, tool_call_id=call["id"], name=call["name"], status="error")
        for call in calls
        if call["id"] not in answered
    ]


def _spoken(message: Any) -> Iterator[proto.TurnEvent]:
    """The text of a model, word by word if it streams, and of nobody else."""
    text = _portable(str(message.text)) if message.type in ("ai", "AIMessageChunk") else ""
    if text:
        yield proto.TurnEvent(piece=proto.Piece(message_id=message.id or "", text=text))


def _happened(updates: dict[str, Any]) -> Iterator[proto.TurnEvent]:
    """Tools called and answered, and questions asked, in one superstep."""
    for node, update in updates.items():
        if node == "__interrupt__":
            for asked in update:
                question = proto.Question(id=getattr(asked, "id", ""), text=_shown(asked.value))
                yield proto.TurnEvent(question=question)
            continue
        for message in _messages(update):
            for call in getattr(message, "tool_calls", None) or ():
                called = proto.ToolCall(
                    id=call["id"] or "", name=call["name"], arguments=_shown(call["args"])
                )
                yield proto.TurnEvent(tool_call=called)
            if getattr(message, "type", "") == "tool":
                result = proto.ToolResult(
                    id=message.tool_call_id,
                    name=message.name or "",
                    text=_shown(str(message.text)),
                    failed=message.status == "error",
                )
                yield proto.TurnEvent(tool_result=result)


def _messages(update: Any) -> Sequence[Any]:
    """The messages a node wrote; it may write one, several, nothing, or more than once."""
    if isinstance(update, list):
        return [message for each in update for message in _messages(each)]
    written = update.get("messages", ()) if isinstance(update, dict) else ()
    return written if isinstance(written, (list, tuple)) else [written]


def _shown(value: Any) -> str:
    return _portable(_as_text(value)[:MAX_SHOWN])


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _portable(text: str) -> str:
    """Text that is UTF-8 on the wire: a lone surrogate is sent as its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
