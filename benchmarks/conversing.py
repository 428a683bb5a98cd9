"""A chat over an opened saver, driven as its kind is: called, or awaited on one loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack
from typing import Any, Protocol, TypeVar, cast, final

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from benchmarks.chat import RESULT_SIZE, build_graph, config, question
from benchmarks.peers import Peer
from benchmarks.stores import Store

__all__ = ["Conversing", "open_conversing"]

T = TypeVar("T")


class Conversing(Protocol):
    """A chat and the saver under it. One thread uses it; ``crowd`` brings others."""

    saver: BaseCheckpointSaver[Any]

    def turn(self, thread_id: str, number: int) -> None:
        """Have one turn of a conversation."""

    def load(self, thread_id: str) -> CheckpointTuple | None:
        """Load a thread's newest checkpoint."""

    def state(self, thread_id: str) -> Any:
        """Load a thread's newest state, as the graph has it."""

    def history(self, thread_id: str | None, limit: int | None) -> Sequence[CheckpointTuple]:
        """List checkpoints, of all threads if none is named."""

    def crowd(self, thread_ids: Sequence[str], turns: int) -> list[BaseException]:
        """Have conversations all at once; returns what went wrong."""

    def close(self) -> None:
        """Close the saver."""


def open_conversing(
    peer: Peer, store: Store, channel: str, *, result_size: int = RESULT_SIZE
) -> Conversing:
    """Open ``peer`` on ``store``, as a new process would, and build the chat over it."""
    made: type[_Called | _Awaited] = _Awaited if peer.is_async else _Called
    return made(peer, store, channel, result_size)


@final
class _Called:
    def __init__(self, peer: Peer, store: Store, channel: str, result_size: int) -> None:
        self._exits = ExitStack()
        opened = cast("AbstractContextManager[BaseCheckpointSaver[Any]]", peer.open(store))
        self.saver = self._exits.enter_context(opened)
        self._graph = build_graph(self.saver, channel, result_size=result_size)

    def turn(self, thread_id: str, number: int) -> None:
        self._graph.invoke(question(thread_id, number), config(thread_id))

    def load(self, thread_id: str) -> CheckpointTuple | None:
        return self.saver.get_tuple(config(thread_id))

    def state(self, thread_id: str) -> Any:
        return self._graph.get_state(config(thread_id))

    def history(self, thread_id: str | None, limit: int | None) -> Sequence[CheckpointTuple]:
        return list(self.saver.list(config(thread_id) if thread_id else None, limit=limit))

    def crowd(self, thread_ids: Sequence[str], turns: int) -> list[BaseException]:
        def converse(thread_id: str) -> None:
            for number in range(turns):
                self.turn(thread_id, number)

        with ThreadPoolExecutor(len(thread_ids)) as pool:
            running = [pool.submit(converse, thread_id) for thread_id in thread_ids]
        return [error for ran in running if (error := ran.exception()) is not None]

    def close(self) -> None:
        self._exits.close()


@final
class _Awaited:
    def __init__(self, peer: Peer, store: Store, channel: str, result_size: int) -> None:
        self._runner = asyncio.Runner()
        self._exits = AsyncExitStack()
        self.saver = self._run(self._enter(peer.open(store)))
        self._graph = build_graph(self.saver, channel, result_size=result_size)

    def turn(self, thread_id: str, number: int) -> None:
        self._run(self._turn(thread_id, number))

    def load(self, thread_id: str) -> CheckpointTuple | None:
        return self._run(self.saver.aget_tuple(config(thread_id)))

    def state(self, thread_id: str) -> Any:
        return self._run(self._graph.aget_state(config(thread_id)))

    def history(self, thread_id: str | None, limit: int | None) -> Sequence[CheckpointTuple]:
        async def listed() -> list[CheckpointTuple]:
            at = config(thread_id) if thread_id else None
            return [item async for item in self.saver.alist(at, limit=limit)]

        return self._run(listed())

    def crowd(self, thread_ids: Sequence[str], turns: int) -> list[BaseException]:
        async def converse(thread_id: str) -> None:
            for number in range(turns):
                await self._turn(thread_id, number)

        async def together() -> list[BaseException | None]:
            running = [converse(thread_id) for thread_id in thread_ids]
            return await asyncio.gather(*running, return_exceptions=True)

        return [error for error in self._run(together()) if error is not None]

    def close(self) -> None:
        self._run(self._exits.aclose())
        self._runner.close()

    async def _enter(self, opened: Any) -> BaseCheckpointSaver[Any]:
        if hasattr(opened, "__aenter__"):
            return await self._exits.enter_async_context(opened)
        return self._exits.enter_context(opened)

    async def _turn(self, thread_id: str, number: int) -> None:
        await self._graph.ainvoke(question(thread_id, number), config(thread_id))

    def _run(self, running: Coroutine[Any, Any, T]) -> T:
        # Not Runner.run: setting SIGINT back, it has the task's result written out, all messages.
        return self._runner.get_loop().run_until_complete(running)
