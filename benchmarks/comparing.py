"""One run: which parts, how large, and a store for each saver in each part."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.conversing import open_conversing
from benchmarks.counting import count
from benchmarks.extremes import crowd, large_result, many_threads
from benchmarks.footprint import footprint
from benchmarks.growing import Grown, grow
from benchmarks.peers import Peer
from benchmarks.results import Results, Subject, environment
from benchmarks.serving import ServedStore
from benchmarks.stores import (
    MemoryStore,
    PostgreSQLStore,
    SQLiteStore,
    Store,
    postgresql_server,
    server_version,
)

__all__ = ["FULL", "PARTS", "QUICK", "QUICK_PARTS", "Scale", "compare", "new_store"]

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Scale:
    """How much of everything.

    Attributes:
        turns: Lengths of a conversation to measure at, ascending.
        repeats: How often each load and list is measured.
        counted: Turns of the conversation whose calls and documents are counted.
        large: Characters of the one large tool result.
        crowd: Conversations at once, each of ``crowd_turns`` turns.
        listed: Small threads, listed at once.
        remembered: Turns of the conversation whose peak memory is measured.
        threads: Threads one process goes on with while its memory is measured.
    """

    turns: tuple[int, ...] = (30, 200, 600, 1000)
    repeats: int = 7
    counted: int = 40
    large: int = 20_000_000
    crowd: int = 50
    crowd_turns: int = 4
    listed: int = 10_000
    remembered: int = 200
    threads: int = 1000

    def with_turns(self, turns: tuple[int, ...]) -> Scale:
        """The same, but measured at other lengths."""
        return replace(self, turns=turns)


FULL: Final = Scale()
QUICK: Final = Scale(
    turns=(5, 20),
    repeats=3,
    counted=10,
    large=1_000_000,
    crowd=6,
    crowd_turns=2,
    listed=100,
    remembered=10,
    threads=20,
)


@dataclass(frozen=True)
class Run:
    """What every part is given."""

    peers: Sequence[Peer]
    channels: Sequence[str]
    scale: Scale
    results: Results
    progress: Progress
    folder: Path
    server: str | None

    def subjects(self) -> Iterator[tuple[Peer, Subject]]:
        """Every saver with every channel."""
        for channel in self.channels:
            for peer in self.peers:
                yield peer, Subject(peer.name, channel)

    def store(self, peer: Peer) -> AbstractContextManager[Store]:
        """A new store of the peer's kind, deleted afterwards."""
        return new_store(peer, self.folder, self.server)


@contextmanager
def new_store(peer: Peer, folder: Path | None, server: str | None) -> Iterator[Store]:
    """A new store of the peer's kind, deleted afterwards."""
    store: Store
    if peer.store == "memory":
        store = MemoryStore()
    elif peer.store == "sqlite":
        store = SQLiteStore(folder)
    elif peer.store == "nats":
        store = ServedStore(folder)
    else:
        assert server is not None, "a server is started for peers that need one"
        store = PostgreSQLStore(server)
    try:
        yield store
    finally:
        store.close()


def compare(
    peers: Sequence[Peer],
    channels: Sequence[str],
    scale: Scale,
    parts: Sequence[str],
    progress: Progress,
) -> Results:
    """Measure ``peers`` in every part named.

    Args:
        peers: Savers; those that are missing here are left out, and the results say so.
        channels: Which of ``CHANNELS`` the chat keeps its messages in.
        scale: How much of everything.
        parts: Names of :data:`PARTS`.
        progress: Told what is being done.
    """
    results = Results(scale=asdict(scale))
    results.left_out.update({peer.name: peer.missing for peer in peers if peer.missing})
    present = [peer for peer in peers if not peer.missing]
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory()))
        server = None
        if any(peer.store == "postgresql" for peer in present):
            server = exits.enter_context(postgresql_server(folder))
        results.environment = environment(
            [("postgresql", server_version(server))] if server else []
        )
        run = Run(present, channels, scale, results, progress, folder, server)
        for part in parts:
            _PARTS[part](run)
    return results


def _growth(run: Run) -> None:
    with ExitStack() as exits:
        grown = []
        for peer, subject in run.subjects():
            store = exits.enter_context(run.store(peer))
            conversing = open_conversing(peer, store, subject.channel)
            exits.callback(conversing.close)
            grown.append(Grown(peer, subject, store, conversing))
            longest = peer.longest
            if longest is not None and longest < max(run.scale.turns) and subject.channel == "list":
                run.results.left_out[f"{subject} beyond {longest} turns"] = peer.why_longest
        grow(grown, run.scale.turns, run.scale.repeats, run.results, run.progress)


def _calls(run: Run) -> None:
    for peer, subject in run.subjects():
        if peer.is_counted:
            run.progress(f"counting: {subject}")
            with run.store(peer) as store:
                count(peer, subject, store, run.scale.counted, run.results)


def _memory(run: Run) -> None:
    scale = run.scale
    for peer, subject in run.subjects():
        if not peer.is_async:
            run.progress(f"memory: {subject}")
            footprint(peer, subject, scale.remembered, scale.threads, run.server, run.results)


def _large(run: Run) -> None:
    for peer, subject in run.subjects():
        run.progress(f"a large result: {subject}")
        with run.store(peer) as store:
            large_result(peer, subject, store, run.scale.large, run.results)


def _crowd(run: Run) -> None:
    for peer, subject in run.subjects():
        run.progress(f"{run.scale.crowd} conversations at once: {subject}")
        with run.store(peer) as store:
            crowd(peer, subject, store, run.scale.crowd, run.scale.crowd_turns, run.results)


def _threads(run: Run) -> None:
    """Not for async savers, which list as their twins do, nor for deltas: there are no messages."""
    for peer in run.peers:
        if not peer.is_async:
            run.progress(f"{run.scale.listed:,} threads: {peer.name}")
            with run.store(peer) as store:
                many_threads(peer, Subject(peer.name), store, run.scale.listed, run.results)


_PARTS: Final[dict[str, Callable[[Run], None]]] = {
    "growth": _growth,
    "calls": _calls,
    "memory": _memory,
    "large": _large,
    "crowd": _crowd,
    "threads": _threads,
}
#: What can be measured.
PARTS: Final = tuple(_PARTS)
#: Without those that start a process for each saver.
QUICK_PARTS: Final = tuple(part for part in _PARTS if part != "memory")
