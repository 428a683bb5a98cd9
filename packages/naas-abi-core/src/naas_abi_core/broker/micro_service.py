"""Makes endpoints a NATS micro service, which standard tools find and describe.

It answers ``$SRV.PING``, ``INFO`` and ``STATS`` in the usual shapes. nats-py's own ``Service`` is
not used: it repeats a request's headers, and so the caller's token, in its answers, and drops what
it has received when it stops.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any, final
from uuid import uuid4

from nats.aio.client import Client
from nats.micro.service import (
    EndpointInfo,
    EndpointStats,
    ServiceInfo,
    ServicePing,
    ServiceStats,
    ServiceVerb,
    control_subject,
)

from naas_abi_core.broker.answering import Answering, Endpoint, Reply, Request

__all__ = ["MicroService"]


@final
class MicroService:
    """A named service from :meth:`start` to :meth:`stop`.

    Args:
        client: A connected client; whoever opened it closes it.
        name: What the service is called.
        version: Its version, three numbers.
        endpoints: What it answers.
        max_concurrent: Calls handled at once, see :class:`Answering`.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        version: str,
        endpoints: Sequence[Endpoint],
        *,
        max_concurrent: int,
    ) -> None:
        self._identity: dict[str, Any] = {
            "id": uuid4().hex,
            "name": name,
            "version": version,
            "metadata": {},
        }
        self._endpoints = endpoints
        self._started = datetime.now(timezone.utc)
        self._answering = Answering(client, endpoints, max_concurrent=max_concurrent)
        self._discovery = Answering(client, list(self._described()), max_concurrent=1)

    async def start(self) -> None:
        """Answer requests from here on; returns when the broker knows."""
        await self._discovery.start()
        await self._answering.start()

    async def stop(self) -> None:
        """Take no more requests, and return when all that were accepted are answered."""
        await self._answering.stop()
        await self._discovery.stop()

    def _described(self) -> Sequence[Endpoint]:
        name, id_ = self._identity["name"], self._identity["id"]
        return [
            Endpoint(verb.value, subject, "", _answer_with(describe))
            for verb, describe in (
                (ServiceVerb.PING, self._ping),
                (ServiceVerb.INFO, self._info),
                (ServiceVerb.STATS, self._stats),
            )
            for subject in (
                control_subject(verb),
                control_subject(verb, name),
                control_subject(verb, name, id_),
            )
        ]

    def _ping(self) -> dict[str, Any]:
        return ServicePing(**self._identity).to_dict()

    def _info(self) -> dict[str, Any]:
        endpoints = [
            EndpointInfo(each.name, each.subject, each.queue, {}) for each in self._endpoints
        ]
        return ServiceInfo(**self._identity, description="", endpoints=endpoints).to_dict()

    def _stats(self) -> dict[str, Any]:
        endpoints = [
            EndpointStats(
                name=each.name,
                subject=each.subject,
                queue_group=each.queue,
                num_requests=each.requests,
                num_errors=each.errors,
                last_error=each.last_error,
                processing_time=each.nanoseconds,
                average_processing_time=each.nanoseconds // max(each.requests, 1),
            )
            for each in self._endpoints
        ]
        return ServiceStats(**self._identity, started=self._started, endpoints=endpoints).to_dict()


def _answer_with(describe: Callable[[], dict[str, Any]]) -> Any:
    async def answer(_: Request) -> Reply:
        return Reply(json.dumps(describe()).encode())

    return answer
