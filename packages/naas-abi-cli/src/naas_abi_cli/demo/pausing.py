"""Lets a process stop for ever inside the tool call of one turn, so that it can be killed there."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

__all__ = ["pause_if_asked", "pause_when"]

_paused: Callable[[str], bool] | None = None


def pause_when(decide: Callable[[str], bool]) -> None:
    """Stop in a tool call whose topic ``decide`` answers with True."""
    global _paused  # noqa: PLW0603 -- tools are handed no state of their own
    _paused = decide


def pause_if_asked(topic: str) -> None:
    """Wait for ever if this is the call to stop in."""
    if _paused is not None and _paused(topic):
        Event().wait()
