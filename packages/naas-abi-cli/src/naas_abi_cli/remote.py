"""An agent of a module in another process, to talk to as to one of the project's own."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, final

from naas_abi_cli.errors import CommandFailed
from naas_abi_cli.output import progress
from naas_abi_cli.reply import Printer, Reply

if TYPE_CHECKING:
    from naas_abi_core.engine.engine import Engine
    from naas_abi_sdk.errors import ABIError
    from naas_abi_sdk.modules.calling import AgentCaller, FoundAgent
    from naas_abi_sdk.proto.turns.v1.turns_pb2 import ToolResult, TurnEvent

__all__ = ["RemoteAgent", "find_remote"]


def find_remote(engine: Engine, name: str | None, thread_id: str) -> RemoteAgent | None:
    """The agent if a module at the configured broker has it.

    None if no name was given, the project itself has an agent of that name, or no broker is
    configured.

    Raises:
        CommandFailed: neither the project nor a running module has it.
    """
    if name is None or name in engine.agents or engine.configuration.nats is None:
        return None
    agent = RemoteAgent(engine, thread_id)
    with progress("Looking for the agent…"):
        agent.find(name)
    return agent


@final
class RemoteAgent:
    """One conversation with it. Each turn has a connection of its own."""

    def __init__(self, engine: Engine, thread_id: str) -> None:
        self.thread_id = thread_id
        self.asks = False
        self._engine = engine
        self._found: FoundAgent

    @property
    def name(self) -> str:
        """Its full name."""
        return self._found.full_name

    @property
    def memory(self) -> str:
        """Where the conversation is kept, for people."""
        return f"documents of the module {self._found.module_id}"

    def find(self, name: str) -> None:
        """Find the process to talk to."""

        async def found() -> FoundAgent:
            async with self._caller() as caller:
                return await caller.find(name)

        self._found = self._run(found())

    def say(self, text: str, *, answer: bool, silent: bool) -> Reply:
        """Run one turn; unless ``silent``, print the text to stdout and the tools to stderr.

        Raises:
            CommandFailed: the turn failed, or the module has ended.
        """
        reply: Reply = self._run(self._turn(text, answer=answer, silent=silent))
        return reply

    async def _turn(self, text: str, *, answer: bool, silent: bool) -> Reply:
        turn = _Turn(silent=silent)
        async with self._caller() as caller:
            # Another process may have taken the place of the one before.
            agent = await caller.find(self.name)
            call = partial(caller.turn, agent, self.thread_id)
            try:
                async for event in call(answer=text) if answer else call(text=text):
                    turn.take(event)
            finally:
                turn.printer.end()
        self.asks = bool(turn.reply.questions)
        return turn.reply

    def _caller(self) -> AgentCaller:
        from naas_abi_core.engine.serving import broker_settings
        from naas_abi_sdk.modules.calling import AgentCaller

        configuration = self._engine.configuration
        assert configuration.nats is not None
        return AgentCaller(broker_settings(configuration), configuration.nats.jwt_secret)

    def _run(self, coroutine: Any) -> Any:
        from naas_abi_sdk.errors import ABIError

        try:
            return asyncio.run(coroutine)
        except ABIError as error:
            raise self._failure(error) from error

    def _failure(self, error: ABIError) -> CommandFailed:
        from naas_abi_sdk.errors import NobodyServes
        from naas_abi_sdk.modules.subjects import QUESTION_OPEN

        self.asks = error.code == QUESTION_OPEN
        mend = "Add --answer if the text is meant to answer it." if self.asks else ""
        if isinstance(error, NobodyServes):
            mend = "Start the module. 'abi agent list' shows the project's own agents."
        told = self._engine.configuration.without_secrets(str(error))
        return CommandFailed(
            told.removeprefix(f"{error.code}: "),
            where=f"thread {self.thread_id!r}",
            mend=mend,
        )


@final
class _Turn:
    """What came of a turn so far. The reply is what the newest message says."""

    def __init__(self, *, silent: bool) -> None:
        self.reply = Reply()
        self.printer = Printer(silent=silent)
        self._message_id = ""

    def take(self, event: TurnEvent) -> None:
        """Keep an event, and print it."""
        kind = event.WhichOneof("event")
        if kind == "piece":
            self._say(event.piece.message_id, event.piece.text)
        elif kind == "tool_call":
            self.printer.tool_used(event.tool_call.name)
        elif kind == "tool_result":
            self.reply.tools.append(_as_plain(event.tool_result))
            self.printer.tool_answered(event.tool_result.text)
        elif kind == "question":
            self.reply.questions.append(event.question.text)

    def _say(self, message_id: str, text: str) -> None:
        if message_id != self._message_id:
            self.printer.end()
            self._message_id, self.reply.text = message_id, ""
        self.reply.text += text
        self.printer.write(text)


def _as_plain(result: ToolResult) -> dict[str, Any]:
    """As ``messages.as_plain`` gives a tool's message."""
    return {
        "role": "tool",
        "text": result.text,
        "id": result.id,
        "name": result.name,
        "status": "error" if result.failed else "success",
    }
