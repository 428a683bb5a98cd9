"""``abi chat``: talk to an agent, once or in turns."""

from __future__ import annotations

import secrets
import shlex
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated, Any

import typer

from naas_abi_cli import output
from naas_abi_cli.errors import CommandFailed, WrongCall
from naas_abi_cli.options import AgentOption, ConfigOption, JsonOption

if TYPE_CHECKING:
    from naas_abi_cli.remote import RemoteAgent
    from naas_abi_cli.reply import Reply
    from naas_abi_core.engine.engine import Engine
    from naas_abi_core.services.agent.agent import Agent

__all__ = ["chat"]


def chat(
    text: Annotated[
        str | None,
        typer.Argument(help="What to say; without it, standard input, or a conversation."),
    ] = None,
    *,
    thread: Annotated[
        str | None, typer.Option("--thread", "-t", help="Thread to go on with; else a new one.")
    ] = None,
    agent: AgentOption = None,
    answer: Annotated[
        bool, typer.Option("--answer", help="The text answers the question a tool has asked.")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Talk to an agent. It remembers the thread, also in another process.

    With 'nats' configured also to an agent of a module that runs elsewhere, by its name or its full
    name, such as acme.billing.clerk. The reply goes to standard output, all else to standard error.
    """
    from naas_abi_cli.project import checked_thread, open_engine
    from naas_abi_cli.remote import find_remote

    thread_id = _new_thread() if thread is None else checked_thread(thread)
    spoken = _spoken(text)
    interactive = spoken is None
    if interactive and json:
        raise WrongCall("--json needs a text to say", mend="abi chat 'Hello' --json")
    with open_engine(config) as engine:
        serving = find_remote(engine, agent, thread_id) or _Local(engine, agent, thread_id)
        if spoken is None:
            _converse(serving, agent)
            return
        reply = serving.say(spoken, answer=answer, silent=json)
    if json:
        output.print_json(
            {
                "agent": serving.name,
                "thread_id": thread_id,
                "reply": reply.text,
                "tools": reply.tools,
                "questions": reply.questions,
            }
        )
    else:
        _tell_questions(reply, thread_id, agent)
        output.note(f"thread {thread_id}")


def _new_thread() -> str:
    moment = datetime.now(tz=timezone.utc)
    return f"{moment:%Y-%m-%d-%H%M%S}-{secrets.token_hex(2)}"


def _spoken(text: str | None) -> str | None:
    """The text to say; None to ask a person."""
    if text is None and sys.stdin.isatty():
        return None
    spoken = sys.stdin.read() if text is None or text == "-" else text
    if not spoken.strip():
        raise WrongCall("there is nothing to say: the text is empty", mend="abi chat 'Hello'")
    try:
        spoken.encode()
    except UnicodeEncodeError as error:
        raise WrongCall("the text is not UTF-8", mend="Give it as UTF-8.") from error
    return spoken.rstrip("\n")


class _Local:
    """A conversation with an agent of the project."""

    def __init__(self, engine: Engine, name: str | None, thread_id: str) -> None:
        self.thread_id = thread_id
        self.memory = engine.memory_reason
        self._agent = _serving(engine, name, thread_id)
        self.name = self._agent.name

    @property
    def asks(self) -> bool:
        """Whether a question waits for an answer."""
        return bool(self._agent.snapshot().interrupts)

    def say(self, text: str, *, answer: bool, silent: bool) -> Reply:
        """Run one turn."""
        return _say(self._agent, text, answer=answer, silent=silent)


def _serving(engine: Engine, name: str | None, thread_id: str) -> Agent:
    from langgraph.checkpoint.memory import InMemorySaver

    from naas_abi_core.services.agent.state import AgentSharedState

    with output.progress("Building the agent…"):
        template: Agent = engine.agent(name)
    lost = isinstance(template.checkpointer, InMemorySaver)
    if lost and not engine.configuration.names_document_store:  # then the engine has said so
        output.warn(f"this conversation ends with this process: {engine.memory_reason}")
    return template.duplicate(agent_shared_state=AgentSharedState(thread_id=thread_id))


def _say(agent: Agent, text: str, *, answer: bool, silent: bool) -> Reply:
    from langgraph.types import Command

    from naas_abi_cli.reply import take_turn
    from naas_abi_core.errors import QuestionOpen

    stored = agent.snapshot()
    if answer and not stored.interrupts:
        raise CommandFailed(
            "no tool waits for an answer",
            where=f"thread {agent.state.thread_id!r}",
            mend="Leave out --answer.",
        )
    if stored.next and not stored.interrupts:
        output.note("The last turn broke off; what it had begun is settled first.")
    prompt: Any = Command(resume=text) if answer else text
    try:
        return take_turn(agent, prompt, silent=silent)
    except QuestionOpen as error:
        raise CommandFailed(
            error.what, where=error.where, mend="Add --answer if the text is meant to answer it."
        ) from error


def _tell_questions(reply: Reply, thread_id: str, agent: str | None) -> None:
    for question in reply.questions:
        output.print_text(f"question: {question}", style="bold")
    if reply.questions:
        options = _again(thread_id, agent)
        output.note(f"Answer with: abi chat --answer {options} 'TEXT'")


def _again(thread_id: str, agent: str | None) -> str:
    """The options that go on with the conversation."""
    named = "" if agent is None else f"--agent {shlex.quote(agent)} "
    return f"{named}--thread {shlex.quote(thread_id)}"


def _converse(agent: _Local | RemoteAgent, asked_for: str | None) -> None:
    output.note(f"{agent.name}, thread {agent.thread_id}")
    output.note(f"memory: {agent.memory}")
    output.note("An empty line does nothing; /quit or Ctrl-D ends.")
    while (text := _ask()) is not None:
        if not text.strip():
            continue
        try:
            reply = agent.say(text, answer=agent.asks, silent=False)
        except Exception as error:  # noqa: BLE001 -- one failed turn does not end a conversation
            output.fail(error)
        else:
            for question in reply.questions:
                output.print_text(f"question: {question}", style="bold")
    output.note(f"Go on later with: abi chat {_again(agent.thread_id, asked_for)}")


def _ask() -> str | None:
    from contextlib import suppress

    with suppress(ImportError):
        import readline  # noqa: F401 -- importing it gives input() a line editor
    try:
        text = input("> ")
    except EOFError:
        return None
    return None if text.strip() in {"/quit", "/exit"} else text
