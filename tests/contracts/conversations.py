"""Whole LangGraph runs: a saver is good if a graph cannot tell it from the in-memory one.

A scenario drives graphs and returns what a user would see. It takes ``fresh``, which gives a
saver over the same storage each time, so that every step may happen in another process.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

Fresh = Callable[[], BaseCheckpointSaver[Any]]
Scenario = Callable[[Fresh], Any]

SCENARIOS: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    SCENARIOS[function.__name__] = function
    return function


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


def thread(thread_id: str = "t-1", **more: Any) -> Any:
    return {"configurable": {"thread_id": thread_id, **more}}


def told(messages: list[AnyMessage]) -> list[str]:
    return [f"{message.type}: {message.content}" for message in messages]


def chat(saver: BaseCheckpointSaver[Any]) -> Any:
    def answer(state: Chat) -> Any:
        count = sum(message.type == "human" for message in state["messages"])
        return {"messages": [AIMessage(f"answer {count}")]}

    graph = StateGraph(Chat)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=saver)


@scenario
def turns_in_different_processes(fresh: Fresh) -> Any:
    for number in range(5):
        chat(fresh()).invoke({"messages": [HumanMessage(f"turn {number}")]}, thread())
    chat(fresh()).invoke({"messages": [HumanMessage("elsewhere")]}, thread("t-2"))
    return [
        told(chat(fresh()).get_state(thread(name)).values["messages"]) for name in ("t-1", "t-2")
    ]


def approvals(saver: BaseCheckpointSaver[Any], ran: list[str]) -> Any:
    def plan(state: Log) -> Any:
        ran.append("plan")
        return {"log": ["planned"]}

    def ask(state: Log) -> Any:
        first = interrupt("first?")
        second = interrupt("second?")
        ran.append("ask")
        return {"log": [f"{first}+{second}"]}

    graph = StateGraph(Log)
    graph.add_node("plan", plan)
    graph.add_node("ask", ask)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "ask")
    return graph.compile(checkpointer=saver)


@scenario
def two_questions_answered_in_other_processes(fresh: Fresh) -> Any:
    ran: list[str] = []
    seen = []
    first = approvals(fresh(), ran).invoke({"log": []}, thread())
    seen.append([item.value for item in first["__interrupt__"]])
    second = approvals(fresh(), ran).invoke(Command(resume="yes"), thread())
    seen.append([item.value for item in second["__interrupt__"]])
    seen.append(approvals(fresh(), ran).invoke(Command(resume="no"), thread())["log"])
    return seen, ran


@scenario
def resumed_with_no_input_after_an_answer(fresh: Fresh) -> Any:
    """C035 [runtime]: whatever the runtime does, it does the same with us."""
    ran: list[str] = []
    approvals(fresh(), ran).invoke({"log": []}, thread())
    approvals(fresh(), ran).invoke(Command(resume="ANS1"), thread())
    result = approvals(fresh(), ran).invoke(None, thread())
    return result["log"], [item.value for item in result.get("__interrupt__", [])]


@scenario
def odd_answers(fresh: Fresh) -> Any:
    """C036 [runtime]."""

    def ask(state: Log) -> Any:
        return {"log": [repr(interrupt("?"))]}

    def build() -> Any:
        graph = StateGraph(Log)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        return graph.compile(checkpointer=fresh())

    seen: list[Any] = []
    answers: list[Any] = [False, 0, "", [], None, "text", {"a": 1}, {}, {1: "v"}, {"f" * 32: "v"}]
    for number, answer in enumerate(answers):
        build().invoke({"log": []}, thread(f"t-{number}"))
        try:
            build().invoke(Command(resume=answer), thread(f"t-{number}"))
        except Exception as error:  # noqa: BLE001 -- the same failure is the same answer
            seen.append(type(error).__name__)
        state = build().get_state(thread(f"t-{number}"))
        seen.append((state.values["log"], state.next))
    return seen


@scenario
def resumed_with_the_config_of_get_state(fresh: Fresh) -> Any:
    """C043 [runtime]."""
    ran: list[str] = []
    approvals(fresh(), ran).invoke({"log": []}, thread())
    paused = approvals(fresh(), ran).get_state(thread()).config
    result = approvals(fresh(), ran).invoke(Command(resume="yes"), paused)
    return ran, [item.value for item in result["__interrupt__"]]


@scenario
def parallel_sends_with_one_paused(fresh: Fresh) -> Any:
    """C020: every branch runs once, whoever resumes."""
    ran: list[str] = []

    def fan_out(state: Log) -> list[Send]:
        return [Send("work", {"log": [str(number)]}) for number in range(4)]

    def work(state: Log) -> Any:
        (number,) = state["log"]
        if number == "2":
            interrupt("two?")
        ran.append(number)
        return {"log": [f"did {number}"]}

    def build() -> Any:
        graph = StateGraph(Log)
        graph.add_node("work", work)
        graph.add_conditional_edges(START, fan_out, ["work"])
        return graph.compile(checkpointer=fresh())

    build().invoke({"log": []}, thread())
    paused = sorted(ran)
    result = build().invoke(Command(resume="go"), thread())
    return paused, sorted(ran), result["log"]


@scenario
def an_edit_forks_and_brings_no_left_over_writes(fresh: Fresh) -> Any:
    """C057: update_state as another node on a paused thread."""
    ran: list[str] = []
    approvals(fresh(), ran).invoke({"log": []}, thread())
    graph = approvals(fresh(), ran)
    graph.update_state(thread(), {"log": ["edited"]}, as_node="ask")
    state = approvals(fresh(), ran).get_state(thread())
    return (
        state.values["log"],
        state.next,
        [write for task in state.tasks for write in task.interrupts],
    )


@scenario
def an_edit_of_a_paused_chat_keeps_its_history(fresh: Fresh) -> Any:
    """C054: the saver given in the config, not at compile time."""
    chat(fresh()).invoke({"messages": [HumanMessage("one", id="1")]}, thread())
    graph = chat(fresh())
    graph.update_state(thread(), {"messages": [HumanMessage("one, edited", id="1")]})
    return told(chat(fresh()).get_state(thread()).values["messages"])


@scenario
def going_back_and_going_on_differently(fresh: Fresh) -> Any:
    for number in range(3):
        chat(fresh()).invoke({"messages": [HumanMessage(f"turn {number}")]}, thread())
    past = [
        state
        for state in chat(fresh()).get_state_history(thread())
        if len(state.values.get("messages", [])) == 2 and not state.next
    ]
    chat(fresh()).invoke({"messages": [HumanMessage("instead")]}, past[0].config)
    now = chat(fresh()).get_state(thread())
    history = list(chat(fresh()).get_state_history(thread()))
    return told(now.values["messages"]), [
        len(state.values.get("messages", [])) for state in history
    ]


def nested(saver: BaseCheckpointSaver[Any], child_saver: Any = None) -> Any:
    def child_work(state: Log) -> Any:
        return {"log": [f"child saw {len(state['log'])}"]}

    child = StateGraph(Log)
    child.add_node("child_work", child_work)
    child.add_edge(START, "child_work")
    parent = StateGraph(Log)
    parent.add_node("child", child.compile(checkpointer=child_saver))
    parent.add_node("after", lambda state: {"log": ["after"]})
    parent.add_edge(START, "child")
    parent.add_edge("child", "after")
    return parent.compile(checkpointer=saver)


@scenario
def a_subgraph_with_memory_of_its_own(fresh: Fresh) -> Any:
    for number in range(3):
        nested(fresh(), child_saver=True).invoke({"log": [f"run {number}"]}, thread())
    history = list(nested(fresh(), child_saver=True).get_state_history(thread()))
    return [(len(state.values.get("log", [])), state.next) for state in history]


@scenario
def a_nested_graph_with_its_own_thread(fresh: Fresh) -> Any:
    """C044: the child's state is under the child's thread, and nowhere else."""

    def build(saver: BaseCheckpointSaver[Any]) -> Any:
        def remember(state: Log) -> Any:
            return {"log": [f"child {len(state['log'])}"]}

        child = StateGraph(Log)
        child.add_node("remember", remember)
        child.add_edge(START, "remember")
        compiled = child.compile(checkpointer=saver)

        def call_child(state: Log) -> Any:
            result = compiled.invoke({"log": ["call"]}, thread("child"))
            return {"log": [f"child has {len(result['log'])}"]}

        parent = StateGraph(Log)
        parent.add_node("call_child", call_child)
        parent.add_edge(START, "call_child")
        return parent.compile(checkpointer=saver), compiled

    for _ in range(2):
        graph, _ = build(fresh())
        graph.invoke({"log": []}, thread())
    graph, child = build(fresh())
    return graph.get_state(thread()).values["log"], child.get_state(thread("child")).values["log"]


@scenario
def a_paused_subgraph_is_resumed_elsewhere(fresh: Fresh) -> Any:
    def build() -> Any:
        def ask(state: Log) -> Any:
            return {"log": [interrupt("inside?")]}

        child = StateGraph(Log)
        child.add_node("ask", ask)
        child.add_edge(START, "ask")
        parent = StateGraph(Log)
        parent.add_node("child", child.compile())
        parent.add_edge(START, "child")
        return parent.compile(checkpointer=fresh())

    build().invoke({"log": ["start"]}, thread())
    inside = build().get_state(thread(), subgraphs=True).tasks[0].state.next
    return inside, build().invoke(Command(resume="yes"), thread())["log"]


@scenario
def a_tool_round_and_parallel_results_in_order(fresh: Fresh) -> Any:
    """C039: eight tasks of one superstep, applied in the order of their paths."""

    def fan_out(state: Log) -> list[Send]:
        return [Send("work", {"log": [str(number)]}) for number in range(8)]

    def build() -> Any:
        graph = StateGraph(Log)
        graph.add_node("work", lambda state: {"log": [f"did {state['log'][0]}"]})
        graph.add_conditional_edges(START, fan_out, ["work"])
        return graph.compile(checkpointer=fresh())

    live = build().invoke({"log": []}, thread())["log"]
    return live, build().get_state(thread()).values["log"]


@scenario
def removing_and_replacing_messages(fresh: Fresh) -> Any:
    from langchain_core.messages import RemoveMessage

    long = "m" * 400
    for number in range(40):
        message = HumanMessage(f"{number} {long}", id=f"h{number}")
        chat(fresh()).update_state(thread(), {"messages": [message]})
    graph = chat(fresh())
    graph.update_state(thread(), {"messages": [RemoveMessage("h0"), HumanMessage("new", id="h20")]})
    tool = ToolMessage("result", tool_call_id="c1", id="tool")
    chat(fresh()).update_state(thread(), {"messages": [tool]})
    return told(chat(fresh()).get_state(thread()).values["messages"])
