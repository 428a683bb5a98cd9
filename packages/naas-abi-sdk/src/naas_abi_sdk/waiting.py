"""Waiting for a coroutine from a thread that has no event loop running."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import wait
from typing import Any, Final, TypeVar

__all__ = ["wait_in"]

R = TypeVar("R")

#: Seconds between two looks whether the loop still runs: who waits in a loop that ended would wait
#: for ever.
_LOOK: Final = 1.0


def wait_in(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, R]) -> R:
    """What ``coroutine`` returns, run in ``loop``, which runs in another thread.

    Raises:
        RuntimeError: the loop does not run, or ended meanwhile.
    """
    if not loop.is_running():
        coroutine.close()
        raise RuntimeError(_ENDED)
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        while not wait([future], _LOOK).done:
            if not loop.is_running():
                raise RuntimeError(_ENDED)
        return future.result()
    finally:
        future.cancel()


_ENDED: Final = "the event loop that this is used in has ended; use it in a loop that runs"
