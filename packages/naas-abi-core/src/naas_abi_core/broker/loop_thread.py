"""An event loop in a thread of its own, for blocking code that uses asynchronous clients."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from threading import Event, Lock, Thread, current_thread
from typing import Any, TypeVar, final

__all__ = ["LoopThread"]

R = TypeVar("R")


@final
class LoopThread:
    """Runs coroutines for callers in any other thread. What still runs when it closes is cancelled.

    The thread does not keep the process alive.
    """

    def __init__(self, name: str) -> None:
        self._lock = Lock()
        self._closed = False
        started = Event()
        self._thread = Thread(target=self._serve, args=(started,), name=name, daemon=True)
        self._thread.start()
        started.wait()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """What ``coroutine`` returns or raises; it is cancelled if this call is interrupted.

        Raises:
            RuntimeError: the loop is closed, or this is its own thread, which would wait for ever.
            concurrent.futures.CancelledError: the loop was closed meanwhile.
        """
        # Under the lock, so that what is scheduled comes before the end and is not forgotten.
        with self._lock:
            refused = self._closed or current_thread() is self._thread
            if not refused:
                future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        if refused:
            coroutine.close()
            why = "is closed" if self._closed else "cannot wait for itself"
            message = f"the loop of thread {self._thread.name!r} {why}"
            raise RuntimeError(message)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and wait for its thread; again has no effect."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def _serve(self, started: Event) -> None:
        async def until_closed() -> None:
            self._loop = asyncio.get_running_loop()
            self._closing = asyncio.Event()
            started.set()
            await self._closing.wait()

        with asyncio.Runner() as runner:
            runner.run(until_closed())
