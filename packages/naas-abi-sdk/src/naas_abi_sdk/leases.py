"""Holding a run lease: its clock, its token, and the task that renews it in an event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from naas_abi_sdk.document.commands import Operation
from naas_abi_sdk.errors import DocumentError, RunLeaseConflict, TransportError
from naas_abi_sdk.langgraph_documents import Memory
from naas_abi_sdk.langgraph_documents.leasing import RunLease, acquire, release, renew

__all__ = ["held_lease", "taken", "utc_now"]

logger = logging.getLogger(__name__)


def utc_now() -> datetime:
    """The time, aware."""
    return datetime.now(timezone.utc)


def taken(memory: Memory, thread_id: str, ttl: float, holder: str | None) -> Operation[RunLease]:
    """Take a thread's lease now, as host name and process id if ``holder`` is None."""
    return acquire(
        memory,
        thread_id,
        token=uuid4().hex,
        holder=holder or f"{socket.gethostname()}:{os.getpid()}",
        now=utc_now(),
        ttl=ttl,
    )


@asynccontextmanager
async def held_lease(
    memory: Memory,
    run: Callable[[Operation[Any]], Awaitable[Any]],
    thread_id: str,
    ttl: float,
    holder: str | None,
) -> AsyncIterator[RunLease]:
    """Take a thread's lease, renew it three times within ``ttl``, and let go of it at the end."""
    lease: RunLease = await run(taken(memory, thread_id, ttl, holder))
    renewing = asyncio.create_task(_renew(run, lease))
    try:
        yield lease
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing
        await run(release(lease))


async def _renew(run: Callable[[Operation[Any]], Awaitable[Any]], lease: RunLease) -> None:
    while True:
        await asyncio.sleep(lease.ttl / 3)
        try:
            await run(renew(lease, utc_now()))
        except RunLeaseConflict:
            return  # what the turn stores next is refused, and says so
        except (DocumentError, TransportError):
            logger.warning(
                "the run lease of thread %r could not be renewed; trying again",
                lease.thread_id,
                exc_info=True,
            )
