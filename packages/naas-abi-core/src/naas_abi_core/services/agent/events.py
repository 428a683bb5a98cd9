"""One turn as events: small dicts ``{"event": ..., "data": ...}`` a server can send as they are.

==================  ====================================================================
event               data
==================  ====================================================================
``call_model``      name of the agent that asks its model
``tool_usage``      name of the tool about to run
``tool_response``   what the tool answered, cut at 8,000 characters
``ai_message``      text of a reply
``question``        what a tool asks the person; the turn waits for the answer
``message``         one line of the final reply
``done``            ``[DONE]``: nothing follows. A turn that fails raises instead, so a
                    stream without it was cut short.
==================  ====================================================================

A chunk here is one of LangGraph's: the namespace of the subgraph it comes from, its mode, and
what it says. Only ``updates`` of the agent's own graph count.
"""

from __future__ import annotations

from collections.abc import Iterator
from queue import Queue
from typing import Any, Final, TypedDict, final

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Interrupt

from naas_abi_core.services.agent.model_step import CALL_MODEL
from naas_abi_core.services.agent.state import AgentConfiguration
from naas_abi_core.services.agent.tools import CALL_TOOLS
from naas_abi_core.services.agent.turns import question_open

__all__ = [
    "MAX_TOOL_RESPONSE",
    "AgentEvent",
    "Listener",
    "TurnOutcome",
    "events_of",
    "messages_of",
    "opening",
]

#: Characters of a tool's answer in an event; the whole answer is in the conversation.
MAX_TOOL_RESPONSE: Final = 8000


class AgentEvent(TypedDict):
    """One event of a turn."""

    event: str
    data: str


def opening(agent: str) -> AgentEvent:
    """What begins a turn."""
    return AgentEvent(event=CALL_MODEL, data=agent)


def events_of(
    namespace: tuple[str, ...], mode: str, said: Any, *, agent: str
) -> Iterator[AgentEvent]:
    """Events of one chunk, in the order things happened."""
    for message in messages_of(namespace, mode, said):
        if isinstance(message, ToolMessage):
            yield AgentEvent(event="tool_response", data=str(message.text)[:MAX_TOOL_RESPONSE])
        elif isinstance(message, AIMessage) and message.tool_calls:
            for call in message.tool_calls:
                yield AgentEvent(event="tool_usage", data=call["name"])
        elif isinstance(message, AIMessage):
            yield AgentEvent(event="ai_message", data=str(message.text))
    for question in _questions(namespace, mode, said):
        yield AgentEvent(event="question", data=str(question.value))
    if not namespace and mode == "updates" and CALL_TOOLS in said:
        yield opening(agent)


@final
class TurnOutcome:
    """What a turn came to, gathered from its chunks. ``text`` is that of the newest reply."""

    def __init__(self) -> None:
        self.text = ""
        self._questions: tuple[Interrupt, ...] = ()

    def see(self, namespace: tuple[str, ...], mode: str, said: Any) -> None:
        """Take in one chunk."""
        for message in messages_of(namespace, mode, said):
            if isinstance(message, AIMessage):
                self.text = str(message.text)
        self._questions = self._questions or _questions(namespace, mode, said)

    def reply(self, thread_id: str) -> str:
        """The final text, or raise ``QuestionOpen`` if the turn waits for an answer."""
        if self._questions:
            raise question_open(self._questions, thread_id)
        return self.text

    def closing(self) -> Iterator[AgentEvent]:
        """The events that end a turn: the final text by lines, and the mark that it is whole."""
        for line in () if self._questions else self.text.splitlines():
            yield AgentEvent(event="message", data=line)
        yield AgentEvent(event="done", data="[DONE]")


@final
class Listener:
    """Tells callbacks and queue what happens, however a turn is run."""

    def __init__(
        self, agent: str, configuration: AgentConfiguration, queue: Queue[AgentEvent] | None
    ) -> None:
        self._agent = agent
        self._configuration = configuration
        self._queue = queue

    def hear(self, namespace: tuple[str, ...], mode: str, said: Any) -> None:
        """Take in one chunk."""
        if self._queue is not None:
            for event in events_of(namespace, mode, said, agent=self._agent):
                self._queue.put(event)
        for message in messages_of(namespace, mode, said):
            if isinstance(message, ToolMessage):
                self._configuration.on_tool_response(message)
            elif isinstance(message, AIMessage) and message.tool_calls:
                self._configuration.on_tool_usage(message)
            elif isinstance(message, AIMessage):
                self._configuration.on_ai_message(message, self._agent)


def messages_of(namespace: tuple[str, ...], mode: str, said: Any) -> list[BaseMessage]:
    """Messages that one chunk adds to the conversation, in order."""
    if namespace or mode != "updates":
        return []
    parts = [
        part
        for written in said.values()
        for part in (written if isinstance(written, list) else [written])
        if isinstance(part, dict)
    ]
    return [
        message
        for part in parts
        for message in _as_list(part.get("messages", []))
        if isinstance(message, BaseMessage)
    ]


def _questions(namespace: tuple[str, ...], mode: str, said: Any) -> tuple[Interrupt, ...]:
    return () if namespace or mode != "updates" else tuple(said.get("__interrupt__", ()))


def _as_list(added: Any) -> list[Any]:
    return added if isinstance(added, list) else [added]
