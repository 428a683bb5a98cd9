"""Prints the demonstration: a chart of what each turn wrote, and every claim with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from naas_abi_cli.demo.checking import Check, TurnCost
from naas_abi_cli.output import print_text, stdout, writing_result

__all__ = ["as_plain", "print_report"]

#: Cells of the longer bar, so that a line fits into 80 columns.
_BAR: Final = 26

_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def as_plain(
    turns: int, killed_turn: int, costs: Sequence[TurnCost], checks: Sequence[Check]
) -> dict[str, Any]:
    """The same for a program. Sizes are bytes."""
    return {
        "turns": turns,
        "killed_in_turn": killed_turn,
        "per_turn": [
            {
                "turn": cost.turn,
                "text_bytes": cost.text,
                "documents": cost.documents,
                "bytes": cost.size,
                "full_snapshot_bytes": cost.snapshot_size,
            }
            for cost in costs
        ],
        "total_bytes": sum(cost.size for cost in costs),
        "total_full_snapshot_bytes": sum(cost.snapshot_size for cost in costs),
        "checks": [asdict(check) for check in checks],
        "passed": all(check.held is not False for check in checks),
    }


def print_report(killed_turn: int, costs: Sequence[TurnCost], checks: Sequence[Check]) -> None:
    """Print chart, sums and checks."""
    print_text("What each turn wrote, in KB", style="bold")
    print_text("turn  text  docs  increments  full snapshots")
    scale = max(cost.snapshot_size for cost in costs) / _BAR
    for cost in costs:
        _print_turn(cost, scale, killed=cost.turn == killed_turn)
    _print_sums(costs)
    print_text()
    for check in checks:
        _print_check(check)


def _print_turn(cost: TurnCost, scale: float, *, killed: bool) -> None:
    from rich.text import Text

    line = Text(
        f"{cost.turn:4}  {cost.text / 1024:4.1f}  {cost.documents:4}"
        f"  {cost.size / 1024:10.1f}  {cost.snapshot_size / 1024:14.1f}  "
    )
    solid = _bar(cost.size / scale)
    line.append(solid, style="green")
    line.append("░" * max(0, round(cost.snapshot_size / scale) - len(solid)), style="red")
    with writing_result():
        stdout().print(line, soft_wrap=True, end=" killed\n" if killed else "\n")


def _bar(cells: float) -> str:
    whole, rest = divmod(round(cells * 8), 8)
    return "█" * whole + _EIGHTHS[rest].strip()


def _print_sums(costs: Sequence[TurnCost]) -> None:
    size = sum(cost.size for cost in costs)
    snapshots = sum(cost.snapshot_size for cost in costs)
    print_text(
        f" all  {sum(cost.text for cost in costs) / 1024:4.0f}"
        f"  {sum(cost.documents for cost in costs):4}"
        f"  {size / 1024:10.1f}  {snapshots / 1024:14.1f}",
        style="bold",
    )
    print_text()
    print_text("text: new in the turn. increments (█): documents written, as canonical JSON.")
    print_text("full snapshots (░): each checkpoint and pending write serialized whole with")
    print_text("LangGraph's serializer at the same moment; computed, not stored.")


def _print_check(check: Check) -> None:
    mark, style = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("-", "dim")}[check.held]
    print_text(f"{mark} {check.claim}", style=style)
    print_text(f"  {check.seen}", style="dim")
