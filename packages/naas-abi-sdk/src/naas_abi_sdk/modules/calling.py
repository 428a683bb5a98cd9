"""Calls agents of modules in other processes, for who holds the project's secret."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, final
from uuid import uuid4

from naas_abi_sdk.connecting import BrokerSettings, close_connection, open_connection
from naas_abi_sdk.errors import (
    DeadlineExceeded,
    InvalidArgument,
    NobodyServes,
    PayloadTooLarge,
    RPCError,
    Unauthenticated,
    Unavailable,
    error_named,
)
from naas_abi_sdk.limits import CALL_TIMEOUT
from naas_abi_sdk.modules.bound_tokens import bound_token, identity_in
from naas_abi_sdk.modules.subjects import ALIVE_SECONDS, FIND_SUBJECT, turn_subject
from naas_abi_sdk.proto.turns.v1 import turns_pb2 as proto
from naas_abi_sdk.subjects import TOKEN_HEADER, message_size
from naas_abi_sdk.tokens import module_key

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription

__all__ = ["AgentCaller", "FoundAgent"]

#: Seconds modules have to answer for an agent; with a bare name all of them are waited out, since
#: two modules may have an agent of that name.
_FIND: Final = 1.0

#: Seconds without a word after which the module is taken to be gone: in that time it says three
#: times that it goes on.
_SILENCE: Final = 3 * ALIVE_SECONDS

#: What the broker answers for a subject without subscribers.
_NO_RESPONDERS: Final = "503"


@final
@dataclass(frozen=True, slots=True)
class FoundAgent:
    """An agent that a running module has.

    Attributes:
        module_id: The module.
        name: The agent's name there.
        description: What it does, for people.
        instance: The process that answered.
    """

    module_id: str
    name: str
    description: str
    instance: str

    @property
    def full_name(self) -> str:
        """The name that no other module's agent has."""
        return f"{self.module_id}.{self.name}"


@final
class AgentCaller:
    """A connection to call agents on. Enter it in the event loop it is used in.

    Args:
        settings: Where the broker is.
        secret: The project's secret, ``nats.jwt_secret``.
        identity: Who calls.
    """

    def __init__(self, settings: BrokerSettings, secret: str, *, identity: str = "engine") -> None:
        self._settings = settings
        self._secret = secret
        self._identity = identity

    async def __aenter__(self) -> AgentCaller:
        self._client: Client = await open_connection(
            self._settings, name=self._identity, timeout=CALL_TIMEOUT
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await close_connection(self._client)

    async def find(self, name: str) -> FoundAgent:
        """The agent called ``name``, alone or after its module's id and a dot.

        Raises:
            NobodyServes: no running module has it.
            InvalidArgument: several have one of that name; the text gives their full names.
            Unauthenticated: who answered does not hold its module's key.
        """
        found: dict[str, FoundAgent] = {}
        unproven: Unauthenticated | None = None
        request = proto.FindRequest(agent=name)
        request.context.trace_id = str(uuid4())
        async with self._inbox() as (inbox, replies):
            await self._client.publish(FIND_SUBJECT, request.SerializeToString(), reply=inbox)
            async for message in _until(_FIND, replies):
                try:
                    agent = self._proven(inbox, message.data)
                except Unauthenticated as error:
                    unproven = error
                    continue
                found.setdefault(agent.full_name, agent)
                if agent.full_name == name:
                    return agent
        if not found and unproven is not None:
            raise unproven
        if not found:
            told = f"no running module at {self._settings.place} has an agent {name!r}"
            raise NobodyServes(told)
        if len(found) > 1:
            told = f"several modules have an agent {name!r}: say {' or '.join(sorted(found))}"
            raise InvalidArgument(told)
        return next(iter(found.values()))

    def _proven(self, inbox: str, body: bytes) -> FoundAgent:
        from google.protobuf.message import DecodeError

        try:
            answer: Any = proto.FindResponse.FromString(body)
        except DecodeError as error:
            raise Unauthenticated("who answers for an agent is no module") from error
        key = module_key(self._secret, answer.module_id)
        try:
            identity_in(answer.token, key, inbox)
        except Unauthenticated as error:
            message = (
                f"who answers as module {answer.module_id} does not hold its key; give it the "
                f"output of `abi module key {answer.module_id}`"
            )
            raise Unauthenticated(message) from error
        return FoundAgent(answer.module_id, answer.agent, answer.description, answer.instance)

    async def turn(
        self,
        agent: FoundAgent,
        thread_id: str,
        *,
        text: str | None = None,
        answer: str | None = None,
        timeout: float = 0,
    ) -> AsyncIterator[proto.TurnEvent]:
        """One turn, as its events; ends with the turn.

        Whoever stops listening does not stop the turn.

        Args:
            agent: Whom to talk to.
            thread_id: The conversation; a new one begins if there is none.
            text: What to say.
            answer: In its place, the answer to the question the last turn ended with.
            timeout: Seconds the turn may take; 0 leaves that to the module.

        Raises:
            ABIError: what the module answered: ``CONFLICT`` if a turn of the thread is under way,
                ``QUESTION_OPEN`` if text came in place of an answer.
            NobodyServes: the module has ended; nothing was done.
            DeadlineExceeded: the module has not been heard of for 15 s, or the turn took too long.
            Unavailable: events were lost; the turn goes on in the module and is stored.
            PayloadTooLarge: the text is above the broker's limit.
        """
        request = proto.TurnRequest(agent=agent.name, thread_id=thread_id)
        request.context.trace_id = str(uuid4())
        request.context.timeout_ms = int(timeout * 1000)
        if text is not None:
            request.text = text
        if answer is not None:
            request.answer = answer
        async with self._inbox() as (inbox, replies):
            await self._send(agent, inbox, request.SerializeToString())
            expected = 0
            while True:
                event = _event(agent, await _next(agent, replies), expected)
                expected += 1
                kind = event.WhichOneof("event")
                if kind == "error":
                    raise error_named(event.error.code, event.error.message)
                if kind == "end":
                    return
                if kind != "alive":
                    yield event

    async def _send(self, agent: FoundAgent, inbox: str, body: bytes) -> None:
        key = module_key(self._secret, agent.module_id)
        headers = {TOKEN_HEADER: bound_token(self._identity, key, agent.instance)}
        limit = self._client.max_payload
        if (size := message_size(body, headers)) > limit:
            message = f"a turn of {size} bytes is above the {limit} that the broker takes"
            raise PayloadTooLarge(message)
        await self._client.publish(turn_subject(agent.instance), body, reply=inbox, headers=headers)

    @asynccontextmanager
    async def _inbox(self) -> AsyncIterator[tuple[str, Subscription]]:
        from nats.errors import Error

        inbox = self._client.new_inbox()
        # No limits: dropping an event would only turn slowness into a failure.
        replies = await self._client.subscribe(inbox, pending_msgs_limit=0, pending_bytes_limit=0)
        try:
            yield inbox, replies
        finally:
            with suppress(Error):
                await replies.unsubscribe()


async def _until(seconds: float, replies: Subscription) -> AsyncIterator[Msg]:
    """What arrives within that time; nothing if nobody listens."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while (left := deadline - loop.time()) > 0:
        message = await _message(replies, left)
        if message is None:
            return
        if _nobody_has(message):
            return
        yield message


async def _next(agent: FoundAgent, replies: Subscription) -> Msg:
    message = await _message(replies, _SILENCE)
    if message is None:
        told = (
            f"{agent.full_name} has not been heard of for {_SILENCE:g} s; what its turn did until "
            "then is stored"
        )
        raise DeadlineExceeded(told)
    if _nobody_has(message):
        told = f"the process of {agent.full_name} has ended; start the module"
        raise NobodyServes(told)
    return message


async def _message(replies: Subscription, seconds: float) -> Msg | None:
    """The next one, None if that long nothing arrives."""
    from nats.errors import Error
    from nats.errors import TimeoutError as NatsTimeoutError

    try:
        return await replies.next_msg(timeout=seconds)
    except NatsTimeoutError:
        return None
    except Error as error:
        message = f"the connection to the broker was closed: {error}"
        raise Unavailable(message) from error


def _nobody_has(message: Msg) -> bool:
    return not message.data and (message.headers or {}).get("Status") == _NO_RESPONDERS


def _event(agent: FoundAgent, message: Msg, expected: int) -> proto.TurnEvent:
    from google.protobuf.message import DecodeError

    try:
        event: Any = proto.TurnEvent.FromString(message.data)
    except DecodeError as error:
        told = f"{agent.full_name} sent what is no abi.turns.v1.TurnEvent"
        raise RPCError("INTERNAL", told) from error
    if event.sequence != expected:
        told = (
            f"events of {agent.full_name} were lost on their way; its turn goes on there and is "
            "stored"
        )
        raise Unavailable(told)
    return event  # type: ignore[no-any-return]  # protobuf's FromString returns its class
