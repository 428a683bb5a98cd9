"""A tool that raises ``SystemExit`` is a tool that failed; the program goes on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, interrupt

from naas_abi_core.services.agent import Agent
from tests.core.agent.models import ScriptedModel, asks

Memory = BaseCheckpointSaver[Any]


def leave() -> str:
    """Leave."""
    sys.exit(3)


@tool("leave")
async def leave_later() -> str:
    """Leave, on the event loop."""
    sys.exit(3)


class Leave(BaseTool):
    name: str = "leave"
    description: str = "Leave."

    def _run(self) -> str:
        sys.exit(3)


def serving(memory: Memory, own_tool: Any, called: str, **args: Any) -> Agent:
    script = [asks((called, args)), AIMessage("done"), AIMessage("again")]
    return Agent("a", "d", ScriptedModel(script=script), [own_tool], memory)


def answer(agent: Agent) -> ToolMessage:
    (message,) = [each for each in agent.snapshot().values["messages"] if each.type == "tool"]
    assert isinstance(message, ToolMessage)
    return message


def blocking(agent: Agent, text: str) -> str:
    return agent.invoke(text)


def asynchronous(agent: Agent, text: str) -> str:
    return asyncio.run(agent.ainvoke(text))


@pytest.mark.parametrize(
    ("own_tool", "run"),
    [
        (leave, blocking),
        (leave, asynchronous),
        (leave_later, asynchronous),  # it has no blocking form
        (Leave(), blocking),
        (Leave(), asynchronous),
    ],
    ids=["def-blocking", "def-async", "async-async", "class-blocking", "class-async"],
)
def test_the_model_is_told_and_the_conversation_goes_on(
    memory: Memory, run: Callable[[Agent, str], str], own_tool: Any
) -> None:
    agent = serving(memory, own_tool, "leave")
    assert run(agent, "go") == "done"
    assert answer(agent).status == "error"
    assert "the tool tried to end the program (SystemExit: 3)" in answer(agent).text
    assert run(agent, "and?") == "again"


def test_ctrl_c_in_a_tool_stays_what_it_is(memory: Memory) -> None:
    def stop() -> str:
        """Stop."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        serving(memory, stop, "stop").invoke("go")


def test_what_langgraph_hands_to_tools_still_arrives(memory: Memory) -> None:
    @tool
    def look(
        where: str, state: Annotated[dict[str, Any], InjectedState], config: RunnableConfig
    ) -> str:
        """Look."""
        return f"{where} {len(state['messages'])} {config['configurable']['thread_id']}"

    agent = serving(memory, look, "look", where="here")
    agent.invoke("go")
    assert (answer(agent).text, answer(agent).status) == ("here 2 1", "success")


def test_a_tool_may_still_ask(memory: Memory) -> None:
    def sail() -> str:
        """Sail."""
        return "sailed: " + interrupt("Really?")

    agent = serving(memory, sail, "sail")
    list(agent.stream("go", stream_mode=["updates"]))
    assert agent.snapshot().interrupts
    list(agent.stream(Command(resume="aye"), stream_mode=["updates"]))
    assert answer(agent).text == "sailed: aye"


def test_a_tool_keeps_its_own_state(memory: Memory) -> None:
    class Counter(BaseTool):
        name: str = "count"
        description: str = "Count."
        count: int = 0

        def _run(self) -> str:
            self.count += 1
            return str(self.count)

    counter = Counter()
    serving(memory, counter, "count").invoke("go")
    assert counter.count == 1
