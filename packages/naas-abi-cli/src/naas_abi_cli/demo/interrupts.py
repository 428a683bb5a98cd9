"""Makes Ctrl-C end the process that is watched, and then the watching.

``KeyboardInterrupt`` may be raised between any two instructions: after a process was started and
before anything knows of it, or inside a callback that drops it. Here it is raised at one place.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import final

__all__ = ["Interrupts"]


@final
class Interrupts:
    """While this is entered, SIGINT kills the process watched and is raised where watching ends.

    It changes nothing where SIGINT would not raise: if it is ignored, or has another handler.
    """

    def __init__(self) -> None:
        self._asked = False
        self._installed = False
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Interrupts:
        raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if raises and current_thread() is main_thread():
            signal.signal(signal.SIGINT, self._interrupted)
            self._installed = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        # Whatever went wrong after the process was killed went wrong because of that.
        if self._asked:
            raise KeyboardInterrupt

    @contextmanager
    def killing(self, process: subprocess.Popen[str]) -> Iterator[None]:
        """Have an interrupt kill ``process``, also one that came before; it is raised after."""
        self._process = process
        try:
            if self._asked:
                process.kill()
            yield
        finally:
            self._process = None
        if self._asked:
            raise KeyboardInterrupt

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._asked = True
        if self._process is not None:
            self._process.kill()
