"""Results as tables, for a terminal and for a page: ratios beside the milliseconds they come from.

Milliseconds are this machine's, and of this hour; ratios within one run are what compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.table import Table
from rich.text import Text

from benchmarks.peers import PEERS
from benchmarks.results import MEASURES, Results, Subject
from benchmarks.targets import judge

__all__ = ["Grid", "grids", "to_page", "to_rich"]

_AGAINST: Final = {peer.name: peer.against for peer in PEERS}
_OURS: Final = {peer.name for peer in PEERS if peer.is_ours}
_VERDICT: Final = {True: "PASS", False: "FAIL", None: "not measured"}
_STYLE: Final = {"PASS": "green", "FAIL": "bold red"}

#: Around the part of a page that a run writes.
BEGIN: Final = "<!-- measured: begin -->"
END: Final = "<!-- measured: end -->"

#: Measures at a length of conversation, and whether a ratio follows each.
_GROWTH: Final = (
    ("turn, first fifth", True),
    ("turn, last fifth", True),
    ("load, cold", True),
    ("load, warm", True),
    ("list of 50", True),
    ("disk a turn", False),
    ("log a turn", False),
)
_CALLS: Final = (
    *(("calls a put", False), ("transactions a put", False), ("round trips a put", False)),
    *(("calls a load", False), ("round trips a load", False), ("calls a turn", False)),
    *(("documents a turn", False), ("document bytes a turn", False)),
)
_EXTREMES: Final = (
    *(("peak memory", False), ("many threads, memory", False)),
    *(("large result, turn", True), ("large result, load", True), ("large result, disk", False)),
    *(
        ("conversations at once", True),
        ("conversations at once, errors", False),
        ("list of threads", True),
    ),
)


@dataclass(frozen=True)
class Grid:
    """A table: cells of a row are in the order of the columns, as text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def is_of_figures(self, column: int) -> bool:
        """Whether a column is aligned as figures are."""
        return column > 0 and all(row[column][:1] in "-0123456789" for row in self.rows)


def grids(results: Results) -> Iterator[Grid]:
    """Yield every table there are figures for; targets last."""
    for turns in results.turns():
        for channel, title in (("list", ""), ("delta", ", messages as DeltaChannel")):
            yield from _grid(results, f"{turns:,} turns{title}", channel, _GROWTH, turns)
    for channel, title in (("list", ""), ("delta", ", messages as DeltaChannel")):
        yield from _grid(results, f"Calls and documents{title}", channel, _CALLS)
        yield from _grid(results, f"Extremes{title}", channel, _EXTREMES)
    yield _targets(results)
    if results.left_out:
        yield Grid("Left out", ("what", "why"), list(results.left_out.items()))


def to_rich(grid: Grid) -> Table:
    """Return a grid for a terminal."""
    table = Table(title=grid.title, title_justify="left", title_style="bold")
    for number, column in enumerate(grid.columns):
        table.add_column(column, justify="right" if grid.is_of_figures(number) else "left")
    for row in grid.rows:
        style = "cyan" if row[0].split(",")[0] in _OURS else ""
        table.add_row(*(Text(cell, _STYLE.get(cell, style)) for cell in row))
    return table


def to_page(results: Results, command: str, page: str = "") -> str:
    """Return ``page`` with the tables between its marks; only the tables if it has none."""
    told = ", ".join(f"{name} {value}" for name, value in results.environment.items())
    said = f"Measured with `{command}` on {told}."
    tables = "\n\n".join([said, *map(_to_markdown, grids(results))])
    if BEGIN not in page or END not in page:
        return f"{tables}\n"
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.partition(END)[2]}"


def _to_markdown(grid: Grid) -> str:
    figures = (grid.is_of_figures(number) for number in range(len(grid.columns)))
    ruler = ["---:" if is_figures else "---" for is_figures in figures]
    lines = (grid.columns, ruler, *grid.rows)
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"### {grid.title}\n\n{table}"


def _grid(
    results: Results,
    title: str,
    channel: str,
    measures: Sequence[tuple[str, bool]],
    turns: int | None = None,
) -> Iterator[Grid]:
    subjects = [subject for subject in results.subjects() if subject.channel == channel]
    shown = [
        (measure, with_ratio)
        for measure, with_ratio in measures
        if any(results.value(subject, measure, turns) is not None for subject in subjects)
    ]
    if not shown:
        return
    columns = ["saver"]
    for measure, with_ratio in shown:
        unit = MEASURES[measure]
        columns += [f"{measure}, {unit}" if unit else measure, *(["ratio"] if with_ratio else [])]
    rows = [_row(results, subject, shown, turns) for subject in subjects]
    yield Grid(title, columns, [row for row in rows if any(cell != "-" for cell in row[1:])])


def _row(
    results: Results, subject: Subject, measures: Sequence[tuple[str, bool]], turns: int | None
) -> list[str]:
    row = [subject.saver]
    against = Subject(_AGAINST[subject.saver], subject.channel)
    for measure, with_ratio in measures:
        value = results.value(subject, measure, turns)
        row.append(_number(value))
        if with_ratio:
            other = results.value(against, measure, turns)
            row.append("-" if value is None or not other else f"{value / other:.2f}")
    return row


def _targets(results: Results) -> Grid:
    rows = [
        (
            verdict.target.what,
            f"{verdict.target.limit:g} {verdict.target.unit}".strip(),
            _number(verdict.value, ratio=verdict.target.unit == "x"),
            _VERDICT[verdict.met],
        )
        for verdict in judge(results)
    ]
    return Grid("Targets", ("target", "at most", "measured", "verdict"), rows)


def _number(value: float | None, *, ratio: bool = False) -> str:
    if value is None:
        return "-"
    if ratio:
        return f"{value:.2f}"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
