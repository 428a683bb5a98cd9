"""What there is, without reading any of it: threads, and chains of checkpoints.

These operations ask for ids only, so their cost does not depend on the size of the conversations.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from naas_abi_sdk.document.commands import Find, Operation
from naas_abi_sdk.langgraph_documents._langgraph import RunnableConfig
from naas_abi_sdk.langgraph_documents.configuring import address
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.reading import equals, pages, read_together
from naas_abi_sdk.langgraph_documents.schema import CHECKPOINTS
from naas_abi_sdk.limits import MAX_PAGE_SIZE

__all__ = ["ThreadSummary", "contains", "lineage", "threads"]


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """A thread as a list shows it.

    ``checkpoints`` counts all namespaces; ``latest_checkpoint_id`` is the root namespace's
    greatest id, or the greatest of all where the root has none; the times are those of the
    first and last checkpoint stored, in UTC.
    """

    thread_id: str
    checkpoints: int
    latest_checkpoint_id: str
    created_at: datetime
    updated_at: datetime


def threads(memory: Memory) -> Operation[list[ThreadSummary]]:
    """Every thread of the scope, the most recently used first."""
    query = Find(
        CHECKPOINTS,
        equals(agent_id=memory.agent_id),
        limit=MAX_PAGE_SIZE,
        fields=("thread_id", "checkpoint_ns", "checkpoint_id"),
    )
    latest: dict[str, tuple[bool, str]] = {}
    times: dict[str, list[datetime]] = {}
    for document in (yield from pages(query)):
        thread_id = document.data["thread_id"]
        rank = (document.data["checkpoint_ns"] == "", document.data["checkpoint_id"])
        latest[thread_id] = max(rank, latest.get(thread_id, rank))
        times.setdefault(thread_id, []).append(document.created_at)
    summaries = [
        ThreadSummary(thread_id, len(stored), latest[thread_id][1], min(stored), max(stored))
        for thread_id, stored in times.items()
    ]
    return sorted(summaries, key=lambda item: (item.updated_at, item.thread_id), reverse=True)


def contains(memory: Memory, config: RunnableConfig) -> Operation[bool]:
    """Whether the checkpoint that ``config`` names, or any of its namespace, is stored."""
    at = address(config)
    where = equals(agent_id=memory.agent_id, thread_id=at.thread_id, checkpoint_ns=at.checkpoint_ns)
    if at.checkpoint_id is not None:
        where += equals(checkpoint_id=at.checkpoint_id)
    (page,) = yield from read_together([Find(CHECKPOINTS, where, limit=1, fields=())])
    return bool(page.items)


def lineage(memory: Memory, config: RunnableConfig) -> Operation[list[str]]:
    """Checkpoint ids from the one ``config`` names (or the greatest) back to its first ancestor.

    The chain ends where a parent is not stored. Empty when the checkpoint itself is not.
    """
    at = address(config)
    where = equals(agent_id=memory.agent_id, thread_id=at.thread_id, checkpoint_ns=at.checkpoint_ns)
    query = Find(CHECKPOINTS, where, limit=MAX_PAGE_SIZE, fields=("checkpoint_id", "parent_id"))
    parents = {
        document.data["checkpoint_id"]: document.data["parent_id"]
        for document in (yield from pages(query))
    }
    current: str | None = at.checkpoint_id or max(parents, default=None)
    chain: list[str] = []
    while current is not None and current in parents:
        chain.append(current)
        current = parents.pop(current)
    return chain
