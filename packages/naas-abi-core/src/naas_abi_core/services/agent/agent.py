"""The agent: a graph of two nodes over one thread at a time, and the ways to use it.

``call_model`` asks, ``call_tools`` runs what it asked for, until a reply asks for nothing. A turn
with one round of tools is five checkpoints. This file holds the order of things only: what a turn
has to do is decided in ``turns``, what a model is shown in ``history``, what is told in ``events``.
"""

from __future__ import annotations

import copy
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from queue import Queue
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import tools_condition
from langgraph.types import Command, StateSnapshot, StreamMode

from naas_abi_core.errors import TurnTooLong
from naas_abi_core.services.agent.events import (
    AgentEvent,
    Listener,
    TurnOutcome,
    events_of,
    opening,
)
from naas_abi_core.services.agent.model_step import CALL_MODEL, ModelStep
from naas_abi_core.services.agent.state import AgentConfiguration, AgentSharedState, AgentState
from naas_abi_core.services.agent.tools import CALL_TOOLS, Tool, tools_step
from naas_abi_core.services.agent.turns import Prompt, Turn, plan_end, plan_turn

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

__all__ = ["Agent"]

#: A chunk of LangGraph's stream: the subgraph it comes from, its mode, what it says.
_Chunk: TypeAlias = "tuple[tuple[str, ...], str, Any]"


class Agent:
    """A chat model with tools that remembers one conversation at a time.

    The conversation is ``state.thread_id``. Several agents may share a checkpointer; an agent
    object serves one caller at a time, so a server makes a :meth:`duplicate` for each request.

    Args:
        name: Its name; characters outside ``[a-zA-Z0-9_-]`` become ``_``.
        description: What it is for, for people and for other agents.
        chat_model: Any LangChain chat model.
        tools: Tools it may use; the list is copied.
        memory: Where conversations are kept; None for ``create_checkpointer()``, asked once, now.
        state: The conversation served; None for a new ``AgentSharedState``.
        configuration: Settings; None for the defaults.
        event_queue: Receives every event of every turn as well, however the turn is run.

    Raises:
        ValueError: nothing of ``name`` is left.
        CheckpointerError: ``memory`` is None and the store that is configured cannot be opened.
    """

    @classmethod
    def New(  # noqa: N802 -- the published name of an agent's factory
        cls,
        agent_shared_state: AgentSharedState | None = None,
        agent_configuration: AgentConfiguration | None = None,
    ) -> Agent:
        """Build the agent; a class that a module offers defines this."""
        message = f"{cls.__qualname__} does not define New(agent_shared_state, agent_configuration)"
        raise NotImplementedError(message)

    def __init__(
        self,
        name: str,
        description: str,
        chat_model: BaseChatModel,
        tools: Sequence[Tool] | None = None,
        memory: BaseCheckpointSaver[Any] | None = None,
        state: AgentSharedState | None = None,
        configuration: AgentConfiguration | None = None,
        event_queue: Queue[AgentEvent] | None = None,
    ) -> None:
        self.name = _sanitized(name)
        self.description = description
        self.chat_model = chat_model
        self.tools = tuple(tools or ())
        self.checkpointer = _default_memory() if memory is None else memory
        self.configuration = configuration or AgentConfiguration()
        self._serve(state, event_queue)

    def _serve(self, state: AgentSharedState | None, queue: Queue[AgentEvent] | None) -> None:
        self.state = state or AgentSharedState()
        self._listener = Listener(self.name, self.configuration, queue)
        self.graph = self._build()

    def _build(self) -> CompiledStateGraph[AgentState, None, AgentState, AgentState]:
        model = self.chat_model.bind_tools(self.tools) if self.tools else self.chat_model
        step = ModelStep(self.name, model, self.configuration.system_prompt, self.state)
        graph = StateGraph(AgentState)
        graph.add_node(CALL_MODEL, step.node())
        graph.add_edge(START, CALL_MODEL)
        tools = tools_step(self.tools)
        if tools is None:
            graph.add_edge(CALL_MODEL, END)
        else:
            graph.add_node(CALL_TOOLS, tools)
            graph.add_conditional_edges(
                CALL_MODEL, tools_condition, {"tools": CALL_TOOLS, END: END}
            )
            graph.add_edge(CALL_TOOLS, CALL_MODEL)
        return graph.compile(checkpointer=self.checkpointer, name=self.name)

    def duplicate(
        self,
        queue: Queue[AgentEvent] | None = None,
        agent_shared_state: AgentSharedState | None = None,
    ) -> Agent:
        """The same agent for another caller: it shares model, tools, settings and memory.

        Without ``agent_shared_state`` it serves a new state, never this agent's.
        """
        twin = copy.copy(self)
        twin._serve(agent_shared_state, queue)  # noqa: SLF001 -- its own class
        return twin

    def snapshot(self) -> StateSnapshot:
        """LangGraph's view of the conversation as it is stored now."""
        return self.graph.get_state(self._config())

    def invoke(self, prompt: Prompt) -> str:
        """Say something and return the reply's text.

        Args:
            prompt: The text, or ``Command(resume=...)`` to answer a tool's question.

        Raises:
            QuestionOpen: a tool waits for a person's answer, or began to during this turn.
            TurnTooLong: the turn needed more than ``recursion_limit`` steps.
        """
        outcome = TurnOutcome()
        for chunk in self._turn(prompt, ["updates"]):
            outcome.see(*chunk)
        return outcome.reply(self.state.thread_id)

    async def ainvoke(self, prompt: Prompt) -> str:
        """:meth:`invoke`, asynchronously."""
        outcome = TurnOutcome()
        async for chunk in self._aturn(prompt, ["updates"]):
            outcome.see(*chunk)
        return outcome.reply(self.state.thread_id)

    def resume(self) -> str | None:
        """Finish a turn that a crash or an error cut short; None if there is none.

        :meth:`invoke` needs no call of this: it settles interrupted tool calls by itself, and the
        model then answers the old and the new message together.

        Raises:
            QuestionOpen: the turn did not break off, it waits for an answer.
        """
        config = self._config()
        turn = plan_end(self.graph.get_state(config), self.configuration)
        if turn is None:
            return None
        outcome = TurnOutcome()
        for chunk in self._steps(turn, config, ["updates"]):
            outcome.see(*chunk)
        return outcome.reply(self.state.thread_id)

    def stream(
        self, prompt: Prompt, *, stream_mode: StreamMode | Sequence[StreamMode] = "updates"
    ) -> Iterator[Any]:
        """One turn as LangGraph's chunks, those of subgraphs included.

        A chunk is ``(namespace, chunk)`` for one ``stream_mode``, and ``(namespace, mode, chunk)``
        for a list of them. Closing the iterator stops the turn after the step that runs.
        """
        wanted = _modes(stream_mode)
        for namespace, mode, said in self._turn(prompt, wanted):
            if mode in wanted:
                yield (namespace, said) if isinstance(stream_mode, str) else (namespace, mode, said)

    async def astream(
        self, prompt: Prompt, *, stream_mode: StreamMode | Sequence[StreamMode] = "updates"
    ) -> AsyncIterator[Any]:
        """:meth:`stream`, asynchronously."""
        wanted = _modes(stream_mode)
        async for namespace, mode, said in self._aturn(prompt, wanted):
            if mode in wanted:
                yield (namespace, said) if isinstance(stream_mode, str) else (namespace, mode, said)

    def stream_invoke(self, prompt: Prompt) -> Iterator[AgentEvent]:
        """One turn as events; see :mod:`naas_abi_core.services.agent.events`."""
        outcome = TurnOutcome()
        yield opening(self.name)
        for chunk in self._turn(prompt, ["updates"]):
            outcome.see(*chunk)
            yield from events_of(*chunk, agent=self.name)
        yield from outcome.closing()

    async def astream_invoke(self, prompt: Prompt) -> AsyncIterator[AgentEvent]:
        """:meth:`stream_invoke`, asynchronously."""
        outcome = TurnOutcome()
        yield opening(self.name)
        async for chunk in self._aturn(prompt, ["updates"]):
            outcome.see(*chunk)
            for event in events_of(*chunk, agent=self.name):
                yield event
        for event in outcome.closing():
            yield event

    def _turn(self, prompt: Prompt, modes: Sequence[StreamMode]) -> Iterator[_Chunk]:
        config = self._config()
        stored = None if isinstance(prompt, Command) else self.graph.get_state(config)
        turn = plan_turn(stored, prompt, self.configuration)
        if turn.settles_tools:
            yield from self._steps(turn, config, modes)
            turn = plan_turn(self.graph.get_state(config), prompt, self.configuration)
        yield from self._steps(turn, config, modes)

    async def _aturn(self, prompt: Prompt, modes: Sequence[StreamMode]) -> AsyncIterator[_Chunk]:
        config = self._config()
        stored = None if isinstance(prompt, Command) else await self.graph.aget_state(config)
        turn = plan_turn(stored, prompt, self.configuration)
        if turn.settles_tools:
            async for chunk in self._asteps(turn, config, modes):
                yield chunk
            turn = plan_turn(await self.graph.aget_state(config), prompt, self.configuration)
        async for chunk in self._asteps(turn, config, modes):
            yield chunk

    def _steps(
        self, turn: Turn, config: RunnableConfig, modes: Sequence[StreamMode]
    ) -> Iterator[_Chunk]:
        with self._explained(config):
            for chunk in self.graph.stream(turn.input, config, **self._options(turn, modes)):
                self._listener.hear(*chunk)
                yield chunk

    async def _asteps(
        self, turn: Turn, config: RunnableConfig, modes: Sequence[StreamMode]
    ) -> AsyncIterator[_Chunk]:
        with self._explained(config):
            async for chunk in self.graph.astream(turn.input, config, **self._options(turn, modes)):
                self._listener.hear(*chunk)
                yield chunk

    def _config(self) -> RunnableConfig:
        return RunnableConfig(
            configurable={"thread_id": self.state.thread_id},
            recursion_limit=self.configuration.recursion_limit,
        )

    def _options(self, turn: Turn, modes: Sequence[StreamMode]) -> dict[str, Any]:
        return {
            "stream_mode": list(dict.fromkeys([*modes, "updates"])),
            "subgraphs": True,
            "durability": self.configuration.durability,
            "interrupt_after": [CALL_TOOLS] if turn.settles_tools else None,
        }

    @contextmanager
    def _explained(self, config: RunnableConfig) -> Iterator[None]:
        try:
            yield
        except GraphRecursionError as error:
            raise TurnTooLong(
                f"agent {self.name!r} has no reply after {config['recursion_limit']} steps",
                where=f"thread {config['configurable']['thread_id']!r}",
                mend="The steps are stored: say how to go on, or raise "
                "AgentConfiguration(recursion_limit=...).",
            ) from error


def _default_memory() -> BaseCheckpointSaver[Any]:
    from naas_abi_core.services.agent.memory.engine import create_checkpointer

    return create_checkpointer()


def _modes(stream_mode: StreamMode | Sequence[StreamMode]) -> list[StreamMode]:
    return [stream_mode] if isinstance(stream_mode, str) else list(stream_mode)


def _sanitized(name: str) -> str:
    sanitized = re.sub(r"[^a-zA-Z0-9_-]", "_", name)
    if not sanitized.strip("_"):
        message = f"an agent needs a name with letters or digits, not {name!r}"
        raise ValueError(message)
    return sanitized
