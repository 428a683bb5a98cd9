"""What an engine serves over NATS, from its start to its orderly end.

Ends in this order: take no more requests and uploads, answer every request that was accepted, let
parked replies be fetched, close the connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, final

from naas_abi_core.broker.answering import Endpoint, Reply, Request
from naas_abi_core.broker.calls import Operation, failure, perform
from naas_abi_core.broker.limits import DRAIN_SECONDS, MAX_CONCURRENT, TransferLimits
from naas_abi_core.broker.loop_thread import LoopThread
from naas_abi_core.broker.micro_service import MicroService
from naas_abi_core.broker.overflow import OverflowHost
from naas_abi_core.broker.tokens import Caller, TokenVerifier
from naas_abi_sdk.connecting import BrokerSettings, close_connection, open_connection
from naas_abi_sdk.errors import PayloadTooLarge
from naas_abi_sdk.limits import CALL_TIMEOUT
from naas_abi_sdk.subjects import (
    OVERFLOW_HEADER,
    OVERFLOW_REQUEST_HEADER,
    TOKEN_HEADER,
    message_size,
)

__all__ = ["BrokerHost", "HostSettings", "HostedService"]

_log = logging.getLogger(__name__)

#: The queue group of every endpoint: what NATS micro services use by default.
_QUEUE: Final = "q"

#: Seconds without a call after which the end of an engine waits for a transfer no longer.
_FETCHED_WITHIN: Final = 2.0

#: Seconds between looks at whether transfers are still in use, at the end.
_LOOK_AGAIN: Final = 0.05


@final
@dataclass(frozen=True, slots=True)
class HostedService:
    """A service by name, version and operations; ``prefix`` and an operation is its subject."""

    name: str
    version: str
    prefix: str
    operations: Sequence[Operation[Any, Any]]


@final
@dataclass(frozen=True, slots=True)
class HostSettings:
    """How services are hosted.

    Attributes:
        broker: Where the broker is.
        secret: The project's secret, which tokens are verified with.
        own_namespace_only: Whether a module reaches only the namespace called as its id.
        max_concurrent: Calls of one service at once, each in a thread of its own.
        overflow: What is held of values larger than the broker's messages; None for nothing.
        connect_seconds: How long to try to reach the broker at first.
        drain_seconds: How long :meth:`BrokerHost.close` waits for accepted calls.
    """

    broker: BrokerSettings
    secret: str = field(repr=False)
    own_namespace_only: bool = False
    max_concurrent: int = MAX_CONCURRENT
    overflow: TransferLimits | None = field(default_factory=TransferLimits)
    connect_seconds: float = CALL_TIMEOUT
    drain_seconds: float = DRAIN_SECONDS


@final
class BrokerHost:
    """Serves until :meth:`close`, in threads of its own.

    Raises:
        Unavailable: the broker cannot be reached, or refuses the connection.
    """

    def __init__(self, settings: HostSettings, services: Sequence[HostedService]) -> None:
        self._settings = settings
        self._verifier = TokenVerifier(
            settings.secret, own_namespace_only=settings.own_namespace_only
        )
        self._workers: list[ThreadPoolExecutor] = []
        self._loop = LoopThread("abi-services")
        self._closed = False
        try:
            self._loop.run(self._start(services))
        except BaseException:
            self._loop.close()
            raise

    def close(self) -> None:
        """Stop in order; again has no effect."""
        if self._closed:
            return
        self._closed = True
        try:
            self._loop.run(self._stop())
        finally:
            self._loop.close()
            for workers in self._workers:
                workers.shutdown(wait=False, cancel_futures=True)

    async def _start(self, services: Sequence[HostedService]) -> None:
        settings = self._settings
        self._client = await open_connection(
            settings.broker, name="abi engine", timeout=settings.connect_seconds
        )
        try:
            self._overflow: OverflowHost | None = None
            if settings.overflow is not None:
                self._overflow = OverflowHost(self._client, self._verifier, settings.overflow)
                await self._overflow.start()
            self._services = [self._service(service) for service in services]
            for service in self._services:
                await service.start()
        except BaseException:
            await close_connection(self._client)
            raise

    def _service(self, service: HostedService) -> MicroService:
        workers = ThreadPoolExecutor(self._settings.max_concurrent, f"abi-{service.name}")
        self._workers.append(workers)
        return MicroService(
            self._client,
            service.name,
            service.version,
            [
                Endpoint(
                    operation.name,
                    f"{service.prefix}{operation.name}",
                    _QUEUE,
                    partial(self._answer, operation, workers),
                )
                for operation in service.operations
            ],
            max_concurrent=self._settings.max_concurrent,
        )

    async def _answer(
        self, operation: Operation[Any, Any], workers: ThreadPoolExecutor, request: Request
    ) -> Reply:
        try:
            caller = self._verifier.verify(request.headers.get(TOKEN_HEADER))
            body = await self._body(request, caller)
            limit = self._client.max_payload
            reply = await asyncio.get_running_loop().run_in_executor(
                workers, perform, operation, caller, body, limit
            )
            return self._fit(request, caller, reply)
        except Exception as error:  # noqa: BLE001 -- every failure is told to the caller
            return failure(operation.response, error)

    async def _body(self, request: Request, caller: Caller) -> bytes:
        transfer = request.headers.get(OVERFLOW_REQUEST_HEADER)
        if transfer is None:
            return request.body
        if self._overflow is None:
            message = "this engine takes no request that is larger than the broker's messages"
            raise PayloadTooLarge(message)
        return await self._overflow.fetch(transfer, caller, request.headers[TOKEN_HEADER])

    def _fit(self, request: Request, caller: Caller, reply: Reply) -> Reply:
        limit = self._client.max_payload
        if message_size(reply.body, reply.headers) <= limit:
            return reply
        if self._overflow is None or request.headers.get(OVERFLOW_HEADER) != "1":
            message = f"the reply of {len(reply.body)} bytes exceeds the broker's {limit}"
            raise PayloadTooLarge(message)
        return self._overflow.park(caller, reply)

    async def _stop(self) -> None:
        try:
            async with asyncio.timeout(self._settings.drain_seconds):
                if self._overflow is not None:
                    await self._overflow.stop_opening()
                await asyncio.gather(*(service.stop() for service in self._services))
                if self._overflow is not None:
                    while self._overflow.transfers.in_use(_FETCHED_WITHIN):  # noqa: ASYNC110 -- what ends it is that time passes
                        await asyncio.sleep(_LOOK_AGAIN)
                    await self._overflow.stop()
                if self._client.is_connected:
                    await self._client.flush()
        except TimeoutError:
            _log.warning(
                "calls were still being answered after %s seconds; they are given up",
                self._settings.drain_seconds,
            )
        finally:
            await close_connection(self._client)
