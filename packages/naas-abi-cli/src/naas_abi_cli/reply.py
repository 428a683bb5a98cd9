"""One turn of a chat as it happens: printed while it streams, and kept for ``--json``."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from naas_abi_cli import output
from naas_abi_cli.messages import as_plain
from naas_abi_cli.safe_text import safe, safe_line

if TYPE_CHECKING:
    from naas_abi_core.services.agent.agent import Agent
    from naas_abi_core.services.agent.turns import Prompt

__all__ = ["Reply", "take_turn"]

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
    printer = _Printer(silent=silent)
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


def _take(event: str, data: str, reply: Reply, printer: _Printer) -> None:
    if event == "tool_usage":
        printer.aside(f"→ {data}")
    elif event == "tool_response":
        printer.aside(f"← {safe_line(data, _TOOL_ANSWER_SHOWN)}")
    elif event == "question":
        reply.questions.append(data)


class _Printer:
    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._in_line = False

    def token(self, message: Any, namespace: tuple[str, ...]) -> None:
        text = str(message.text) if message.type.startswith("AI") or message.type == "ai" else ""
        if self._silent or namespace or not text:
            return
        with output.writing_result():
            sys.stdout.write(safe(text))
        self._in_line = True

    def aside(self, text: str) -> None:
        if not self._silent:
            self.end()
            output.note(text)

    def end(self) -> None:
        if self._in_line:
            with output.writing_result():
                sys.stdout.write("\n")
            self._in_line = False
