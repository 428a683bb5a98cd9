"""The synchronous checkpoint saver, over a namespace of the engine's own document service.

Each method is one operation of ``naas_abi_sdk.langgraph_documents``, where every decision is
made. The async methods run the same operations in a worker thread, so they never block a loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from naas_abi_core.services.agent.memory.leases import held_lease
from naas_abi_sdk.document.commands import Command, Operation
from naas_abi_sdk.document.driving import iterate, run
from naas_abi_sdk.document.performing import Documents, perform
from naas_abi_sdk.langgraph_documents import Memory, next_version, operations
from naas_abi_sdk.langgraph_documents.caching import ValueCache
from naas_abi_sdk.langgraph_documents.copying import copy_thread
from naas_abi_sdk.langgraph_documents.deltas import delta_history
from naas_abi_sdk.langgraph_documents.faithful import FaithfulSerializer
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

if TYPE_CHECKING:
    from naas_abi_core.services.document.service import DocumentRoot

__all__ = ["ENGINE_AGENT_ID", "ENGINE_NAMESPACE", "DocumentCheckpointSaver"]

R = TypeVar("R")

#: Namespace that every engine agent's memory is kept in.
ENGINE_NAMESPACE = "naas_abi_core.services.agent"

#: Scope of engine agents in that namespace: they share their threads.
ENGINE_AGENT_ID = "engine.v1"


@final
class DocumentCheckpointSaver(BaseCheckpointSaver[Any]):
    """Keeps LangGraph checkpoints as increments in a document store.

    Building one does no I/O; collections are declared when first written to. Safe to use from
    many threads and event loops at once, and to share between graphs.

    Args:
        documents: The namespace to keep them in, e.g. a ``DocumentService``.
        agent_id: Scope within the namespace; savers with the same scope share threads.
        serde: LangGraph serializer; its default when None. LangGraph's own are made faithful: what
            they would change is kept, or refused by name.
        cache_bytes: Value documents kept in memory so as not to read them again; 0 keeps none.
        copied_keys: Keys of a run's configuration that are copied into checkpoint metadata; None
            copies all, as LangGraph does, but for those that have the name of a secret.
    """

    def __init__(
        self,
        documents: Documents,
        *,
        agent_id: str,
        serde: SerializerProtocol | None = None,
        cache_bytes: int = VALUE_CACHE_BYTES,
        copied_keys: Collection[str] | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._documents = documents
        self._remembered = Memory(
            agent_id,
            self.serde,
            values=ValueCache(cache_bytes),
            copied_keys=None if copied_keys is None else frozenset(copied_keys),
        )

    @classmethod
    def for_engine(
        cls,
        root: DocumentRoot,
        *,
        allowed_types: Iterable[type | str] = (),
        copied_keys: Collection[str] | None = None,
    ) -> DocumentCheckpointSaver:
        """The saver all engine agents share, its collections declared.

        Args:
            root: The engine's document service.
            allowed_types: Classes that agents may keep in state beside the registered ones (see
                ``naas_abi_sdk.langgraph_documents.allowing``), or their dotted paths.
            copied_keys: See the class.
        """
        saver = cls(
            root.for_namespace(ENGINE_NAMESPACE),
            agent_id=ENGINE_AGENT_ID,
            serde=FaithfulSerializer(allowed_types=allowed_types),
            copied_keys=copied_keys,
        )
        saver.setup()
        return saver

    def setup(self) -> None:
        """Declare the collections now; otherwise the first write does."""
        self._run(operations.setup())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 -- versions are read from the checkpoint
    ) -> RunnableConfig:
        """Store a checkpoint; see ``operations.put``."""
        stored = self._run(operations.put(self._memory, _plain(config), checkpoint, metadata))
        return cast("RunnableConfig", stored)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store a task's pending writes; see ``operations.put_writes``."""
        self._run(operations.put_writes(self._memory, _plain(config), writes, task_id, task_path))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Load the checkpoint ``config`` names, or the latest; see ``operations.get_tuple``."""
        return self._run(operations.get_tuple(self._memory, _plain(config)))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 -- LangGraph's word
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first, read as they are taken; see ``operations.history``."""
        operation = operations.history(
            self._memory, _plain(config), filter=filter, before=_plain(before), limit=limit
        )
        return iterate(operation, self._perform)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread; see ``operations.delete_thread``."""
        self._run(operations.delete_thread(self._memory, thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what runs stored; see ``pruning.delete_for_runs``."""
        self._run(delete_for_runs(self._memory, run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread; see ``copying.copy_thread``."""
        self._run(copy_thread(self._memory, source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoints, or nothing, of threads; see ``pruning.prune``."""
        self._run(prune(self._memory, thread_ids, strategy))

    @contextmanager
    def run_lease(
        self, thread_id: str, *, ttl: float = 60.0, holder: str | None = None
    ) -> Iterator[RunLease]:
        """Hold a thread's lease for a turn: run it with the ``config`` of what this gives.

        While it is held, others who ask for it get ``RunLeaseConflict``. It is renewed in the
        background, so a turn may take as long as it likes; should the process die, others may have
        it after ``ttl`` seconds. Who lost it all the same, as after a long pause of the whole
        process, stores nothing more. Runs without a lease are not held back: they are branches.

        Args:
            thread_id: The thread.
            ttl: Seconds it is held after the last renewal.
            holder: Who is told to others to have it; host name and process id when None.
        """
        with held_lease(self._remembered, self._run, thread_id, ttl, holder) as lease:
            yield lease

    @asynccontextmanager
    async def arun_lease(
        self, thread_id: str, *, ttl: float = 60.0, holder: str | None = None
    ) -> AsyncIterator[RunLease]:
        """``run_lease``, taken and let go of in a worker thread."""
        held = self.run_lease(thread_id, ttl=ttl, holder=holder)
        lease = await asyncio.to_thread(held.__enter__)
        try:
            yield lease
        finally:
            await asyncio.to_thread(held.__exit__, None, None, None)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """What delta channels are rebuilt from; see ``deltas.delta_history``."""
        return self._run(delta_history(self._memory, _plain(config), channels))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """``get_delta_channel_history`` in a worker thread."""
        return await asyncio.to_thread(
            self.get_delta_channel_history, config=config, channels=channels
        )

    def threads(self) -> Sequence[ThreadSummary]:
        """Every thread of the scope, most recently used first; reads no values."""
        return self._run(threads(self._memory))

    def thread_ids(self) -> Sequence[str]:
        """Sorted ids of the threads that have a checkpoint."""
        return self._run(thread_ids(self._memory))

    def contains(self, config: RunnableConfig) -> bool:
        """Whether the checkpoint (or any, without id) that ``config`` names is stored."""
        return self._run(contains(self._memory, _plain(config)))

    def lineage(self, config: RunnableConfig) -> Sequence[str]:
        """Checkpoint ids from the one ``config`` names back to its first stored ancestor."""
        return self._run(lineage(self._memory, _plain(config)))

    def get_next_version(self, current: Any, channel: None) -> Any:  # noqa: ARG002 -- LangGraph's
        """The channel version after ``current``, in the kind the thread has."""
        return next_version(current)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """``put`` in a worker thread."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """``put_writes`` in a worker thread."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """``get_tuple`` in a worker thread."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 -- LangGraph's word
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """``list`` in worker threads, one item at a time; nothing is held open between items."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (item := await asyncio.to_thread(next, found, None)) is not None:
            yield item

    async def adelete_thread(self, thread_id: str) -> None:
        """``delete_thread`` in a worker thread."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """``delete_for_runs`` in a worker thread."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """``copy_thread`` in a worker thread."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """``prune`` in a worker thread."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    @property
    def _memory(self) -> Memory:
        # LangGraph swaps ``serde`` on copies of a saver; what is remembered is for all of them.
        # What a memory makes of a serializer is kept, since loaded messages are kept for it.
        self._remembered = self._remembered.with_serde(self.serde)
        return self._remembered

    def _perform(self, command: Command) -> Any:
        return perform(self._documents, command)

    def _run(self, operation: Operation[R]) -> R:
        return run(operation, self._perform)


def _plain(config: RunnableConfig | None) -> Any:
    return config
