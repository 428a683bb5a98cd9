"""Makes the signals that ask a process to end an event that its main thread waits for."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import Final, final

__all__ = ["Stop", "stop_signals"]

#: What a terminal, a service manager and a closed terminal send.
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: Seconds between looks at whether the parent still lives.
_LOOK_AGAIN: Final = 0.5


@final
class Stop:
    """Whether this process is asked to end."""

    def __init__(self) -> None:
        self._asked = Event()
        self._parent = os.getppid()

    def ask(self) -> None:
        """Ask it."""
        self._asked.set()

    def wait(self, *, with_parent: bool = False) -> None:
        """Return when it is asked; ``with_parent`` also when the parent process has ended."""
        if not with_parent:
            self._asked.wait()
            return
        while not self._asked.wait(_LOOK_AGAIN) and os.getppid() == self._parent:
            pass


@contextmanager
def stop_signals() -> Iterator[Stop]:
    """Turn SIGINT, SIGTERM and SIGHUP into a :class:`Stop` inside.

    Only the first of them: the next one does what it did before, so that who waits too long for an
    orderly end can have another. A signal that is ignored, as under ``nohup``, stays ignored.
    """
    stop = Stop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def asked(_number: int, _frame: FrameType | None) -> None:
        stop.ask()
        restore()

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, asked)
    try:
        yield stop
    finally:
        restore()
