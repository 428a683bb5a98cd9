"""Endpoints: subjects that are answered, a bounded number of calls at once.

An answer never repeats the request's headers, which hold the caller's token.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Task
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter_ns
from typing import Final, final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

__all__ = ["Answering", "Endpoint", "Reply", "Request", "publish"]

_log = logging.getLogger(__name__)

#: Headers by which NATS tools and clients know that a service failed to answer.
_FAILURE: Final = {
    "Nats-Service-Error": "the request could not be handled",
    "Nats-Service-Error-Code": "500",
}


@final
@dataclass(frozen=True, slots=True)
class Request:
    """What a caller sent."""

    headers: Mapping[str, str]
    body: bytes


@final
@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back. ``error`` is the code of a failure, for the statistics."""

    body: bytes = b""
    headers: Mapping[str, str] | None = None
    error: str | None = None


@final
@dataclass(slots=True)
class Endpoint:
    """A subject and what answers it.

    Attributes:
        name: What statistics call it.
        subject: What it listens on.
        queue: Of the endpoints of one queue group, also in other processes, one gets a request;
            each does if there is no group.
        handler: Answers a request; None to leave it to others. It is not expected to raise.
    """

    name: str
    subject: str
    queue: str
    handler: Callable[[Request], Awaitable[Reply | None]]
    requests: int = field(default=0, init=False)
    errors: int = field(default=0, init=False)
    last_error: str | None = field(default=None, init=False)
    nanoseconds: int = field(default=0, init=False)

    def count(self, error: str | None, started: int) -> None:
        """Take one answered request into the statistics."""
        self.requests += 1
        self.nanoseconds += perf_counter_ns() - started
        if error is not None:
            self.errors += 1
            self.last_error = error


@final
class Answering:
    """Endpoints that answer from :meth:`start` to :meth:`stop`.

    Args:
        client: A connected client; whoever opened it closes it.
        endpoints: What is answered.
        max_concurrent: Calls handled at once. Later ones wait where they arrived: in the
            subscription's buffer, whose limit is nats-py's.
    """

    def __init__(
        self, client: Client, endpoints: Sequence[Endpoint], *, max_concurrent: int
    ) -> None:
        self._client = client
        self._endpoints = endpoints
        self._slots = asyncio.Semaphore(max_concurrent)
        self._running: set[Task[None]] = set()
        self._subscriptions: list[Subscription] = []

    async def start(self) -> None:
        """Answer requests from here on; returns when the broker knows."""
        for endpoint in self._endpoints:
            receive = partial(self._receive, endpoint)
            self._subscriptions.append(
                await self._client.subscribe(endpoint.subject, endpoint.queue, cb=receive)
            )
        await self._client.flush()

    async def stop(self) -> None:
        """Take no more requests, and return when all that were accepted are answered."""
        subscriptions, self._subscriptions = self._subscriptions, []
        if not self._client.is_connected:
            # Nobody asks meanwhile, and nats-py would wait for the broker to confirm.
            subscriptions = []
        ended = await asyncio.gather(
            *(_drained(subscription) for subscription in subscriptions), return_exceptions=True
        )
        for error in ended:
            if isinstance(error, nats.errors.Error):
                _log.warning("a subscription could not be ended in order: %r", error)
            elif isinstance(error, BaseException):
                raise error
        while self._running:
            await asyncio.wait(self._running)

    async def _receive(self, endpoint: Endpoint, message: Msg) -> None:
        if not message.reply:
            return  # nobody could be told how it ended
        # Waiting here keeps the subscription's next messages in its buffer.
        await self._slots.acquire()
        task = asyncio.create_task(self._answer(endpoint, message))
        self._running.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: Task[None]) -> None:
        self._running.discard(task)
        self._slots.release()

    async def _answer(self, endpoint: Endpoint, message: Msg) -> None:
        started = perf_counter_ns()
        try:
            reply = await endpoint.handler(Request(message.headers or {}, message.data))
        except Exception as error:  # noqa: BLE001 -- the service lives on
            _log.exception("%s could not be answered", endpoint.subject)
            reply = Reply(headers=_FAILURE, error=type(error).__name__)
        if reply is not None:
            endpoint.count(reply.error, started)
            await publish(self._client, message.reply, reply)


async def _drained(subscription: Subscription) -> None:
    await subscription.drain()  # type: ignore[no-untyped-call]  # nats-py gives it no types


async def publish(client: Client, subject: str, reply: Reply) -> None:
    """Send ``reply``; that it cannot be sent is logged, since its caller's deadline tells it."""
    headers = None if reply.headers is None else dict(reply.headers)
    try:
        await client.publish(subject, reply.body, headers=headers)
    except nats.errors.Error as error:
        _log.warning("a reply could not be sent: %r", error)
