"""Commits together what several threads write at the same time.

A commit waits for the disk, however little it holds. While one thread's does, others queue; the
next of them commits for all that wait by then. Each batch is whole or not there, in the order the
threads came, and no call returns before its own batch is on disk.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock
from time import monotonic
from typing import Any, Final, Literal, TypeVar, cast, final

__all__ = ["Committer"]

R = TypeVar("R")

#: Batches that share a transaction at most: what fails is tried again one by one.
_TOGETHER: Final = 64


class _Batch:
    """What one thread writes, and how it went."""

    __slots__ = ("error", "perform", "result", "state", "turn")

    def __init__(self, perform: Callable[[sqlite3.Connection], Any]) -> None:
        self.perform = perform
        self.state: Literal["waiting", "lead", "done"] = "waiting"
        self.result: Any = None
        self.error: Exception | None = None
        self.turn = Lock()
        self.turn.acquire()

    def outcome(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result

    def run(self, connection: sqlite3.Connection) -> None:
        """Perform it within others' transaction, leaving nothing of it there if it fails."""
        connection.execute("SAVEPOINT batch")
        try:
            self.result = self.perform(connection)
        except Exception as error:
            if not connection.in_transaction:  # SQLite gave up all of it, as on a full disk
                raise
            connection.execute("ROLLBACK TO batch")
            self.error = error
        connection.execute("RELEASE batch")


@final
class Committer:
    """The queue of one process for one file."""

    def __init__(self) -> None:
        self._mutex = Lock()
        self._waiting: deque[_Batch] = deque()
        self._led = False

    def commit(
        self,
        perform: Callable[[sqlite3.Connection], R],
        writing: Callable[[], AbstractContextManager[sqlite3.Connection]],
        timeout: float,
        crowded: Callable[[], Exception],
    ) -> R:
        """Perform a batch in a transaction of ``writing`` and return its result once committed.

        ``perform`` may run in another thread, and once more if the transaction was undone. Raises
        ``crowded()`` if the turn did not come within ``timeout`` seconds.
        """
        deadline = monotonic() + timeout
        while True:
            batch = _Batch(perform)
            if not self._enter(batch) and not self._wait(batch, deadline):
                raise crowded()
            if batch.state == "lead":
                self._lead(batch, writing)
            if batch.state == "done":
                return cast("R", batch.outcome())

    def _enter(self, batch: _Batch) -> bool:
        """Lead if nobody does; else queue and say False."""
        with self._mutex:
            if self._led:
                self._waiting.append(batch)
                return False
            self._led = True
            batch.state = "lead"
            return True

    def _wait(self, batch: _Batch, deadline: float) -> bool:
        """Wait until the batch is done, is to be tried again, or leads; False if it is too late."""
        try:
            if batch.turn.acquire(timeout=max(0.0, deadline - monotonic())):
                return True
        except BaseException:
            # An interrupt must not leave a leader who does not lead.
            if not self._withdraw(batch) and batch.state == "lead":
                self._pass_on()
            raise
        if self._withdraw(batch):
            return False
        batch.turn.acquire()  # it is in a transaction by now
        return True

    def _withdraw(self, batch: _Batch) -> bool:
        with self._mutex:
            if batch not in self._waiting:
                return False
            self._waiting.remove(batch)
            return True

    def _lead(
        self, ours: _Batch, writing: Callable[[], AbstractContextManager[sqlite3.Connection]]
    ) -> None:
        """Commit our batch and all that wait; if that fails, each of the others tries again."""
        others: list[_Batch] = []
        try:
            with writing() as connection:
                others = self._take()
                if others:
                    for batch in (ours, *others):
                        batch.run(connection)
                else:
                    ours.result = ours.perform(connection)
            for batch in (ours, *others):
                batch.state = "done"
        finally:
            for batch in others:
                batch.turn.release()
            self._pass_on()

    def _take(self) -> list[_Batch]:
        with self._mutex:
            count = min(len(self._waiting), _TOGETHER - 1)
            return [self._waiting.popleft() for _ in range(count)]

    def _pass_on(self) -> None:
        with self._mutex:
            if self._waiting:
                leader = self._waiting.popleft()
                leader.state = "lead"
                leader.turn.release()
            else:
                self._led = False
