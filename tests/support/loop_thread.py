"""An event loop in a thread of its own, and asynchronous savers used in it from outside."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, final

from langgraph.checkpoint.base import BaseCheckpointSaver

from tests.contracts.savers import STEP, Async


@final
class LoopThread:
    """A loop that runs until the block ends; what was started in it must have ended by then."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self) -> LoopThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(20)
        self.loop.close()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """What ``coroutine`` returns in the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)


class InLoop(Async):
    """A saver through its async methods, in the one loop that it belongs to."""

    def __init__(self, saver: BaseCheckpointSaver[Any], thread: LoopThread) -> None:
        super().__init__(saver)
        self._run = thread.run

    def put(self, at: Any, checkpoint: Any, metadata: Any = STEP) -> Any:
        versions = checkpoint["channel_versions"]
        return self._run(self.saver.aput(at, checkpoint, metadata, versions))

    def put_writes(self, at: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._run(self.saver.aput_writes(at, writes, task_id, task_path))

    def get_tuple(self, at: Any) -> Any:
        return self._run(self.saver.aget_tuple(at))

    def list(self, at: Any, **arguments: Any) -> list[Any]:
        async def collect() -> list[Any]:
            return [item async for item in self.saver.alist(at, **arguments)]

        found: list[Any] = self._run(collect())
        return found

    def delete_thread(self, thread_id: str) -> None:
        self._run(self.saver.adelete_thread(thread_id))
