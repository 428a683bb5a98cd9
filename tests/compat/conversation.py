"""One conversation that both sides can run: every kind of stored value, and a place to stop.

Runs under the oldest and the newest LangGraph, so it uses only what both have. All ids are given,
so two runs differ in nothing but checkpoint ids and times.
"""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

CONFIG = {"configurable": {"thread_id": "exchange-1"}}
TURNS = 3
#: Above the size at which a value leaves the checkpoint document.
LONG_TEXT = "0123456789abcdef" * 100
#: Above the size of one part, so that it is cut in two.
HUGE_TEXT = "".join(f"line {number:06d}\n" for number in range(25_000))


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[Any], operator.add]
    note: str
    attachment: str
    raw: bytes
    facts: dict[str, Any]
    decision: str


class Review(TypedDict, total=False):
    """What the subgraph shares with the graph around it."""

    messages: Annotated[list[AnyMessage], add_messages]
    decision: str


def _reply(state: State) -> State:
    turn = sum(message.type == "human" for message in state["messages"])
    call = {"name": "look_up", "args": {"turn": turn}, "id": f"call-{turn}"}
    return {
        "messages": [
            AIMessage("", id=f"asks-{turn}", tool_calls=[call]),
            ToolMessage(f"result {turn}", id=f"result-{turn}", tool_call_id=f"call-{turn}"),
            AIMessage(f"answer {turn}: {'é' * 40}", id=f"answers-{turn}"),
        ],
        "log": [{"turn": turn, "entry": entry, "half": entry / 2} for entry in range(20)],
        "note": f"{LONG_TEXT} {turn // 2}",
        "raw": bytes(range(256)) * turn,
        "facts": {"turn": turn, "none": None, "nested": [[1, 2.5, "x"], {"deep": True}]},
    }


def _attach(state: State) -> State:
    return {} if "attachment" in state else {"attachment": HUGE_TEXT}


def _approve(state: Review) -> Review:
    return {"decision": interrupt({"question": "go on?", "so far": len(state["messages"])})}


def build(checkpointer: Any) -> Any:
    """Compile the graph: two plain nodes side by side, then a subgraph that stops to ask."""
    review = StateGraph(Review)
    review.add_node("approve", _approve)
    review.add_edge(START, "approve")

    graph = StateGraph(State)
    graph.add_node("reply", _reply)
    graph.add_node("attach", _attach)
    graph.add_node("review", review.compile())
    graph.add_edge(START, "reply")
    graph.add_edge(START, "attach")
    graph.add_edge(["reply", "attach"], "review")
    return graph.compile(checkpointer=checkpointer)


def beginning() -> list[Any]:
    """What is said in all turns; the last one is left waiting for an answer."""
    said = [turn for number in range(1, TURNS + 1) for turn in whole_turn(str(number))]
    return said[:-1]


def continuation(name: str = "more") -> list[Any]:
    """The answer to what the thread waits for, and one more whole turn."""
    return [Command(resume="approved elsewhere"), *whole_turn(name)]


def whole_turn(name: str) -> list[Any]:
    """A question, and the approval of what comes of it."""
    asked = {"messages": [HumanMessage(f"question {name}", id=f"q-{name}")]}
    return [asked, Command(resume=f"approved {name}")]
