"""What there is, without reading any of it: threads, and chains of checkpoints.

These operations ask for ids only, so their cost does not depend on the size of the conversations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from naas_abi_sdk.document.commands import Find, Groups, Operation, groups
from naas_abi_sdk.document.types import Group
from naas_abi_sdk.errors import CollectionNotFound
from naas_abi_sdk.langgraph_documents._langgraph import RunnableConfig
from naas_abi_sdk.langgraph_documents.configuring import address
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.reading import equals, pages, read_together
from naas_abi_sdk.langgraph_documents.schema import CHECKPOINTS
from naas_abi_sdk.limits import MAX_PAGE_SIZE

__all__ = ["ThreadSummary", "contains", "lineage", "thread_ids", "threads"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """A thread as a list shows it.

    ``checkpoints`` counts all namespaces; the times are those of the first and last checkpoint
    stored, in UTC.
    """

    thread_id: str
    checkpoints: int
    created_at: datetime
    updated_at: datetime


def threads(memory: Memory) -> Operation[list[ThreadSummary]]:
    """Every thread of the scope, the most recently used first, those used at once by id."""
    summaries = yield from _of_every_thread(memory, _summary)
    return sorted(summaries, key=attrgetter("updated_at"), reverse=True)


def thread_ids(memory: Memory) -> Operation[list[str]]:
    """Sorted ids of the threads of the scope that have a checkpoint."""
    return (yield from _of_every_thread(memory, attrgetter("value")))


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


def _of_every_thread(memory: Memory, item_of: Callable[[Group], T]) -> Operation[list[T]]:
    found: list[T] = []
    where = equals(agent_id=memory.agent_id)
    cursor: str | None = None
    while True:
        try:
            page = yield from groups(Groups(CHECKPOINTS, "thread_id", where, MAX_PAGE_SIZE, cursor))
        except CollectionNotFound:
            # Nothing was ever stored, or all of it is gone since the last page.
            return []
        found.extend(map(item_of, page.items))
        cursor = page.cursor
        if cursor is None:
            return found


def _summary(group: Group) -> ThreadSummary:
    return ThreadSummary(
        group.value,
        group.count,
        group.first_created_at,
        group.last_created_at,
    )
