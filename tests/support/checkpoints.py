"""Checkpoints as LangGraph makes them, and savers' operations over documents in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from naas_abi_sdk.document.commands import Command, Find, Operation, Together
from naas_abi_sdk.document.driving import iterate, run
from naas_abi_sdk.document.performing import Documents, perform
from naas_abi_sdk.langgraph_documents import COLLECTIONS, Memory, Recall, operations
from naas_abi_sdk.langgraph_documents.copying import copy_thread
from naas_abi_sdk.langgraph_documents.pruning import delete_for_runs, prune

AGENT_ID = "engine.v1"


def checkpoint_id(number: int) -> str:
    return f"1f000000-0000-6000-8000-{number:012d}"


def make_checkpoint(
    number: int, values: Mapping[str, Any], versions: Mapping[str, Any] | None = None
) -> Any:
    """A checkpoint whose id sorts by ``number``."""
    return {
        "v": 4,
        "ts": "2026-01-01T00:00:00+00:00",
        "id": checkpoint_id(number),
        "channel_values": dict(values),
        "channel_versions": dict(
            versions if versions is not None else dict.fromkeys(values, number)
        ),
        "versions_seen": {},
        "updated_channels": None,
    }


def config(thread_id: Any = "t-1", number: int | None = None, checkpoint_ns: str = "") -> Any:
    """A config, naming checkpoint ``number`` if given."""
    configurable = {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns}
    if number is not None:
        configurable["checkpoint_id"] = checkpoint_id(number)
    return {"configurable": configurable}


class Codec:
    """The operations as one process would run them: one serializer, one recall."""

    def __init__(
        self,
        documents: Documents,
        *,
        recall: Recall | None = None,
        perform_with: Callable[[Command], Any] | None = None,
    ) -> None:
        self.documents = documents
        self.recall = Recall() if recall is None else recall
        self.memory = Memory(AGENT_ID, JsonPlusSerializer(), self.recall)
        self.perform = perform_with or (lambda command: perform(documents, command))

    def run(self, operation: Operation[Any]) -> Any:
        return run(operation, self.perform)

    def put(self, at: Any, checkpoint: Any, metadata: Any = None) -> Any:
        metadata = metadata or {"source": "loop", "step": 0, "parents": {}}
        return self.run(operations.put(self.memory, at, checkpoint, metadata))

    def put_writes(
        self, at: Any, writes: Any, task_id: str = "task-1", task_path: str = ""
    ) -> None:
        self.run(operations.put_writes(self.memory, at, writes, task_id, task_path))

    def get_tuple(self, at: Any) -> Any:
        return self.run(operations.get_tuple(self.memory, at))

    def history(self, at: Any = None, **arguments: Any) -> Iterator[Any]:
        return iterate(operations.history(self.memory, at, **arguments), self.perform)

    def copy_thread(self, source: Any, target: Any) -> None:
        self.run(copy_thread(self.memory, source, target))

    def prune(self, thread_ids: Any, strategy: str = "keep_latest") -> None:
        self.run(prune(self.memory, thread_ids, strategy))

    def delete_for_runs(self, run_ids: Any) -> None:
        self.run(delete_for_runs(self.memory, run_ids))

    def delete_thread(self, thread_id: Any) -> None:
        self.run(operations.delete_thread(self.memory, thread_id))


def all_documents(documents: Documents) -> dict[tuple[str, str], Any]:
    """Every stored document's data by collection and id."""
    stored = {}
    for name in (spec.name for spec in COLLECTIONS):
        cursor = None
        while True:
            page = documents.find(name, limit=1000, cursor=cursor)
            stored.update({(name, item.id): item.data for item in page.items})
            cursor = page.cursor
            if cursor is None:
                break
    return stored


def small_pages(documents: Documents, size: int = 2) -> Callable[[Command], Any]:
    """Perform commands with pages of ``size`` items at the most."""

    def performing(command: Command) -> Any:
        if isinstance(command, Together):
            return [performing(read) for read in command.reads]
        if isinstance(command, Find):
            return perform(documents, replace(command, limit=min(command.limit, size)))
        return perform(documents, command)

    return performing
