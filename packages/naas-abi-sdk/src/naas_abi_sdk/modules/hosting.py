"""The agents of one module process, answered over NATS until it is asked to stop.

A turn that was accepted runs to its end and is stored, whether or not its caller still listens:
that nobody hears an event fails nothing. It ends early only by an error, by its time limit, or
when :meth:`AgentHost.stop` has waited long enough.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final
from uuid import uuid4

from naas_abi_sdk.connecting import BrokerSettings, Watcher, close_connection, open_connection
from naas_abi_sdk.errors import (
    ABIError,
    DeadlineExceeded,
    InvalidArgument,
    PermissionDenied,
    RPCError,
    Unavailable,
)
from naas_abi_sdk.modules.bound_tokens import bound_token, identity_in
from naas_abi_sdk.modules.declaring import AgentDescriptor
from naas_abi_sdk.modules.sending import EventSender
from naas_abi_sdk.modules.subjects import ALIVE_SECONDS, FIND_SUBJECT, turn_subject
from naas_abi_sdk.modules.turns import events_of_turn
from naas_abi_sdk.proto.turns.v1 import turns_pb2 as proto
from naas_abi_sdk.subjects import TOKEN_HEADER

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

__all__ = ["AgentHost", "HostedAgent", "HostingLimits"]

_log = logging.getLogger(__name__)

#: Seconds the broker has to confirm that it sends no more turns.
_DRAINING: Final = 3.0

#: Seconds that cancelled turns have to say so.
_LAST_WORDS: Final = 2.0


@final
@dataclass(frozen=True, slots=True)
class HostingLimits:
    """What bounds a module's turns.

    Attributes:
        turn_seconds: How long one may take; a caller may ask for less.
        max_turns: How many run at once; more are refused.
        drain_seconds: How long stopping waits for those that run.
    """

    turn_seconds: float = 600.0
    max_turns: int = 64
    drain_seconds: float = 30.0


@final
@dataclass(frozen=True, slots=True)
class HostedAgent:
    """An agent and the graph that was built of it."""

    descriptor: AgentDescriptor
    graph: Any


@final
class AgentHost:
    """Takes turns from :meth:`start` to :meth:`stop`, on a connection of its own.

    Args:
        module_id: The module.
        key: The module's key, with which callers sign.
        agents: What it hosts, by name.
        limits: What bounds turns.
    """

    def __init__(
        self, module_id: str, key: str, agents: Mapping[str, HostedAgent], limits: HostingLimits
    ) -> None:
        self.instance = uuid4().hex
        self._module_id = module_id
        self._key = key
        self._agents = agents
        self._limits = limits
        self._turns: set[asyncio.Task[None]] = set()
        self._busy: set[tuple[str, str]] = set()
        self._refused: list[Exception] = []

    async def start(self, settings: BrokerSettings) -> None:
        """Take turns from here on; returns when the broker knows.

        Raises:
            Unavailable: the broker cannot be reached.
            Unauthenticated: it refuses the login.
            PermissionDenied: the login may not listen for turns.
        """
        self._client = await open_connection(
            settings,
            name=f"{self._module_id} agents",
            inbox_prefix="_INBOX_MODULES",
            watcher=Watcher(on_error=self._note),
        )
        try:
            self._subscriptions = [
                await self._client.subscribe(FIND_SUBJECT, cb=self._on_find),
                await self._client.subscribe(turn_subject(self.instance), cb=self._on_turn),
            ]
            await self._client.flush()
            # A refusal came before that answer, but is told in a task of its own: one more round
            # trip lets it run.
            await self._client.flush()
            if self._refused:
                message = f"the broker at {settings.place}: {self._refused[0]}"
                raise PermissionDenied(message)
        except BaseException:
            await close_connection(self._client)
            raise

    async def stop(self) -> None:
        """Take no more turns, let those that were accepted end, and close the connection."""
        loop = asyncio.get_running_loop()
        # Arrived turns become tasks at once, so this waits for the broker alone, if it is there.
        drains = [loop.create_task(_drained(subscription)) for subscription in self._subscriptions]
        await asyncio.wait(drains, timeout=_DRAINING)
        if self._turns:
            await asyncio.wait(self._turns.copy(), timeout=self._limits.drain_seconds)
        for turn in self._turns:
            turn.cancel()
        if self._turns:
            await asyncio.wait(self._turns.copy(), timeout=_LAST_WORDS)
        for drain in drains:
            drain.cancel()
        await asyncio.wait(drains, timeout=_LAST_WORDS)
        await close_connection(self._client)

    async def _note(self, error: Exception) -> None:
        if "permissions violation" in str(error).lower():
            self._refused.append(error)

    async def _on_find(self, message: Msg) -> None:
        from google.protobuf.message import DecodeError
        from nats.errors import Error

        if not message.reply:
            return
        with suppress(DecodeError, Error):
            wanted = proto.FindRequest.FromString(message.data).agent
            for name, agent in self._agents.items():
                if wanted in (name, f"{self._module_id}.{name}"):
                    found = proto.FindResponse(
                        module_id=self._module_id,
                        agent=name,
                        description=agent.descriptor.description,
                        instance=self.instance,
                        token=bound_token(self._module_id, self._key, message.reply),
                    )
                    await self._client.publish(message.reply, found.SerializeToString())

    async def _on_turn(self, message: Msg) -> None:
        if not message.reply:
            return  # nobody could be told how it ended
        turn = asyncio.create_task(self._answer(message))
        self._turns.add(turn)
        turn.add_done_callback(self._turns.discard)

    async def _answer(self, message: Msg) -> None:
        sender = EventSender(self._client, message.reply)
        try:
            identity_in((message.headers or {}).get(TOKEN_HEADER), self._key, self.instance)
            await self._take(_request(message.data), sender)
        except asyncio.CancelledError:
            # Only stopping cancels a turn, when it has waited long enough.
            await sender.fail(Unavailable("the module stopped before the turn ended; say it again"))
        except ABIError as error:
            await sender.fail(error)
        except Exception as error:  # noqa: BLE001 -- every failure is told to the caller
            _log.exception("a turn failed")
            told = f"the agent failed with {type(error).__name__}; the module's log says more"
            await sender.fail(RPCError("INTERNAL", told))
        else:
            await sender.send(proto.TurnEvent(end=proto.End()))

    async def _take(self, request: proto.TurnRequest, sender: EventSender) -> None:
        agent = self._agents.get(request.agent)
        if agent is None:
            message = f"the module {self._module_id} has no agent {request.agent!r}"
            raise InvalidArgument(message)
        thread = (request.agent, request.thread_id)
        if thread in self._busy:
            message = f"thread {request.thread_id!r} has a turn under way; wait until it has ended"
            raise RPCError("CONFLICT", message)
        if len(self._busy) >= self._limits.max_turns:
            message = f"{self._limits.max_turns} turns are under way, and no more are taken; wait"
            raise RPCError("RESOURCE_EXHAUSTED", message)
        self._busy.add(thread)
        try:
            await self._run(agent.graph, request, sender)
        finally:
            self._busy.discard(thread)

    async def _run(self, graph: Any, request: proto.TurnRequest, sender: EventSender) -> None:
        """Run the turn within its time, and say that it goes on when nothing else is said."""

        async def tell() -> None:
            async for event in events_of_turn(graph, request):
                await sender.send(event)

        seconds = self._limits.turn_seconds
        if request.context.timeout_ms > 0:
            seconds = min(seconds, request.context.timeout_ms / 1000)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        running = loop.create_task(tell())
        try:
            while not running.done():
                left = deadline - loop.time()
                if left <= 0:
                    message = f"the turn took more than {seconds:g} s; what it did is stored"
                    raise DeadlineExceeded(message)
                await asyncio.wait([running], timeout=min(ALIVE_SECONDS, left))
                await sender.keep_alive()
            await running
        finally:
            if not running.done():
                running.cancel()
                await asyncio.wait([running], timeout=_LAST_WORDS)


async def _drained(subscription: Subscription) -> None:
    from nats.errors import Error

    with suppress(Error, OSError, asyncio.TimeoutError):
        await subscription.drain()  # type: ignore[no-untyped-call]  # nats-py gives it no types


def _request(body: bytes) -> proto.TurnRequest:
    from google.protobuf.message import DecodeError

    try:
        return proto.TurnRequest.FromString(body)
    except DecodeError as error:
        message = "the body is no abi.turns.v1.TurnRequest"
        raise InvalidArgument(message) from error
