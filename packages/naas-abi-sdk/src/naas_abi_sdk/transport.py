"""One request, one reply, within a time limit: what every client of a service is built on.

A request is sent once, except where sending it again does no harm:

- nobody serves its subject, so nobody has it: again for some seconds, while an engine starts;
- its caller says it is ``repeatable``: again when the connection was lost meanwhile, and once
  when half of the time has passed in silence. The reply to any of them counts.

Whatever happens, a call ends within its time: with its response or with one error of
:mod:`naas_abi_sdk.errors`. What is above the broker's limit goes through :mod:`.overflow`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, final
from uuid import uuid4

from naas_abi_sdk import overflow
from naas_abi_sdk.connecting import BrokerSettings
from naas_abi_sdk.connection import Connection, Expected
from naas_abi_sdk.errors import (
    DeadlineExceeded,
    NobodyServes,
    PayloadTooLarge,
    TransportError,
    Unavailable,
)
from naas_abi_sdk.limits import CALL_TIMEOUT
from naas_abi_sdk.responses import read_response
from naas_abi_sdk.subjects import (
    OVERFLOW_HEADER,
    OVERFLOW_REPLY_HEADER,
    OVERFLOW_REQUEST_HEADER,
    OVERFLOW_SIZE_HEADER,
    TOKEN_HEADER,
    message_size,
)
from naas_abi_sdk.tokens import TokenSource

if TYPE_CHECKING:
    from nats.aio.msg import Msg

__all__ = ["Transport"]

R = TypeVar("R")

#: Seconds between two requests that nobody serves: the first pause, doubled up to the last.
_FIRST_PAUSE: Final = 0.05
_LAST_PAUSE: Final = 0.5

#: Seconds to wait for somebody to serve: an engine that hands over to another needs less.
_PATIENCE: Final = 5.0

#: Seconds of a call kept back from that, so that it can say why it failed.
_RESERVE: Final = 0.5

#: Seconds a healthy connection needs at most to bring back a message of our own.
_ECHO: Final = 1.0

#: Inboxes of modules; a broker may let them use no others.
_MODULE_INBOXES: Final = "_INBOX_MODULES"

#: What the broker answers for a subject without subscribers.
_NO_RESPONDERS: Final = "503"


class _NotSent(TransportError):
    """Nobody has the request; ``error`` is what to raise when there is no time left."""

    def __init__(self, error: TransportError) -> None:
        super().__init__(str(error))
        self.error = error


class _Lost(TransportError):
    """The connection was lost after the request was sent, or hands over no replies."""


@dataclass(frozen=True, slots=True)
class _Call:
    what: str
    subject: str
    body: bytes
    repeatable: bool
    patience: float
    deadline: float
    seconds: float

    @property
    def left(self) -> float:
        return self.deadline - asyncio.get_running_loop().time()

    def part(self, subject: str, body: bytes) -> _Call:
        """A call on behalf of this one, within its time."""
        return _Call(self.what, subject, body, False, 0, self.deadline, self.seconds)


@final
class Transport:
    """Calls to services behind a broker.

    Building one does no I/O and needs no event loop; the first call connects. It belongs to the
    loop it is used in until it is closed or that loop is.

    Args:
        settings: Where the broker is, or its url.
        token: Signs the calls.
        timeout: Seconds a call may take, connecting and repeating included.
        name: What the broker's operator sees.
        inbox_prefix: Where replies arrive.
    """

    def __init__(
        self,
        settings: BrokerSettings | str,
        *,
        token: TokenSource,
        timeout: float = CALL_TIMEOUT,
        name: str = "naas-abi-sdk",
        inbox_prefix: str = _MODULE_INBOXES,
    ) -> None:
        self.settings = BrokerSettings(settings) if isinstance(settings, str) else settings
        self.timeout = timeout
        self._token = token
        self._name = name
        self._inbox_prefix = inbox_prefix
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: Connection | None = None
        self._opening: asyncio.Task[Connection] | None = None
        self._is_closed = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop it is used in, None before the first call."""
        return self._loop

    async def call(
        self,
        subject: str,
        request: Any,
        response_type: type[R],
        *,
        what: str = "",
        repeatable: bool = False,
        patient: bool = True,
    ) -> R:
        """Send ``request`` and return the response.

        Args:
            subject: Where to.
            request: A message of the wire contract; its ``context`` is filled in.
            response_type: The message that answers it.
            what: The call for people, for its errors; the subject if empty.
            repeatable: Whether sending it twice leaves the same state and the same answer.
            patient: Whether to wait for somebody to serve the subject.

        Raises:
            ABIError: the error the response holds, or one of ``TransportError``.
        """
        seconds = self.timeout
        request.context.trace_id = str(uuid4())
        request.context.timeout_ms = int(seconds * 1000)
        call = _Call(
            what or subject,
            subject,
            request.SerializeToString(),
            repeatable,
            min(_PATIENCE, seconds - _RESERVE) if patient else 0,
            asyncio.get_running_loop().time() + seconds,
            seconds,
        )
        return read_response(call.what, await self._reply(call), response_type)

    async def max_payload(self) -> int:
        """Bytes of a message that the broker takes at most; connects if need be."""
        now = asyncio.get_running_loop().time()
        call = _Call("connect", "", b"", True, 0, now + self.timeout, self.timeout)
        return (await self._connected(call)).max_payload

    async def check(self) -> None:
        """Return if calls can be made now, or raise why not; opens another connection if need be.

        Raises:
            TransportError: the broker cannot be reached, or hands over no replies.
        """
        now = asyncio.get_running_loop().time()
        call = _Call("check", "", b"", False, 0, now + 2 * _ECHO, 2 * _ECHO)
        connection = await self._connected(call)
        if not await connection.hears_itself(min(_ECHO, call.left)):
            connection.give_up()
            message = f"the connection to {self.settings.place} hands over no replies; give it up"
            raise Unavailable(message)

    async def open(self) -> None:
        """Connect now, also after :meth:`close`; otherwise the first call does."""
        self._is_closed = False
        await self.max_payload()

    async def close(self) -> None:
        """Close the connection; calls under way and later ones fail. Closing again is fine."""
        self._bind()
        self._is_closed = True
        opening, self._opening = self._opening, None
        connection, self._connection = self._connection, None
        self._loop = None
        if opening is not None:
            opening.cancel()
            await asyncio.wait([opening])
            if not opening.cancelled() and opening.exception() is None:
                await opening.result().close()
        if connection is not None:
            await connection.close()

    async def _reply(self, call: _Call) -> Msg | bytes:
        started = asyncio.get_running_loop().time()
        pause = _FIRST_PAUSE
        while True:
            connection = await self._connected(call)
            try:
                return await self._exchange(connection, call)
            except _NotSent as failure:
                waited = asyncio.get_running_loop().time() - started
                if waited >= call.patience:
                    raise failure.error from None
                # The last request goes out when the patience ends.
                await asyncio.sleep(min(pause, call.patience - waited))
                pause = min(2 * pause, _LAST_PAUSE)
            except _Lost:
                await self._may_repeat(call)

    async def _may_repeat(self, call: _Call) -> None:
        """Return if the lost request may be sent again."""
        if call.repeatable:
            return
        connection = await self._connected(call)
        if message_size(call.body, self._headers()) > connection.max_payload:
            return  # The broker's limit was lowered: it refused the request and hung up.
        message = (
            f"{call.what}: the connection to {self.settings.place} was lost before the answer; "
            "whether the request was done is unknown"
        )
        raise Unavailable(message)

    async def _exchange(self, connection: Connection, call: _Call) -> Msg | bytes:
        """The reply to ``call``, whatever the sizes of both."""
        headers = self._headers()
        ask = partial(self._ask_part, connection, call)
        transfer = None
        if message_size(call.body, headers) > connection.max_payload:
            transfer = await self._upload(connection, call, ask)
            headers[OVERFLOW_REQUEST_HEADER] = transfer
        body = b"" if transfer else call.body
        reply = await self._ask(connection, call, body, headers)
        if transfer:
            await overflow.close(ask, transfer)
        parked = (reply.headers or {}).get(OVERFLOW_REPLY_HEADER)
        if parked is None:
            return reply
        try:
            size = int((reply.headers or {})[OVERFLOW_SIZE_HEADER])
            return await overflow.download(ask, parked, size)
        except _NotSent:
            # Who answered is gone, and the answer with it.
            raise _Lost from None

    def _headers(self) -> dict[str, str]:
        return {TOKEN_HEADER: self._token.token(), OVERFLOW_HEADER: "1"}

    async def _upload(self, connection: Connection, call: _Call, ask: overflow.Ask) -> str:
        try:
            return await overflow.upload(ask, call.body, connection.max_payload)
        except _NotSent:
            message = (
                f"{call.what}: the request of {len(call.body)} bytes is above the "
                f"{connection.max_payload} that the broker takes, and no engine takes it in pieces"
            )
            raise _NotSent(PayloadTooLarge(message)) from None
        except _Lost:
            message = f"{call.what}: the connection was lost while the request was sent in pieces"
            raise _NotSent(Unavailable(message)) from None

    async def _ask_part(
        self,
        connection: Connection,
        call: _Call,
        subject: str,
        request: Any,
        response_type: type[R],
    ) -> R:
        request.context.timeout_ms = max(int(call.left * 1000), 1)
        part = call.part(subject, request.SerializeToString())
        headers = {TOKEN_HEADER: self._token.token()}
        reply = await self._ask(connection, part, part.body, headers)
        return read_response(part.what, reply, response_type)

    async def _ask(
        self, connection: Connection, call: _Call, body: bytes, headers: dict[str, str]
    ) -> Msg:
        with connection.expecting(call.subject) as expected:
            send = partial(
                connection.publish, call.subject, body, reply=expected.inbox, headers=headers
            )
            if not await send(seconds=call.left):
                message = f"{call.what}: the connection to {self.settings.place} is closed"
                raise _NotSent(Unavailable(message))
            reply = await self._awaited(connection, call, expected, send)
        if not reply.data and (reply.headers or {}).get("Status") == _NO_RESPONDERS:
            message = f"{call.what}: nobody serves {call.subject} at {self.settings.place}"
            raise _NotSent(NobodyServes(message))
        return reply

    async def _awaited(
        self, connection: Connection, call: _Call, expected: Expected, send: Any
    ) -> Msg:
        doubt_at = call.left / 2
        reply: Msg | None = None
        while reply is None:
            if expected.refused is not None:
                raise expected.refused
            if connection.over or (expected.lost and call.repeatable):
                raise _Lost
            # Else its reply may still come, as the inbox is heard again after a reconnect.
            expected.lost = False
            if call.left <= 0:
                raise DeadlineExceeded(self._silence(call))
            reply = await expected.wait(call.left - max(doubt_at, 0))
            if reply is None and 0 < call.left <= doubt_at:
                doubt_at = 0
                await self._doubt(connection, call)
                if call.repeatable:
                    await send(seconds=call.left)
        return reply

    async def _doubt(self, connection: Connection, call: _Call) -> None:
        """Find out whether the silence is the service's; else give the connection up."""
        if not await connection.hears_itself(min(_ECHO, call.left / 2)):
            connection.give_up()
            raise _Lost

    def _silence(self, call: _Call) -> str:
        outcome = "" if call.repeatable else "; whether it was done is unknown"
        return (
            f"{call.what}: no answer from {call.subject} at {self.settings.place} "
            f"within {call.seconds:g} s{outcome}"
        )

    async def _connected(self, call: _Call) -> Connection:
        """The connection, usable; raises why there is none in time."""
        self._bind()
        while True:
            connection = self._connection
            if self._is_closed:
                message = f"{call.what}: the client of {self.settings.place} is closed"
                raise Unavailable(message)
            if connection is None or connection.over:
                await self._open(call)
            elif await connection.becomes_usable(call.left):
                return connection
            elif call.left <= 0:
                message = f"{call.what}: the connection to {self.settings.place} is lost"
                raise Unavailable(message)

    async def _open(self, call: _Call) -> None:
        """Wait for a connection to be opened, together with every other call that needs one."""
        if self._opening is None:
            opening = Connection.open(
                self.settings,
                name=self._name,
                inbox_prefix=self._inbox_prefix,
                # Ends before the call does, which can then say what was wrong.
                seconds=max(call.left * 0.9, 0),
            )
            self._opening = asyncio.get_running_loop().create_task(opening)
            self._opening.add_done_callback(_seen)
        opened = self._opening
        await asyncio.wait([opened], timeout=max(call.left, 0))
        if not opened.done():
            raise DeadlineExceeded(f"{call.what}: no connection to {self.settings.place} in time")
        if self._opening is not opened:
            return
        self._opening = None
        if opened.cancelled():
            return
        failure = opened.exception()
        if isinstance(failure, Unavailable) and call.left > _FIRST_PAUSE:
            # Whoever began to open had less time than this call has.
            await asyncio.sleep(_FIRST_PAUSE)
            return
        self._connection = opened.result()

    def _bind(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._loop is not None and not self._loop.is_closed():
            message = (
                "this client is used in another event loop that is not closed; close the client "
                "there, or build one for each loop"
            )
            raise RuntimeError(message)
        self._loop, self._connection, self._opening = loop, None, None


def _seen(task: asyncio.Task[Connection]) -> None:
    """Every call that waited may be gone; then nobody must be warned of the failure."""
    if not task.cancelled():
        task.exception()
