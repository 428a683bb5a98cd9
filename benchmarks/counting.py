"""How much a saver asks of its store: calls, transactions, sequential round trips, documents.

A run of its own that nobody times. A call is a SQL statement for LangGraph's savers and a call of
the document port for ours; asynchronous savers ask the same as their synchronous twins.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Final, cast

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from benchmarks.conversing import open_conversing
from benchmarks.peers import CONNECTION, Peer, document_saver
from benchmarks.results import Results, Subject
from benchmarks.stores import Store
from naas_abi_core.services.document.metering import MeteredDocuments
from naas_abi_core.services.document.port import DocumentPort

__all__ = ["count"]

THREAD: Final = "counted"

Counts = Counter[str]


class Watched(BaseCheckpointSaver[Any]):
    """A saver that hands every call to ``inner``, one at a time, and keeps what each cost."""

    def __init__(self, inner: BaseCheckpointSaver[Any], read: Callable[[], Counts]) -> None:
        super().__init__(serde=inner.serde)
        self._inner = inner
        self._read = read
        self._lock = threading.RLock()
        self.costs: list[tuple[str, Counts]] = []

    def put(self, *arguments: Any) -> Any:
        return self._watch("put", *arguments)

    def put_writes(self, *arguments: Any) -> None:
        self._watch("put_writes", *arguments)

    def get_tuple(self, *arguments: Any) -> CheckpointTuple | None:
        return cast("CheckpointTuple | None", self._watch("get_tuple", *arguments))

    def get_delta_channel_history(self, **arguments: Any) -> Any:
        return self._watch("get_delta_channel_history", **arguments)

    def get_next_version(self, *arguments: Any) -> Any:
        return self._inner.get_next_version(*arguments)

    def _watch(self, method: str, *arguments: Any, **named: Any) -> Any:
        with self._lock:
            before = self._read()
            answer = getattr(self._inner, method)(*arguments, **named)
            cost = self._read()
            cost.subtract(before)
            self.costs.append((method, cost))
            return answer


def count(peer: Peer, subject: Subject, store: Store, turns: int, results: Results) -> None:
    """Have ``turns`` turns, then load as a new process would, and keep what was asked for."""
    counted = replace(peer, open=lambda store: _counted(peer, store))
    conversing = open_conversing(counted, store, subject.channel)
    try:
        conversing.turn("warming up", 0)
        watched = cast("Watched", conversing.saver)
        watched.costs.clear()
        for number in range(turns):
            conversing.turn(THREAD, number)
        _keep_writes(subject, watched.costs, turns, results)
    finally:
        conversing.close()
    conversing = open_conversing(counted, store, subject.channel)
    try:
        conversing.load(THREAD)
        _keep_load(subject, cast("Watched", conversing.saver).costs, results)
    finally:
        conversing.close()


def _keep_writes(
    subject: Subject, costs: Sequence[tuple[str, Counts]], turns: int, results: Results
) -> None:
    """Puts as the most any took: a promise of one transaction holds for each, or not at all."""
    for name in ("calls", "transactions", "round trips"):
        measured = [cost[name] for method, cost in costs if method == "put" and name in cost]
        if measured:
            results.add(subject, f"{name} a put", max(measured))
    together: Counts = Counter()
    for _, cost in costs:
        together.update(cost)
    for name, scale in (("calls", 1), ("documents", 1), ("document bytes", 1000)):
        if name in together:
            results.add(subject, f"{name} a turn", together[name] / turns / scale)


def _keep_load(subject: Subject, costs: Sequence[tuple[str, Counts]], results: Results) -> None:
    (loaded,) = [cost for method, cost in costs if method == "get_tuple"]
    for name in ("calls", "round trips"):
        if name in loaded:
            results.add(subject, f"{name} a load", loaded[name])


def _counted(peer: Peer, store: Any) -> AbstractContextManager[Watched]:
    if peer.port is not None:
        return _ours(peer.port, store)
    if peer.store == "postgresql":
        return _postgresql(store)
    return _sqlite(peer, store) if peer.store == "sqlite" else _memory(peer, store)


@contextmanager
def _ours(
    opened: Callable[[Any], AbstractContextManager[DocumentPort]], store: Any
) -> Iterator[Watched]:
    commands = 0
    with opened(store) as port:
        metered = MeteredDocuments(port)
        saver = document_saver(metered)
        perform = saver._perform  # noqa: SLF001 -- nothing public sees commands pass

        def counting(command: Any) -> Any:
            nonlocal commands
            commands += 1
            return perform(command)

        # What waits for what is known here only: the port no longer sees which reads go together.
        saver._perform = counting  # type: ignore[method-assign]  # noqa: SLF001 -- as above

        def read() -> Counts:
            usage = metered.usage()
            return Counter(
                {
                    "calls": usage.operations,
                    "transactions": usage.transactions,
                    "round trips": commands,
                    "documents": usage.total.written,
                    "document bytes": usage.total.bytes_written,
                }
            )

        yield Watched(saver, read)


@contextmanager
def _memory(peer: Peer, store: Any) -> Iterator[Watched]:
    with cast("Any", peer.open(store)) as saver:
        yield Watched(saver, Counter)


@contextmanager
def _sqlite(peer: Peer, store: Any) -> Iterator[Watched]:
    counts: Counts = Counter({"calls": 0, "transactions": 0})

    def trace(statement: str) -> None:
        if statement.startswith("COMMIT"):
            counts["transactions"] += 1
        elif not statement.startswith("BEGIN"):
            counts["calls"] += 1

    with cast("Any", peer.open(store)) as saver:
        saver.conn.set_trace_callback(trace)
        try:
            yield Watched(saver, counts.copy)
        finally:
            saver.conn.set_trace_callback(None)


@contextmanager
def _postgresql(store: Any) -> Iterator[Watched]:
    from langgraph.checkpoint.postgres import PostgresSaver

    counts: Counts = Counter({"calls": 0})

    class Counting(psycopg.Cursor[Any]):
        def execute(self, *arguments: Any, **named: Any) -> Any:
            counts["calls"] += 1
            return super().execute(*arguments, **named)

        def executemany(self, query: Any, params_seq: Any, **named: Any) -> None:
            told = list(params_seq)
            counts["calls"] += len(told)
            super().executemany(query, told, **named)

    settings: Mapping[str, Any] = {**CONNECTION, "cursor_factory": Counting}
    with psycopg.connect(store.dsn, **settings) as connection:
        saver = PostgresSaver(connection)
        saver.setup()
        yield Watched(saver, counts.copy)
