"""Conversations that grow, one turn of each saver in rotation, so that noise hits all alike.

Each milestone is a length at which loads, lists and bytes are measured; turns go on after it in
the same conversation.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

from benchmarks.conversing import Conversing, open_conversing
from benchmarks.peers import Peer
from benchmarks.results import Results, Subject
from benchmarks.stores import Store

__all__ = ["Grown", "Milestones", "grow", "milliseconds"]

THREAD: Final = "growing"
#: A conversation had before the clock starts: imports, statements and pages that one pays once.
WARM_UP: Final = "warming up"
LISTED: Final = 50


@dataclass
class Grown:
    """One conversation and what it took so far."""

    peer: Peer
    subject: Subject
    store: Store
    conversing: Conversing
    turns: list[float] = field(default_factory=list)
    logged: list[int] = field(default_factory=list)
    size: int | None = None

    def is_measured_at(self, turns: int) -> bool:
        """Whether it goes on to a length; what bounds a saver is its copies of the plain list."""
        longest = self.peer.longest
        return longest is None or self.subject.channel != "list" or turns <= longest


Milestones = Sequence[int]


def grow(
    grown: Sequence[Grown],
    milestones: Milestones,
    repeats: int,
    results: Results,
    progress: Callable[[str], None],
) -> None:
    """Have the turns and measure at each milestone; figures and curves go to ``results``.

    Each load and list is measured ``repeats`` times, the median counts.
    """
    for one in grown:
        one.conversing.turn(WARM_UP, 0)
        one.size = one.store.size()
    done = 0
    for milestone in sorted(milestones):
        taking_part = [one for one in grown if one.is_measured_at(milestone)]
        for number in range(done, milestone):
            for one in rotated(taking_part, number):
                _turn(one, number)
            progress(f"turn {number + 1} of {max(milestones)}")
        _measure(taking_part, done, milestone, results)
        _measure_reads(taking_part, milestone, repeats, results)
        done = milestone
    for one in grown:
        results.curves[one.subject] = one.turns


def rotated(items: Sequence[Grown], number: int) -> Iterable[Grown]:
    """Return all, starting with another one each time."""
    start = number % len(items) if items else 0
    return [*items[start:], *items[:start]]


def milliseconds(call: Callable[[], Any]) -> float:
    """Return how long a call takes."""
    start = perf_counter()
    call()
    return (perf_counter() - start) * 1000


def _turn(one: Grown, number: int) -> None:
    before = one.store.log_position()
    one.turns.append(milliseconds(lambda: one.conversing.turn(THREAD, number)))
    after = one.store.log_position()
    if before is not None and after is not None:
        one.logged.append(after - before)


def _measure(grown: Sequence[Grown], since: int, turns: int, results: Results) -> None:
    fifth = max(1, turns // 5)
    for one in grown:
        results.add(one.subject, "turn, first fifth", statistics.median(one.turns[:fifth]), turns)
        last = statistics.median(one.turns[turns - fifth : turns])
        results.add(one.subject, "turn, last fifth", last, turns)
        _measure_bytes(one, since, turns, results)


def _measure_reads(grown: Sequence[Grown], turns: int, repeats: int, results: Results) -> None:
    gc.collect()
    for measure, time in (("load, warm", _warm), ("load, cold", _cold), ("list of 50", _list)):
        times: dict[Subject, list[float]] = {one.subject: [] for one in grown}
        for repeat in range(repeats):
            for one in rotated(grown, repeat):
                times[one.subject].append(time(one))
        for subject, taken in times.items():
            results.add(subject, measure, statistics.median(taken), turns)


def _measure_bytes(one: Grown, since: int, turns: int, results: Results) -> None:
    """What a turn cost between the milestone before and this one: growth shows at once."""
    size = one.store.size()
    if size is not None and one.size is not None:
        results.add(one.subject, "disk a turn", (size - one.size) / (turns - since) / 1000, turns)
        one.size = size
    if one.logged:
        logged = sum(one.logged[since:turns]) / (turns - since)
        results.add(one.subject, "log a turn", logged / 1000, turns)


def _load(one: Grown, conversing: Conversing) -> float:
    # A checkpoint with deltas does not hold the messages; only the graph can put them together.
    load = conversing.load if one.subject.channel == "list" else conversing.state
    return milliseconds(lambda: load(THREAD))


def _warm(one: Grown) -> float:
    return _load(one, one.conversing)


def _cold(one: Grown) -> float:
    return _anew(one, lambda conversing: _load(one, conversing))


def _list(one: Grown) -> float:
    return _anew(one, lambda conversing: milliseconds(lambda: conversing.history(THREAD, LISTED)))


def _anew(one: Grown, measure: Callable[[Conversing], float]) -> float:
    conversing = open_conversing(one.peer, one.store, one.subject.channel)
    try:
        return measure(conversing)
    finally:
        conversing.close()
