"""The scripted chat every saver is measured with: one tool call a turn, about 3.5 KB of new text.

Text is derived from the message's id, so that it is the same in every run and for every saver, no
two messages share any, and compressing it gains little. No model and no tool runs.
"""

from __future__ import annotations

import base64
import hashlib
import warnings
from typing import Annotated, Any, Final, TypedDict

from langchain_core._api.beta_decorator import LangChainBetaWarning
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

__all__ = ["CHANNELS", "MESSAGES_A_TURN", "build_graph", "config", "question", "text"]

#: How the messages are kept: as LangGraph always did, or as deltas (LangGraph 1.2, beta).
CHANNELS: Final = ("list", "delta")

#: Question, tool call, tool result, reply.
MESSAGES_A_TURN: Final = 4

QUESTION_SIZE: Final = 300
ARGUMENTS_SIZE: Final = 120
RESULT_SIZE: Final = 2000
REPLY_SIZE: Final = 1000


class _Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def text(key: str, size: int) -> str:
    """Return ``size`` characters that only ``key`` decides."""
    digest = hashlib.shake_256(key.encode()).digest(size * 3 // 4 + 1)
    return base64.b64encode(digest).decode()[:size]


def question(thread_id: str, turn: int) -> dict[str, Any]:
    """Return what the user sends in a turn."""
    name = f"{thread_id}/{turn}"
    return {"messages": [HumanMessage(text(name, QUESTION_SIZE), id=f"{name}/question")]}


def config(thread_id: str) -> Any:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": thread_id}}


def build_graph(
    saver: BaseCheckpointSaver[Any], channel: str, *, result_size: int = RESULT_SIZE
) -> Any:
    """Compile the chat.

    Args:
        saver: Where its checkpoints go.
        channel: One of :data:`CHANNELS`.
        result_size: Characters a tool answers with.
    """

    def model(state: Any) -> dict[str, Any]:
        last = state["messages"][-1]
        name, _, role = last.id.rpartition("/")
        if role == "result":
            return {"messages": [AIMessage(text(last.id, REPLY_SIZE), id=f"{name}/reply")]}
        arguments = {"query": text(f"{name}/call", ARGUMENTS_SIZE)}
        call = {"name": "search", "args": arguments, "id": f"{name}/call", "type": "tool_call"}
        return {"messages": [AIMessage("", tool_calls=[call], id=f"{name}/asks")]}

    def tools(state: Any) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]["id"]
        name = call.rpartition("/")[0]
        found = text(f"{name}/result", result_size)
        return {"messages": [ToolMessage(found, tool_call_id=call, id=f"{name}/result")]}

    def route(state: Any) -> str:
        return "tools" if state["messages"][-1].tool_calls else END

    graph = StateGraph(_state(channel))
    graph.add_node("model", model)
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", route, ["tools", END])
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def _state(channel: str) -> Any:
    if channel == "list":
        return _Chat
    from langgraph.channels.delta import DeltaChannel

    # Private by name, but the reducer that DeltaChannel's own documentation has users import.
    from langgraph.graph.message import _messages_delta_reducer

    reducer: Any = _messages_delta_reducer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainBetaWarning)
        messages = DeltaChannel(reducer, list)
    typed_dict: Any = TypedDict  # made at run time: LangGraph before 1.2 has no such channel
    return typed_dict("_DeltaChat", {"messages": Annotated[list, messages]})
