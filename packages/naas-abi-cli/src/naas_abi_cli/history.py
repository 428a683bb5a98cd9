"""A thread's checkpoints as a list shows them, read without any of its values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from naas_abi_core.services.document.service import DocumentService
    from naas_abi_sdk.document.types import Document

__all__ = ["CheckpointSummary", "checkpoint_history"]


@dataclass(frozen=True, slots=True)
class CheckpointSummary:
    """One checkpoint.

    Attributes:
        namespace: Of the subgraph it belongs to; empty for the agent's own graph.
        checkpoint_id: Its id.
        parent_id: Of the checkpoint before it, or None.
        step: LangGraph's step, from -1; None if its metadata has none.
        source: ``input``, ``loop``, ``update`` or ``fork``.
        stored_at: When it was stored, UTC.
        size: Bytes of its own document as canonical JSON; values it shares with others not counted.
    """

    namespace: str
    checkpoint_id: str
    parent_id: str | None
    step: int | None
    source: str
    stored_at: datetime
    size: int


def checkpoint_history(
    documents: DocumentService, agent_id: str, thread_id: str, serde: Any
) -> list[CheckpointSummary]:
    """Checkpoints of all namespaces of a thread, newest first; empty if there is no such thread."""
    summaries = [
        _summary(document, serde) for document in _checkpoints(documents, agent_id, thread_id)
    ]
    return sorted(summaries, key=lambda each: (each.stored_at, each.checkpoint_id), reverse=True)


def _checkpoints(documents: DocumentService, agent_id: str, thread_id: str) -> Iterator[Document]:
    from naas_abi_sdk.document.types import Predicate
    from naas_abi_sdk.langgraph_documents import CHECKPOINTS, READ_BUDGET

    where = (Predicate("agent_id", "eq", agent_id), Predicate("thread_id", "eq", thread_id))
    cursor: str | None = None
    while True:
        page = documents.find(CHECKPOINTS, where, cursor=cursor, max_bytes=READ_BUDGET)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _summary(document: Document, serde: Any) -> CheckpointSummary:
    from naas_abi_sdk.document.encoding import canonical_size

    data = document.data
    stored = data["metadata"]
    # Metadata above 256 KiB lies in parts of its own; a list does not fetch them.
    metadata = serde.loads_typed((stored["kind"], stored["payload"])) if "payload" in stored else {}
    return CheckpointSummary(
        namespace=data["checkpoint_ns"],
        checkpoint_id=data["checkpoint_id"],
        parent_id=data["parent_id"],
        step=metadata.get("step"),
        source=str(metadata.get("source", "")),
        stored_at=document.created_at,
        size=canonical_size(data),
    )
