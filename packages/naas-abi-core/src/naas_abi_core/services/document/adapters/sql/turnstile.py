"""A lock that serves its waiters in the order they came."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import final

__all__ = ["Turnstile"]


@final
class Turnstile:
    """Lets one thread through at a time, first come first served.

    A database's own lock is polled, so that under load some thread may lose every race until its
    timeout; here each gets its turn.
    """

    def __init__(self) -> None:
        self._mutex = Lock()
        self._waiting: deque[Lock] = deque()
        self._held = False

    def enter(self, timeout: float) -> bool:
        """Wait for our turn; False if it did not come within ``timeout`` seconds."""
        with self._mutex:
            if not self._held:
                self._held = True
                return True
            turn = Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            if turn.acquire(timeout=timeout):
                return True
        except BaseException:
            # An interrupt must not leave a waiter nobody waits for.
            if not self._give_up(turn):
                self.leave()
            raise
        return not self._give_up(turn)

    def leave(self) -> None:
        """Let the next one through."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._held = False

    def _give_up(self, turn: Lock) -> bool:
        """Stop waiting; False if the turn has come in the meantime."""
        with self._mutex:
            if turn not in self._waiting:
                return False
            self._waiting.remove(turn)
            return True
