"""What was measured: one flat list of figures, so that a new measure is one more name."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any, Final

__all__ = ["MEASURES", "Figure", "Results", "Subject", "environment"]

#: Each measure's unit.
MEASURES: Final = {
    "turn, first fifth": "ms",
    "turn, last fifth": "ms",
    "load, cold": "ms",
    "load, warm": "ms",
    "list of 50": "ms",
    "disk a turn": "KB",
    "log a turn": "KB",
    "documents a turn": "",
    "document bytes a turn": "KB",
    "calls a put": "",
    "calls a load": "",
    "transactions a put": "",
    "round trips a put": "",
    "round trips a load": "",
    "calls a turn": "",
    "peak memory": "MB",
    "many threads, memory": "MB",
    "large result, turn": "ms",
    "large result, load": "ms",
    "large result, disk": "MB",
    "conversations at once": "ms",
    "conversations at once, errors": "",
    "list of threads": "ms",
}


@dataclass(frozen=True)
class Subject:
    """What is measured: a saver, and how the chat keeps its messages."""

    saver: str
    channel: str = "list"

    def __str__(self) -> str:
        return self.saver if self.channel == "list" else f"{self.saver}, DeltaChannel"


@dataclass(frozen=True)
class Figure:
    """One figure. ``turns`` is how long the conversation was, if that matters."""

    subject: Subject
    measure: str
    value: float
    turns: int | None = None


@dataclass
class Results:
    """All of one run.

    Attributes:
        environment: Versions and the machine; nothing that names it.
        scale: How much of everything was asked for.
        figures: What was measured.
        curves: Milliseconds of every turn.
        left_out: What was not measured, and why.
    """

    environment: dict[str, Any] = field(default_factory=dict)
    scale: dict[str, Any] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    curves: dict[Subject, list[float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def add(self, subject: Subject, measure: str, value: float, turns: int | None = None) -> None:
        """Keep a figure of a known measure."""
        if measure not in MEASURES:
            message = f"unknown measure {measure!r}; add it to MEASURES"
            raise LookupError(message)
        self.figures.append(Figure(subject, measure, value, turns))

    def value(self, subject: Subject, measure: str, turns: int | None = None) -> float | None:
        """Return a figure's value, or None if it was not measured."""
        for figure in self.figures:
            if (figure.subject, figure.measure, figure.turns) == (subject, measure, turns):
                return figure.value
        return None

    def subjects(self) -> list[Subject]:
        """What was measured, in the order it first was."""
        return list(dict.fromkeys(figure.subject for figure in self.figures))

    def turns(self) -> list[int]:
        """Lengths of conversations that were measured, ascending."""
        return sorted({figure.turns for figure in self.figures if figure.turns is not None})

    def to_json(self) -> str:
        """Everything, each figure with its unit."""
        return json.dumps(
            {
                "environment": self.environment,
                "scale": self.scale,
                "figures": [
                    {**asdict(figure), "unit": MEASURES[figure.measure]} for figure in self.figures
                ],
                "milliseconds of each turn": [
                    {"subject": asdict(subject), "turns": turns}
                    for subject, turns in self.curves.items()
                ],
                "left out": self.left_out,
            },
            indent=1,
        )


def environment(more: Iterable[tuple[str, str]] = ()) -> dict[str, Any]:
    """Return what a reader needs to compare runs, and nothing that names a machine."""
    distributions = (
        *("naas-abi-core", "naas-abi-sdk", "langgraph", "langgraph-checkpoint"),
        *("langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "langchain-core"),
        *("aiosqlite", "psycopg"),
    )
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "sqlite": sqlite3.sqlite_version,
        **{name: version(name) for name in distributions},
        **dict(more),
    }
