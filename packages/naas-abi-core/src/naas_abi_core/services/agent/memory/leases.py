"""Holding a run lease from blocking code: the thread that renews it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from naas_abi_sdk.document.commands import Operation
from naas_abi_sdk.errors import DocumentError, RunLeaseConflict
from naas_abi_sdk.langgraph_documents import Memory
from naas_abi_sdk.langgraph_documents.leasing import RunLease, release, renew
from naas_abi_sdk.leases import taken, utc_now

__all__ = ["held_lease"]

logger = logging.getLogger(__name__)


@contextmanager
def held_lease(
    memory: Memory,
    run: Callable[[Operation[Any]], Any],
    thread_id: str,
    ttl: float,
    holder: str | None,
) -> Iterator[RunLease]:
    """Take a thread's lease, renew it three times within ``ttl``, and let go of it at the end."""
    lease: RunLease = run(taken(memory, thread_id, ttl, holder))
    over = Event()
    renewing = Thread(target=_renew, args=(run, lease, over), name="run-lease-renewal", daemon=True)
    renewing.start()
    try:
        yield lease
    finally:
        over.set()
        renewing.join()
        run(release(lease))


def _renew(run: Callable[[Operation[Any]], Any], lease: RunLease, over: Event) -> None:
    while not over.wait(lease.ttl / 3):
        try:
            run(renew(lease, utc_now()))
        except RunLeaseConflict:
            return  # what the turn stores next is refused, and says so
        except DocumentError:
            logger.warning(
                "the run lease of thread %r could not be renewed; trying again",
                lease.thread_id,
                exc_info=True,
            )
