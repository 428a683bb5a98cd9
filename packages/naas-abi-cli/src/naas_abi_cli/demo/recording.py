"""Watches the saver of the conversation through the engine's own hooks, without changing it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, final

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

from naas_abi_cli.demo.protocol import Acknowledged, Stored, tell
from naas_abi_core.plugins.specs import CheckpointerContext, CheckpointerOffer, hookimpl
from naas_abi_core.services.document.factory import create_adapter
from naas_abi_core.services.document.metering import MeteredDocuments
from naas_abi_core.services.document.port import DocumentPort

__all__ = ["RecordingPlugin", "RecordingSaver", "digest"]


@final
class RecordingSaver(BaseCheckpointSaver[Any]):
    """Passes every call on to ``saver`` and tells what each write cost once it has returned."""

    def __init__(self, saver: BaseCheckpointSaver[Any], meter: MeteredDocuments) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._meter = meter
        # LangGraph stores pending writes in threads of their own; each is to be measured alone.
        self._alone = Lock()
        self.turn = 0

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and tell its acknowledgement."""
        snapshot = self._serialized(checkpoint) + self._serialized(metadata)
        messages = checkpoint["channel_values"].get("messages", [])
        acknowledged = Acknowledged(checkpoint["id"], digest(messages))
        with self._measured(snapshot, acknowledged):
            return self._saver.put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store pending writes; a saver of full snapshots stores them as well."""
        snapshot = sum(self._serialized(value) for _, value in writes)
        with self._measured(snapshot):
            self._saver.put_writes(config, writes, task_id, task_path)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Passed on."""
        return self._saver.get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 -- LangGraph's word
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Passed on."""
        return self._saver.list(config, filter=filter, before=before, limit=limit)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Passed on."""
        return self._saver.get_next_version(current, channel)

    def _serialized(self, value: Any) -> int:
        return len(self.serde.dumps_typed(value)[1])

    @contextmanager
    def _measured(self, snapshot: int, checkpoint: Acknowledged | None = None) -> Iterator[None]:
        with self._alone:
            before = self._meter.usage()
            yield
            used = self._meter.usage() - before
            tell(
                Stored(
                    turn=self.turn,
                    documents=used.total.written,
                    size=used.total.bytes_written,
                    transactions=used.transactions,
                    snapshot_size=snapshot,
                    checkpoint=checkpoint,
                )
            )


@final
class RecordingPlugin:
    """Offers the engine's own store and saver, each watched."""

    def __init__(self) -> None:
        self._meter: MeteredDocuments | None = None
        self.saver: RecordingSaver | None = None

    @hookimpl
    def abi_document_adapter(
        self, name: str, config: Mapping[str, Any]
    ) -> Callable[[], DocumentPort]:
        """The configured store, metered."""

        def opened() -> DocumentPort:
            self._meter = MeteredDocuments(create_adapter(name, config))
            return self._meter

        return opened

    @hookimpl
    def abi_checkpointer(self, context: CheckpointerContext) -> CheckpointerOffer | None:
        """The engine's saver, recorded."""
        if context.engine_checkpointer is None or self._meter is None:
            return None
        saver = RecordingSaver(context.engine_checkpointer, self._meter)

        def opened() -> BaseCheckpointSaver[Any]:
            self.saver = saver
            return saver

        return CheckpointerOffer("the engine's saver, recorded", context.engine_reason, opened)


def digest(messages: Sequence[BaseMessage]) -> str:
    """Tells two states of a conversation apart: kind, id and text of every message."""
    told = json.dumps([[message.type, message.id, str(message.text)] for message in messages])
    return hashlib.sha256(told.encode()).hexdigest()
