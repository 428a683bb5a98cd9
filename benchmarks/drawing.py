"""Curves of growth: how long each turn took, as a picture and as lines of a terminal."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from benchmarks.chat import CHANNELS
from benchmarks.peers import PEERS
from benchmarks.results import Results

__all__ = ["draw", "to_lines"]

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_TITLES: Final = {"list": "messages as a list", "delta": "messages as DeltaChannel"}
_COLOURS: Final = {
    "memory": "tab:green",
    "sqlite": "tab:blue",
    "postgresql": "tab:orange",
    "nats": "tab:purple",
}
#: Points of a curve: enough to see its shape, few enough that single slow turns vanish.
_POINTS: Final = 50


def draw(results: Results, path: Path) -> None:
    """Write the curves as a PNG: ours drawn solid, LangGraph's savers dashed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    channels = [name for name in CHANNELS if any(s.channel == name for s in results.curves)]
    figure = Figure(figsize=(7 * max(1, len(channels)), 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, max(1, len(channels)), squeeze=False)[0]
    for axis, channel in zip(axes, channels, strict=False):
        _draw_channel(axis, results, channel)
    figure.savefig(path, dpi=120)


def to_lines(results: Results, width: int = 24) -> list[str]:
    """Return a line of blocks for each saver, all to one scale."""
    curves = {subject: smoothed(turns, width) for subject, turns in results.curves.items()}
    highest = max((max(curve) for curve in curves.values() if curve), default=0)
    return [
        f"{subject!s:45} {_bar(curve, highest):{width}} "
        f"{curve[0]:6.1f} -> {curve[-1]:.1f} ms at turn {len(results.curves[subject])}"
        for subject, curve in curves.items()
        if curve
    ]


def smoothed(values: Sequence[float], points: int) -> list[float]:
    """Return the medians of at most ``points`` equal stretches."""
    count = min(points, len(values))
    bounds = [len(values) * number // count for number in range(count + 1)] if count else []
    return [statistics.median(values[start:end]) for start, end in pairwise(bounds)]


def _draw_channel(axis: Any, results: Results, channel: str) -> None:
    peers = {peer.name: peer for peer in PEERS}
    for subject, turns in results.curves.items():
        if subject.channel != channel:
            continue
        peer = peers[subject.saver]
        curve = smoothed(turns, _POINTS)
        at = [len(turns) * (number + 1) / len(curve) for number in range(len(curve))]
        axis.plot(
            *(at, curve),
            color=_COLOURS[peer.store],
            linestyle="-" if peer.is_ours else "--",
            alpha=0.5 if peer.is_async else 1,
            label=subject.saver,
        )
    axis.set(title=_TITLES[channel], xlabel="turn", ylabel="ms a turn", ylim=(0, None))
    axis.legend(fontsize="small")


def _bar(curve: Sequence[float], highest: float) -> str:
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round(value / highest * top) if highest else 0] for value in curve)
