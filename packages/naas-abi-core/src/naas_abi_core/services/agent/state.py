"""What an agent carries: the channels of its graph, the state of one use of it, its settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, TypedDict

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.graph.message import add_messages

__all__ = ["AgentConfiguration", "AgentSharedState", "AgentState", "Durability", "SystemPrompt"]

#: A fixed system prompt, or a function of the conversation so far that returns one.
SystemPrompt: TypeAlias = "str | Callable[[Sequence[BaseMessage]], str]"

#: When LangGraph stores a step: before the next one starts, beside it, or at the end of the turn.
Durability: TypeAlias = Literal["sync", "async", "exit"]


class AgentState(TypedDict, total=False):
    """The channels of an agent's graph, and so what a checkpoint of it holds."""

    messages: Annotated[list[AnyMessage], add_messages]
    system_prompt: str
    current_active_agent: str | None
    supervisor_agent: str | None


class AgentSharedState:
    """Which conversation an agent serves, and who answers in it. One object per use, never shared.

    Raises:
        ValueError: ``thread_id`` is not text, or empty. ``1`` and ``"1"`` are one thread in some
            savers and two in others, so only text is accepted.
    """

    def __init__(
        self,
        thread_id: str = "1",
        current_active_agent: str | None = None,
        supervisor_agent: str | None = None,
    ) -> None:
        self.set_thread_id(thread_id)
        self.current_active_agent = current_active_agent
        self.supervisor_agent = supervisor_agent

    @property
    def thread_id(self) -> str:
        """The conversation's id."""
        return self._thread_id

    def set_thread_id(self, thread_id: str) -> None:
        """Serve another conversation from the next turn on."""
        if not thread_id or not isinstance(thread_id, str):
            message = f"thread_id must be text that is not empty, not {thread_id!r}; use str(...)"
            raise ValueError(message)
        self._thread_id = thread_id

    def set_current_active_agent(self, name: str | None) -> None:
        """Say which agent answers."""
        self.current_active_agent = name

    def set_supervisor_agent(self, name: str | None) -> None:
        """Say which agent handed the conversation over."""
        self.supervisor_agent = name


def _ignore(*_: object) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfiguration:
    """How an agent behaves. The callbacks run in the caller's thread, as the turn is read.

    Attributes:
        system_prompt: Put before the conversation at every call of the model; stored when it
            changes. An empty one is left out.
        recursion_limit: Steps of one turn at most; a step is one call of the model or one round
            of tool calls. A turn that needs more ends in ``TurnTooLong``.
        durability: ``sync`` stores the request for a tool call before the tool runs, so a
            crash never leaves an effect nobody asked for on record.
        resume_tool_calls: After a crash inside a tool, run the interrupted calls again at the
            next turn (True), or answer them with an error the model is told (False). Choose False
            for tools that must not run twice.
        on_tool_usage: Called with each model reply that asks for tools.
        on_tool_response: Called with each tool's answer.
        on_ai_message: Called with each final reply and the agent's name.
    """

    system_prompt: SystemPrompt = ""
    recursion_limit: int = 50
    durability: Durability = "sync"
    resume_tool_calls: bool = True
    on_tool_usage: Callable[[BaseMessage], None] = _ignore
    on_tool_response: Callable[[BaseMessage], None] = _ignore
    on_ai_message: Callable[[BaseMessage, str], None] = _ignore

    def __post_init__(self) -> None:
        """Refuse a limit under which no turn can end."""
        if self.recursion_limit < 1:
            message = f"recursion_limit must be at least 1, not {self.recursion_limit}"
            raise ValueError(message)
