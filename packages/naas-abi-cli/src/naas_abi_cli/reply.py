"""One turn of a chat as it happens: printed while it streams, and kept for ``--json``."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from naas_abi_cli import output
from naas_abi_cli.messages import as_plain
from naas_abi_cli.safe_text import safe, safe_line

if TYPE_CHECKING:
    from naas_abi_core.services.agent.agent import Agent
    from naas_abi_core.services.agent.turns import Prompt

__all__ = ["Printer", "Reply", "take_turn"]

#: Characters of a tool's answer shown beside the conversation.
_TOOL_ANSWER_SHOWN = 200


@dataclass(slots=True)
class Reply:
    """What came of a turn: the text, the tools that were used, the questions they asked."""

    text: str = ""
    tools: list[dict[str, Any]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)


def take_turn(agent: Agent, prompt: Prompt, *, silent: bool) -> Reply:
    """Run one turn; unless ``silent``, print the text to stdout and the tools to stderr.

    Text of a model that streams is printed word by word, of any other in one piece.
    """
    from naas_abi_core.services.agent.events import TurnOutcome, events_of, messages_of

    reply, outcome = Reply(), TurnOutcome()
    printer = Printer(silent=silent)
    for namespace, mode, said in agent.stream(prompt, stream_mode=["messages", "updates"]):
        if mode == "messages":
            printer.token(said[0], namespace)
            continue
        outcome.see(namespace, mode, said)
        reply.tools += [
            as_plain(each) for each in messages_of(namespace, mode, said) if each.type == "tool"
        ]
        for event in events_of(namespace, mode, said, agent=agent.name):
            _take(event["event"], event["data"], reply, printer)
    printer.end()
    reply.text = outcome.text
    return reply


def _take(event: str, data: str, reply: Reply, printer: Printer) -> None:
    if event == "tool_usage":
        printer.tool_used(data)
    elif event == "tool_response":
        printer.tool_answered(data)
    elif event == "question":
        reply.questions.append(data)


@final
class Printer:
    """Prints a turn while it happens, unless it is ``silent``."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._in_line = False

    def token(self, message: Any, namespace: tuple[str, ...]) -> None:
        """Print the text of a model's message, if it is the agent's own."""
        if not namespace and (message.type.startswith("AI") or message.type == "ai"):
            self.write(str(message.text))

    def write(self, text: str) -> None:
        """Print a piece of the reply."""
        if self._silent or not text:
            return
        with output.writing_result():
            sys.stdout.write(safe(text))
        self._in_line = True

    def tool_used(self, name: str) -> None:
        """Print that a tool is called."""
        self._aside(f"→ {safe_line(name, _TOOL_ANSWER_SHOWN)}")

    def tool_answered(self, text: str) -> None:
        """Print what a tool answered."""
        self._aside(f"← {safe_line(text, _TOOL_ANSWER_SHOWN)}")

    def _aside(self, text: str) -> None:
        if not self._silent:
            self.end()
            output.note(text)

    def end(self) -> None:
        """End the line, if one was begun."""
        if self._in_line:
            with output.writing_result():
                sys.stdout.write("\n")
            self._in_line = False
