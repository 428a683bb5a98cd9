"""What a crash, a question or another program leaves behind must never wedge a thread."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, interrupt

from naas_abi_core.errors import QuestionOpen
from naas_abi_core.services.agent import Agent, AgentConfiguration
from tests.core.agent.models import ScriptedModel, asks

Memory = BaseCheckpointSaver[Any]


class Killed(BaseException):
    """Passes every handler, as the end of a process does."""


class Harbour:
    """A tool that dies while ``deadly``, and one that does not; both count their calls."""

    def __init__(self) -> None:
        self.deadly = True
        self.docked = 0
        self.asked = 0

    def dock(self) -> str:
        """Dock."""
        self.docked += 1
        if self.deadly:
            raise Killed
        return "docked"

    def signal(self) -> str:
        """Signal."""
        return "signalled"

    def ask(self, what: str) -> str:
        """Ask a person."""
        self.asked += 1
        return f"they said {interrupt(what)}"

    @property
    def tools(self) -> list[Any]:
        return [self.dock, self.signal, self.ask]


def killed_in_a_tool(memory: Memory, *calls: tuple[str, dict[str, Any]]) -> Harbour:
    """Leave thread ``1`` as a process leaves it that dies inside ``dock``."""
    harbour = Harbour()
    agent = Agent("a", "d", ScriptedModel(script=[asks(*calls)]), harbour.tools, memory)
    with pytest.raises(Killed):
        agent.invoke("go")
    return harbour


CALLS = [
    [("dock", {})],
    [("signal", {}), ("dock", {})],
    [("dock", {}), ("signal", {})],
]


def test_the_request_for_a_tool_is_stored_before_the_tool_runs(memory: Memory) -> None:
    seen: list[str] = []

    def look() -> str:
        """Look at what is stored while this runs."""
        stored = memory.get_tuple({"configurable": {"thread_id": "1"}})
        assert stored is not None
        last = stored.checkpoint["channel_values"]["messages"][-1]
        seen.extend(call["name"] for call in last.tool_calls)
        return "seen"

    model = ScriptedModel(script=[asks(("look", {})), AIMessage("done")])
    Agent("a", "d", model, [look], memory).invoke("go")
    assert seen == ["look"]


@pytest.mark.parametrize("calls", CALLS)
def test_interrupted_calls_are_run_again_at_the_next_turn(
    memory: Memory, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    harbour = killed_in_a_tool(memory, *calls)
    harbour.deadly = False
    model = ScriptedModel(script=[AIMessage("all done")])
    agent = Agent("a", "d", model, harbour.tools, memory)
    assert agent.invoke("and now?") == "all done"
    assert harbour.docked == 2
    assert [message.type for message in model.shown[0]] == [
        "human",
        "ai",
        *["tool"] * len(calls),
        "human",
    ]
    assert "docked" in [message.content for message in model.shown[0]]
    assert not agent.snapshot().next


def test_interrupted_calls_are_answered_with_an_error_where_they_must_not_run_twice(
    memory: Memory,
) -> None:
    harbour = killed_in_a_tool(memory, ("dock", {}))
    model = ScriptedModel(script=[AIMessage("understood")])
    configuration = AgentConfiguration(resume_tool_calls=False)
    agent = Agent("a", "d", model, harbour.tools, memory, configuration=configuration)
    assert agent.invoke("and now?") == "understood"
    assert harbour.docked == 1
    _, _, told, said = model.shown[0]
    assert isinstance(told, ToolMessage)
    assert (told.status, told.tool_call_id) == ("error", "call-0")
    assert said.content == "and now?"
    stored = [message.type for message in agent.snapshot().values["messages"]]
    assert stored == ["human", "ai", "tool", "human", "ai"]


def test_a_tool_that_kills_again_does_not_wedge_the_thread(memory: Memory) -> None:
    """C123."""
    harbour = killed_in_a_tool(memory, ("dock", {}))
    agent = Agent("a", "d", ScriptedModel(script=[]), harbour.tools, memory)
    with pytest.raises(Killed):
        agent.invoke("again")
    model = ScriptedModel(script=[AIMessage("understood")])
    configuration = AgentConfiguration(resume_tool_calls=False)
    careful = Agent("a", "d", model, harbour.tools, memory, configuration=configuration)
    assert careful.invoke("leave it") == "understood"


def test_a_tool_that_is_gone_does_not_wedge_the_thread(memory: Memory) -> None:
    killed_in_a_tool(memory, ("dock", {}))
    model = ScriptedModel(script=[AIMessage("understood")])
    assert Agent("a", "d", model, tools=[], memory=memory).invoke("and now?") == "understood"


def test_a_call_another_program_left_open_is_answered(memory: Memory) -> None:
    harbour = Harbour()
    model = ScriptedModel(script=[AIMessage("understood")])
    agent = Agent("a", "d", model, harbour.tools, memory)
    config = {"configurable": {"thread_id": "1"}}
    messages = [HumanMessage("go"), asks(("dock", {})), HumanMessage("hello?")]
    agent.graph.update_state(config, {"messages": messages}, as_node="__start__")
    assert agent.invoke("still there?") == "understood"
    assert harbour.docked == 0


def test_resume_finishes_the_turn_that_broke_off(memory: Memory) -> None:
    harbour = killed_in_a_tool(memory, ("dock", {}))
    harbour.deadly = False
    model = ScriptedModel(script=[AIMessage("docked it")])
    agent = Agent("a", "d", model, harbour.tools, memory)
    assert agent.resume() == "docked it"
    assert agent.resume() is None
    assert [message.type for message in agent.snapshot().values["messages"]] == [
        "human",
        "ai",
        "tool",
        "ai",
    ]


def test_resume_states_the_error_where_calls_must_not_run_twice(memory: Memory) -> None:
    harbour = killed_in_a_tool(memory, ("dock", {}))
    model = ScriptedModel(script=[AIMessage("understood")])
    configuration = AgentConfiguration(resume_tool_calls=False)
    agent = Agent("a", "d", model, harbour.tools, memory, configuration=configuration)
    assert agent.resume() == "understood"
    assert harbour.docked == 1


def test_nothing_to_resume_on_a_new_thread(memory: Memory) -> None:
    agent = Agent("a", "d", ScriptedModel(script=[]), memory=memory)
    assert agent.resume() is None


def test_the_asynchronous_turn_settles_calls_too(memory: Memory) -> None:
    harbour = killed_in_a_tool(memory, ("dock", {}))
    harbour.deadly = False
    model = ScriptedModel(script=[AIMessage("all done")])
    agent = Agent("a", "d", model, harbour.tools, memory)
    assert asyncio.run(agent.ainvoke("and now?")) == "all done"
    assert [message.type for message in model.shown[0]] == ["human", "ai", "tool", "human"]


def asking(
    memory: Memory, *more: Any, harbour: Harbour | None = None
) -> tuple[Agent, ScriptedModel]:
    script = [asks(("ask", {"what": "Sail?"})), *more]
    model = ScriptedModel(script=script)
    return Agent("a", "d", model, (harbour or Harbour()).tools, memory), model


def test_a_question_is_an_error_of_invoke_and_an_event_of_a_stream(memory: Memory) -> None:
    agent, _ = asking(memory)
    with pytest.raises(QuestionOpen, match=r"thread '1': a tool waits for an answer: Sail\?"):
        agent.invoke("go")
    other, _ = asking(memory)
    other.state.set_thread_id("2")
    events = [(event["event"], event["data"]) for event in other.stream_invoke("go")]
    assert events[-2:] == [("question", "Sail?"), ("done", "[DONE]")]
    assert "message" not in dict(events)


def test_text_never_answers_a_question(memory: Memory) -> None:
    harbour = Harbour()
    agent, model = asking(memory, AIMessage("sailing"), harbour=harbour)
    with pytest.raises(QuestionOpen):
        agent.invoke("go")
    for attempt in (lambda: agent.invoke("yes"), agent.resume):
        with pytest.raises(QuestionOpen, match=r"Command\(resume"):
            attempt()
    assert agent.snapshot().interrupts
    assert harbour.asked == 1
    assert agent.invoke(Command(resume="aye")) == "sailing"
    assert model.shown[-1][-1].content == "they said aye"


def test_a_second_question_stays_open(memory: Memory) -> None:
    agent, _ = asking(
        memory, asks(("ask", {"what": "Now?"}), call_id="again"), AIMessage("sailing")
    )
    with pytest.raises(QuestionOpen, match="Sail"):
        agent.invoke("go")
    with pytest.raises(QuestionOpen, match="Now"):
        agent.invoke(Command(resume="aye"))
    assert [question.value for question in agent.snapshot().interrupts] == ["Now?"]
