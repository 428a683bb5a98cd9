"""What few conversations do and some will: one huge value, many at once, thousands of threads."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from langgraph.checkpoint.base import empty_checkpoint

from benchmarks.chat import config
from benchmarks.conversing import Conversing, open_conversing
from benchmarks.growing import milliseconds
from benchmarks.peers import Peer
from benchmarks.results import Results, Subject
from benchmarks.stores import Store

__all__ = ["crowd", "large_result", "many_threads"]

#: Listing is measured so often; the least counts, as it is what the work itself takes.
REPEATS: Final = 3
MEGABYTE: Final = 1_000_000


def large_result(peer: Peer, subject: Subject, store: Store, size: int, results: Results) -> None:
    """One turn whose tool answers with ``size`` characters; then load it as a new process would."""
    conversing = open_conversing(peer, store, subject.channel, result_size=size)
    try:
        conversing.turn("warming up", 0)
        before = store.size()
        took = milliseconds(lambda: conversing.turn("large", 0))
        results.add(subject, "large result, turn", took)
    finally:
        conversing.close()
    after = store.size()
    if before is not None and after is not None:
        results.add(subject, "large result, disk", (after - before) / MEGABYTE)
    conversing = open_conversing(peer, store, subject.channel)
    try:
        load = conversing.load if subject.channel == "list" else conversing.state
        results.add(subject, "large result, load", milliseconds(lambda: load("large")))
    finally:
        conversing.close()
    gc.collect()


def crowd(
    peer: Peer, subject: Subject, store: Store, conversations: int, turns: int, results: Results
) -> None:
    """Many conversations at once, each in a thread or task of its own."""
    conversing = open_conversing(peer, store, subject.channel)
    errors: list[BaseException] = []
    names = [f"crowd-{number}" for number in range(conversations)]
    try:
        conversing.turn("warming up", 0)
        took = milliseconds(lambda: errors.extend(conversing.crowd(names, turns)))
    finally:
        conversing.close()
    results.add(subject, "conversations at once", took)
    results.add(subject, "conversations at once, errors", len(errors))
    for error in errors[:1]:
        results.left_out[f"{subject}, crowd"] = f"it failed: {type(error).__name__}: {error}"


def many_threads(
    peer: Peer, subject: Subject, store: Store, threads: int, results: Results
) -> None:
    """List threads of one small checkpoint each.

    LangGraph has no listing of threads; with its savers one lists every checkpoint and looks.
    """
    conversing = open_conversing(peer, store, subject.channel)
    try:
        _fill(conversing, threads)
        took = [_time_listing(conversing, threads) for _ in range(REPEATS)]
    finally:
        conversing.close()
    results.add(subject, "list of threads", min(took))


def _fill(conversing: Conversing, threads: int) -> None:
    put: Any = conversing.saver.put
    for number in range(threads):
        checkpoint = {
            **empty_checkpoint(),
            "id": str(UUID(int=(0x1F << 120) | (6 << 76) | (2 << 62) | number)),
            "channel_values": {"answer": number},
            "channel_versions": {"answer": "1"},
        }
        at = config(f"thread-{number}")
        at["configurable"]["checkpoint_ns"] = ""
        put(at, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {"answer": "1"})


def _time_listing(conversing: Conversing, threads: int) -> float:
    found: set[str] = set()
    took = milliseconds(lambda: found.update(_listed(conversing)))
    if len(found) != threads:
        message = f"{type(conversing.saver).__name__} lists {len(found)} threads of {threads}"
        raise AssertionError(message)
    return took


def _listed(conversing: Conversing) -> Sequence[str]:
    threads = getattr(conversing.saver, "threads", None)
    if threads is not None:
        return [summary.thread_id for summary in threads()]
    found = conversing.history(None, None)
    return list(dict.fromkeys(item.config["configurable"]["thread_id"] for item in found))
