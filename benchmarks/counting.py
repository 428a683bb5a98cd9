"""How much a saver asks of its store: calls, transactions, sequential round trips, documents.

A run of its own that nobody times. A call is a SQL statement for LangGraph's savers and a call of
the document port for ours; asynchronous savers ask the same as their synchronous twins, but for
the one over NATS, whose calls are requests.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from benchmarks.conversing import open_conversing
from benchmarks.peers import CONNECTION, Opened, Peer, document_saver, remote_saver
from benchmarks.results import Results, Subject
from benchmarks.stores import Store
from naas_abi_core.services.document.metering import MeteredDocuments
from naas_abi_core.services.document.port import DocumentPort
from naas_abi_sdk.client import ABIClient

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


@dataclass
class _Asked:
    """What one call of a saver has asked for so far."""

    calls: int = 0
    round_trips: int = 0
    under_way: int = 0

    @contextmanager
    def asking(self) -> Iterator[None]:
        self.calls += 1
        # What goes out while another is under way is no round trip more.
        self.round_trips += self.under_way == 0
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    def counts(self) -> Counts:
        return Counter({"calls": self.calls, "round trips": self.round_trips})


_ASKED: Final = ContextVar[_Asked]("_ASKED")


class AsyncWatched(BaseCheckpointSaver[Any]):
    """As :class:`Watched`, of a saver that is awaited, whose requests are counted in ``_ASKED``.

    Calls run at once, as they do unwatched: one at a time, LangGraph's writes would get ahead of
    the checkpoint they belong to, and then look for it.
    """

    def __init__(self, inner: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=inner.serde)
        self._inner = inner
        self.costs: list[tuple[str, Counts]] = []

    async def aput(self, *arguments: Any) -> Any:
        return await self._watch("put", *arguments)

    async def aput_writes(self, *arguments: Any) -> None:
        await self._watch("put_writes", *arguments)

    async def aget_tuple(self, *arguments: Any) -> CheckpointTuple | None:
        return cast("CheckpointTuple | None", await self._watch("get_tuple", *arguments))

    async def aget_delta_channel_history(self, **arguments: Any) -> Any:
        return await self._watch("get_delta_channel_history", **arguments)

    def get_next_version(self, *arguments: Any) -> Any:
        return self._inner.get_next_version(*arguments)

    async def _watch(self, method: str, *arguments: Any, **named: Any) -> Any:
        asked = _Asked()
        token = _ASKED.set(asked)
        try:
            return await getattr(self._inner, f"a{method}")(*arguments, **named)
        finally:
            _ASKED.reset(token)
            self.costs.append((method, asked.counts()))


def count(peer: Peer, subject: Subject, store: Store, turns: int, results: Results) -> None:
    """Have ``turns`` turns, then load as a new process would, and keep what was asked for."""
    counted = replace(peer, open=lambda store: _counted(peer, store))
    conversing = open_conversing(counted, store, subject.channel)
    try:
        conversing.turn("warming up", 0)
        watched = cast("Watched | AsyncWatched", conversing.saver)
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


def _counted(peer: Peer, store: Any) -> Opened:
    if peer.client is not None:
        return _remote(peer.client, store)
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


@asynccontextmanager
async def _remote(
    opened: Callable[[Any], AbstractAsyncContextManager[ABIClient]], store: Any
) -> AsyncIterator[AsyncWatched]:
    async with opened(store) as client:
        call = client.transport.call

        async def counting(*arguments: Any, **named: Any) -> Any:
            with _ASKED.get().asking():
                return await call(*arguments, **named)

        client.transport.call = counting  # type: ignore[method-assign]  # every request passes here
        yield AsyncWatched(remote_saver(client))


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
