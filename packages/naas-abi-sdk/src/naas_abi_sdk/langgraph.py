"""The asynchronous checkpoint saver, over a namespace of an engine's document service.

Each method is one operation of :mod:`naas_abi_sdk.langgraph_documents`, where every decision is
made; the documents are those of the engine's own saver, so threads move between the two. Failures
of the service propagate: nothing is ever kept in this process alone.

The synchronous methods are for other threads than the event loop's, such as a node that runs in a
worker thread; in the loop itself they would wait for it and block it, so there they raise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast, final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.document.commands import Command, Operation
from naas_abi_sdk.document.driving import aiterate, arun
from naas_abi_sdk.document.performing import AsyncDocuments, aperform
from naas_abi_sdk.langgraph_documents import Memory, next_version, operations
from naas_abi_sdk.langgraph_documents.caching import ValueCache
from naas_abi_sdk.langgraph_documents.copying import copy_thread
from naas_abi_sdk.langgraph_documents.deltas import delta_history
from naas_abi_sdk.langgraph_documents.leasing import RunLease
from naas_abi_sdk.langgraph_documents.listing import (
    ThreadSummary,
    contains,
    lineage,
    thread_ids,
    threads,
)
from naas_abi_sdk.langgraph_documents.pruning import delete_for_runs, prune
from naas_abi_sdk.langgraph_documents.schema import VALUE_CACHE_BYTES
from naas_abi_sdk.leases import held_lease
from naas_abi_sdk.modules.declaring import agent_memory_id
from naas_abi_sdk.waiting import wait_in

__all__ = ["DocumentCheckpointSaver"]

R = TypeVar("R")


class _Home:
    """The event loop a saver and its copies are used in; None before the first use in one."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None

    def enter(self) -> None:
        self.loop = asyncio.get_running_loop()


@final
class DocumentCheckpointSaver(BaseCheckpointSaver[Any]):
    """Keeps LangGraph checkpoints as increments in a document store behind a broker.

    Building one does no I/O and needs no event loop; collections are declared when first written
    to. It may be shared between graphs.

    Args:
        documents: The namespace to keep them in, e.g. ``ABIClient.documents``.
        agent_id: Scope within the namespace; savers with the same scope share threads.
        serde: LangGraph serializer; its default when None.
        cache_bytes: Value documents kept in memory so as not to read them again; 0 keeps none.
    """

    def __init__(
        self,
        documents: AsyncDocuments,
        *,
        agent_id: str,
        serde: SerializerProtocol | None = None,
        cache_bytes: int = VALUE_CACHE_BYTES,
    ) -> None:
        super().__init__(serde=serde)
        self._documents = documents
        self._remembered = Memory(agent_id, self.serde, values=ValueCache(cache_bytes))
        self._home = _Home()

    @classmethod
    def for_agent(
        cls, client: ABIClient, agent_name: str, *, serde: SerializerProtocol | None = None
    ) -> DocumentCheckpointSaver:
        """The saver of one agent of the client's module, with a scope of its own."""
        agent_id = agent_memory_id(client.module_id, agent_name)
        return cls(client.documents, agent_id=agent_id, serde=serde)

    async def setup(self) -> None:
        """Declare the collections now; otherwise the first write does."""
        await self._run(operations.setup())

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 -- versions are read from the checkpoint
    ) -> RunnableConfig:
        """Store a checkpoint; see ``operations.put``."""
        stored = await self._run(operations.put(self._memory, _plain(config), checkpoint, metadata))
        return cast("RunnableConfig", stored)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store a task's pending writes; see ``operations.put_writes``."""
        operation = operations.put_writes(self._memory, _plain(config), writes, task_id, task_path)
        await self._run(operation)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Load the checkpoint ``config`` names, or the latest; see ``operations.get_tuple``."""
        return await self._run(operations.get_tuple(self._memory, _plain(config)))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 -- LangGraph's word
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints, newest first, read as they are taken; see ``operations.history``."""
        self._home.enter()
        operation = operations.history(
            self._memory, _plain(config), filter=filter, before=_plain(before), limit=limit
        )
        async for item in aiterate(operation, self._perform):
            yield item

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread; see ``operations.delete_thread``."""
        await self._run(operations.delete_thread(self._memory, thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what runs stored; see ``pruning.delete_for_runs``."""
        await self._run(delete_for_runs(self._memory, run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread; see ``copying.copy_thread``."""
        await self._run(copy_thread(self._memory, source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoints, or nothing, of threads; see ``pruning.prune``."""
        await self._run(prune(self._memory, thread_ids, strategy))

    @asynccontextmanager
    async def arun_lease(
        self, thread_id: str, *, ttl: float = 60.0, holder: str | None = None
    ) -> AsyncIterator[RunLease]:
        """Hold a thread's lease for a turn: run it with the ``config`` of what this gives.

        While it is held, others who ask for it get ``RunLeaseConflict``. It is renewed in the
        background, so a turn may take as long as it likes; should the process die, others may have
        it after ``ttl`` seconds. Who lost it all the same stores nothing more. Runs without a lease
        are not held back: they are branches.

        Args:
            thread_id: The thread.
            ttl: Seconds it is held after the last renewal.
            holder: Who is told to others to have it; host name and process id when None.
        """
        async with held_lease(self._memory, self._run, thread_id, ttl, holder) as lease:
            yield lease

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """What delta channels are rebuilt from; see ``deltas.delta_history``."""
        return await self._run(delta_history(self._memory, _plain(config), channels))

    async def athreads(self) -> Sequence[ThreadSummary]:
        """Every thread of the scope, most recently used first; reads no values."""
        return await self._run(threads(self._memory))

    async def athread_ids(self) -> Sequence[str]:
        """Sorted ids of the threads that have a checkpoint."""
        return await self._run(thread_ids(self._memory))

    async def acontains(self, config: RunnableConfig) -> bool:
        """Whether the checkpoint (or any, without id) that ``config`` names is stored."""
        return await self._run(contains(self._memory, _plain(config)))

    async def alineage(self, config: RunnableConfig) -> Sequence[str]:
        """Checkpoint ids from the one ``config`` names back to its first stored ancestor."""
        return await self._run(lineage(self._memory, _plain(config)))

    def get_next_version(self, current: Any, channel: None) -> Any:  # noqa: ARG002 -- LangGraph's
        """The channel version after ``current``, in the kind the thread has."""
        return next_version(current)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """``aput`` from another thread."""
        loop = self._loop_elsewhere("put")
        return wait_in(loop, self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """``aput_writes`` from another thread."""
        loop = self._loop_elsewhere("put_writes")
        wait_in(loop, self.aput_writes(config, writes, task_id, task_path))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """``aget_tuple`` from another thread."""
        return wait_in(self._loop_elsewhere("get_tuple"), self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 -- LangGraph's word
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """``alist`` from another thread, one item at a time."""
        loop = self._loop_elsewhere("list")
        return _taken(loop, self.alist(config, filter=filter, before=before, limit=limit))

    def delete_thread(self, thread_id: str) -> None:
        """``adelete_thread`` from another thread."""
        wait_in(self._loop_elsewhere("delete_thread"), self.adelete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """``adelete_for_runs`` from another thread."""
        wait_in(self._loop_elsewhere("delete_for_runs"), self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """``acopy_thread`` from another thread."""
        loop = self._loop_elsewhere("copy_thread")
        wait_in(loop, self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """``aprune`` from another thread."""
        wait_in(self._loop_elsewhere("prune"), self.aprune(thread_ids, strategy=strategy))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """``aget_delta_channel_history`` from another thread."""
        loop = self._loop_elsewhere("get_delta_channel_history")
        return wait_in(loop, self.aget_delta_channel_history(config=config, channels=channels))

    @property
    def _memory(self) -> Memory:
        # LangGraph swaps ``serde`` on copies of a saver; what is remembered is for all of them.
        # What a memory makes of a serializer is kept, since loaded messages are kept for it.
        self._remembered = self._remembered.with_serde(self.serde)
        return self._remembered

    async def _perform(self, command: Command) -> Any:
        return await aperform(self._documents, command)

    async def _run(self, operation: Operation[R]) -> R:
        self._home.enter()
        return await arun(operation, self._perform)

    def _loop_elsewhere(self, method: str) -> asyncio.AbstractEventLoop:
        """The saver's loop, for a thread that has none; the error names the method to await."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            message = (
                f"{method}() would block the event loop it is called in; there, await "
                f"a{method}(), or run the graph with ainvoke() or astream()"
            )
            raise asyncio.InvalidStateError(message)
        if self._home.loop is None:
            message = (
                f"{method}() needs the event loop that serves this saver, and none has used it; "
                f"await setup() or a{method}() in that loop first, or run the graph with ainvoke()"
            )
            raise RuntimeError(message)
        return self._home.loop


def _taken(
    loop: asyncio.AbstractEventLoop, found: AsyncIterator[CheckpointTuple]
) -> Iterator[CheckpointTuple]:
    while (item := wait_in(loop, _next(found))) is not None:
        yield item


def _next(found: AsyncIterator[R]) -> Coroutine[Any, Any, R | None]:
    async def take() -> R | None:
        return await anext(found, None)

    return take()


def _plain(config: RunnableConfig | None) -> Any:
    return config
