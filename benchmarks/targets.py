"""What our savers owe, as ratios to others in the same run, and whether they pay it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.results import Results, Subject

__all__ = ["FLATNESS", "TARGETS", "Target", "Verdict", "judge"]

MEMORY: Final = "Documents-memory"
SQLITE: Final = "Documents-SQLite"
POSTGRESQL: Final = "Documents-PostgreSQL"
#: The same saver and store without and with processes in between.
IN_PROCESS: Final = "Documents-SQLite-async"
REMOTE: Final = "Documents-NATS"

#: How much more a turn may store at the end than at the start and still be called flat: what a
#: list names of its chunks grows and shrinks, by up to 15 references.
FLATNESS: Final = 1.15


@dataclass(frozen=True)
class Target:
    """A figure that must be at most ``limit``; ``unit`` is ``x`` for ratios."""

    what: str
    limit: float
    unit: str
    measured: Callable[[Results], float | None]


@dataclass(frozen=True)
class Verdict:
    """A target and what was measured; ``met`` is None when nothing was."""

    target: Target
    value: float | None

    @property
    def met(self) -> bool | None:
        return None if self.value is None else self.value <= self.target.limit


def judge(results: Results) -> list[Verdict]:
    """Hold every target against the results."""
    return [Verdict(target, target.measured(results)) for target in TARGETS]


def _ratio(
    saver: str, to: str, measure: str, turns: int | None, limit: float, channel: str = "list"
) -> Target:
    def measured(results: Results) -> float | None:
        value = results.value(Subject(saver, channel), measure, turns)
        against = results.value(Subject(to, channel), measure, turns)
        return None if value is None or not against else value / against

    told = f"{Subject(saver, channel)}: {measure}{_at(turns)}, to {to}"
    return Target(told, limit, "x", measured)


def _amount(
    saver: str, measure: str, turns: int | None, limit: float, unit: str, channel: str = "list"
) -> Target:
    subject = Subject(saver, channel)
    told = f"{subject}: {measure}{_at(turns)}"
    return Target(told, limit, unit, lambda results: results.value(subject, measure, turns))


def _flat(saver: str, measure: str, start: int, end: int) -> Target:
    def measured(results: Results) -> float | None:
        early = results.value(Subject(saver), measure, start)
        late = results.value(Subject(saver), measure, end)
        return None if late is None or not early else late / early

    return Target(f"{saver}: {measure} at {end:,} turns, to at {start}", FLATNESS, "x", measured)


def _at(turns: int | None) -> str:
    return "" if turns is None else f" at {turns:,} turns"


def _of_store(saver: str, peer: str, late: float, measure: str, size: float) -> Iterator[Target]:
    yield _ratio(saver, peer, "turn, last fifth", 30, 1.0)
    yield _ratio(saver, peer, "turn, last fifth", 200, late)
    for turns in (30, 200, 600):
        yield _ratio(saver, peer, "turn, last fifth", turns, 1.0, "delta")
    for temperature in ("cold", "warm"):
        yield _ratio(saver, peer, f"load, {temperature}", 200, 1.5)
    yield _ratio(saver, peer, "list of 50", 200, 2.0)
    yield _amount(saver, "list of threads", None, 50, "ms")
    yield _amount(saver, "transactions a put", None, 1, "")
    yield _amount(saver, "round trips a put", None, 2, "")
    yield _amount(saver, "round trips a load", None, 5, "")
    for turns in (30, 200, 1000):
        yield _amount(saver, measure, turns, size, "KB")
    yield _flat(saver, measure, 30, 1000)
    yield _amount(saver, "many threads, memory", None, 200, "MB")
    yield _amount(saver, "conversations at once, errors", None, 0, "")


def _of_remote() -> Iterator[Target]:
    for turns in (30, 200):
        yield _ratio(REMOTE, IN_PROCESS, "turn, last fifth", turns, 2.0)
    yield _amount(REMOTE, "round trips a put", None, 2, "")
    yield _amount(REMOTE, "round trips a load", None, 5, "")
    yield _amount(REMOTE, "conversations at once, errors", None, 0, "")


TARGETS: Final = (
    *_of_store(SQLITE, "SqliteSaver", 0.5, "disk a turn", 45),
    *_of_store(POSTGRESQL, "PostgresSaver", 0.3, "log a turn", 60),
    *_of_remote(),
    _ratio(MEMORY, "InMemorySaver", "load, warm", 200, 1.2),
    _ratio(SQLITE, "InMemorySaver", "load, warm", 200, 1.2),
    _ratio(POSTGRESQL, "InMemorySaver", "load, warm", 200, 1.2),
)
