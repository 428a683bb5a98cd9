"""What the two sides say to each other: documents and snapshots, as JSON files.

Knows neither package: a side hands in its saver and its document service, whose methods have the
same names on both. The tags of bytes and datetimes are written here once more on purpose, as a
referee that belongs to no side.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import conversation
from langchain_core.messages import BaseMessage

#: (saver, documents) of one side over a fresh store.
Side = Callable[[], "tuple[Any, Any]"]

#: Characters of a text that a snapshot repeats; of a longer one only its hash.
LONGEST_TEXT = 200
SCOPE = {"thread_id": "fixed-1", "checkpoint_ns": ""}


def export(documents: Any, target: Path) -> None:
    """Write every document, in the order of collection and id."""
    found = [
        (collection, document.id, document.data)
        for collection in documents.collections()
        for document in documents.iterate(collection)
    ]
    write_documents(found, target)


def write_documents(documents: list[tuple[str, str, Any]], target: Path) -> None:
    """Write collections, ids and data of documents, in order."""
    found = [
        {"collection": collection, "id": id_, "data": _tag(data)}
        for collection, id_, data in sorted(documents, key=lambda document: document[:2])
    ]
    target.write_text(json.dumps(found, sort_keys=True, indent=0), "utf-8")


def bring_in(documents: Any, source: Path) -> None:
    """Store what the other side wrote."""
    for entry in read_documents(source):
        documents.put(*entry)


def read_documents(source: Path) -> list[tuple[str, str, Any]]:
    """What :func:`write_documents` wrote."""
    entries = json.loads(source.read_text("utf-8"))
    return [(entry["collection"], entry["id"], _untag(entry["data"])) for entry in entries]


def write_snapshot(entries: Iterable[Any], target: Path) -> None:
    """Write everything a saver reads of a thread, in words that no version of a class changes."""
    found = [
        {
            "config": entry.config,
            "parent": entry.parent_config,
            "metadata": _plain(entry.metadata),
            "checkpoint": _plain(entry.checkpoint),
            # Tasks that ran side by side have no order that the two agree on; writes of one do.
            "writes": _plain(sorted(entry.pending_writes or (), key=lambda write: write[0])),
        }
        for entry in entries
    ]
    target.write_text(json.dumps(found, sort_keys=True, indent=1), "utf-8")


def fixed_puts(saver: Any) -> None:
    """Put checkpoints and writes whose every byte is given; both sides must store the same."""
    config: dict[str, Any] = {"configurable": dict(SCOPE)}
    items = [{"number": number, "text": "x" * number} for number in range(80)]
    for step in range(4):
        values = {
            "small": f"step {step}",
            "text": conversation.LONG_TEXT + str(step // 2),
            "items": items[: 20 * (step + 1)],
            "huge": conversation.HUGE_TEXT,
            "raw": bytes([step, 0, 255]) * 500,
            # A tuple is not among them: the published packages give back a list.
            "few": ["a", 1, None],
            "empty": [],
        }
        versions = dict.fromkeys(values, step + 1) | {"huge": 1, "empty": 1}
        checkpoint = {
            "v": 4,
            "id": f"1f000000-0000-6000-8000-{step:012d}",
            "ts": "2026-01-01T00:00:00+00:00",
            "channel_values": values,
            "channel_versions": versions,
            "versions_seen": {"node": {"small": step}},
            "updated_channels": None,
        }
        metadata = {"source": "loop", "step": step, "parents": {}}
        config = saver.put(config, checkpoint, metadata, versions)
        writes = [("items", [1, 2]), ("text", conversation.HUGE_TEXT), ("raw", b"\x00")]
        saver.put_writes(config, writes, "task-1", "~path")
        saver.put_writes(config, [("__error__", "failed"), ("__resume__", ["yes"])], "task-2")


def run(side: Side, arguments: list[str]) -> None:
    """Do what one process is asked: ``begin``, ``read``, ``go-on`` or ``fixed-puts``."""
    command, *paths = arguments
    files = [Path(path) for path in paths]
    saver, documents = side()
    if command == "fixed-puts":
        fixed_puts(saver)
        export(documents, files[0])
        return
    said: list[Any] = []
    if command == "begin":
        said = conversation.beginning()
    else:
        bring_in(documents, files.pop())
        if command == "go-on":
            said = conversation.continuation()
    graph = conversation.build(saver)
    for given in said:
        graph.invoke(given, conversation.CONFIG)
    export(documents, files[0])
    thread = {"configurable": {"thread_id": conversation.CONFIG["configurable"]["thread_id"]}}
    write_snapshot(saver.list(thread), files[1])


def main(side: Side) -> None:
    """Run one command of the command line."""
    run(side, sys.argv[1:])


def _tag(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$t": "bytes", "$v": base64.b64encode(value).decode("ascii")}
    if isinstance(value, datetime):
        return {"$t": "datetime", "$v": value.isoformat(timespec="microseconds")}
    if isinstance(value, dict):
        return {
            "$" + key if key.startswith("$") else key: _tag(kept) for key, kept in value.items()
        }
    return [_tag(item) for item in value] if isinstance(value, list) else value


def _untag(value: Any) -> Any:
    if isinstance(value, list):
        return [_untag(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("$t") == "bytes":
        return base64.b64decode(value["$v"])
    if value.get("$t") == "datetime":
        return datetime.fromisoformat(value["$v"])
    return {key[1:] if key.startswith("$$") else key: _untag(kept) for key, kept in value.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        calls = [[call["name"], call["args"], call["id"]] for call in _calls(value)]
        return {"message": value.type, "content": value.content, "id": value.id, "calls": calls}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": len(value), "sha256": hashlib.sha256(value).hexdigest()}
    if isinstance(value, dict):
        return {str(key): _plain(kept) for key, kept in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(_plain, value)]
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return {"text": len(value), "sha256": hashlib.sha256(value.encode()).hexdigest()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    # Interrupts and the like: their class and what both versions keep of them.
    return {"class": type(value).__name__, "value": _plain(getattr(value, "value", None))}


def _calls(message: BaseMessage) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = getattr(message, "tool_calls", [])
    return calls
