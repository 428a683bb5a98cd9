"""What a turn has to do, decided from the stored state of its thread. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.types import Command, Interrupt, StateSnapshot

from naas_abi_core.errors import QuestionOpen
from naas_abi_core.services.agent.history import interrupted_result, unanswered
from naas_abi_core.services.agent.state import AgentConfiguration, AgentState
from naas_abi_core.services.agent.tools import CALL_TOOLS

__all__ = ["Prompt", "Turn", "plan_end", "plan_turn", "question_open"]

#: What a person says, or LangGraph's own word for the answer to a tool's question.
Prompt: TypeAlias = "str | Command[Any]"

#: Characters of a question repeated in an error.
_QUESTION_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Turn:
    """What enters the graph; None goes on where it stopped.

    ``settles_tools``: this only runs the interrupted tool calls and stops before the model, so
    that the model hears their results and the next message together.
    """

    input: AgentState | Command[Any] | None
    settles_tools: bool = False


def plan_turn(
    stored: StateSnapshot | None, prompt: Prompt, configuration: AgentConfiguration
) -> Turn:
    """What to run for ``prompt``; after a turn that settles tools, ask again.

    Calls that will never return are answered with a stated error before the new message. The
    message brings its id, so repeating a step after a crash does not add it twice.

    Raises:
        QuestionOpen: a tool waits for a person. Words meant for the model must not pass for
            consent, so text never answers it.
    """
    if isinstance(prompt, Command) or stored is None:
        return Turn(prompt)  # type: ignore[arg-type]  # text always comes with a stored state
    if stored.interrupts:
        raise question_open(stored.interrupts, stored.config["configurable"]["thread_id"])
    if configuration.resume_tool_calls and CALL_TOOLS in stored.next:
        return Turn(None, settles_tools=True)
    said = HumanMessage(prompt, id=str(uuid.uuid4()))
    return Turn(AgentState(messages=[*_errors(stored), said]))


def plan_end(stored: StateSnapshot, configuration: AgentConfiguration) -> Turn | None:
    """What finishes a turn that broke off; None if the last turn ended.

    Raises:
        QuestionOpen: it did not break off, it waits for a person.
    """
    if stored.interrupts:
        raise question_open(stored.interrupts, stored.config["configurable"]["thread_id"])
    if not stored.next:
        return None
    if CALL_TOOLS in stored.next and not configuration.resume_tool_calls:
        return Turn(AgentState(messages=[*_errors(stored)]))
    return Turn(None)


def question_open(questions: Iterable[Interrupt], thread_id: str) -> QuestionOpen:
    """The error that repeats the open questions of a thread."""
    asked = "; ".join(str(question.value)[:_QUESTION_SHOWN] for question in questions)
    return QuestionOpen(
        f"a tool waits for an answer: {asked}",
        where=f"thread {thread_id!r}",
        mend="Answer it with Command(resume=...) in place of the text.",
    )


def _errors(stored: StateSnapshot) -> list[ToolMessage]:
    return [interrupted_result(call) for call in unanswered(stored.values.get("messages", []))]
