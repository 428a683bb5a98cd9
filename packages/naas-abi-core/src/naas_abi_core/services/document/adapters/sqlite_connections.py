"""The connections to one SQLite file: a few, lent for a call each, and a fair queue of writers.

They belong to no thread: LangGraph runs every step of a graph in threads made for it, and opening a
connection in each would cost more than most calls.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Condition
from typing import Final, final
from weakref import WeakSet

from naas_abi_core.services.document.adapters.sql.turnstile import Turnstile
from naas_abi_core.services.document.adapters.sqlite_files import (
    connect,
    create_file,
    prepare_file,
    wrap_errors,
)
from naas_abi_sdk.errors import DocumentStorageError

__all__ = ["Connections"]

#: Connections kept open while nobody uses them; more are opened when more calls overlap.
_KEPT: Final = 8


class _Process:
    """What one process has open. A forked child starts with a new one and touches nothing here."""

    def __init__(self) -> None:
        self.pid: Final = os.getpid()
        self.mutex: Final = Condition()
        self.writers: Final = Turnstile()
        # The last one given back is lent first: its caches are the warmest.
        self.idle: Final[list[sqlite3.Connection]] = []
        self.lent = 0
        self.closed = False
        _processes.add(self)

    def is_idle(self) -> bool:
        """Whether no connection is lent."""
        return self.lent == 0


#: What forked children inherited. SQLite must not even close a connection of another process,
#: which the end of its last reference would do.
_inherited: Final[list[_Process]] = []
_processes: Final[WeakSet[_Process]] = WeakSet()
_held: Final[list[_Process]] = []

#: Seconds that a fork waits for calls to end.
_FORK_PATIENCE: Final = 10.0


def _before_fork() -> None:
    """Let no call be under way while the process forks.

    A child inherits SQLite's own record of the locks its process holds. If a call were under way,
    the child would wait for ever for itself to let go of the file.
    """
    for process in sorted(_processes, key=id):
        if process.pid == os.getpid():
            process.mutex.acquire()
            process.mutex.wait_for(process.is_idle, _FORK_PATIENCE)
            _held.append(process)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().mutex.release()


# A child makes a record of its own when it first uses a store, so it leaves what was held alone.
if hasattr(os, "register_at_fork"):  # systems that fork
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_held.clear,
    )


@final
class Connections:
    """Lends connections to one file.

    Args:
        path: The file; it and its folders are made if they are not there.
        timeout: Seconds a writer waits for its turn in this process, and then for others.

    Raises:
        DocumentStorageError: the file cannot be opened or is not ours.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._process = _Process()
        with wrap_errors(path, timeout):
            create_file(path)
            connection = connect(path, timeout)
            try:
                prepare_file(connection, path, timeout)
            except BaseException:
                connection.close()
                raise
            self._process.idle.append(connection)
            self._identity = _identity(path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for one statement or a transaction of the caller's."""
        with wrap_errors(self._path, self._timeout):
            process = self._current()
            connection = self._take(process)
            try:
                yield connection
            finally:
                _give_back(process, connection)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction in which nothing changes."""
        with self.reading() as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection in a write transaction, committed at the end.

        An exception rolls it back.
        """
        writers = self._current().writers
        if not writers.enter(self._timeout):
            message = (
                f"document file {self._path}: other threads of this process kept writing for "
                f"{self._timeout:g} s; raise the timeout or write less at once"
            )
            raise DocumentStorageError(message)
        try:
            with self.reading() as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
        finally:
            writers.leave()

    def close(self) -> None:
        """Close every connection: idle ones now, others at the end of the call they are in."""
        process = self._current()
        with process.mutex:
            process.closed = True
            idle = process.idle.copy()
            process.idle.clear()
        with wrap_errors(self._path, self._timeout):
            for connection in idle:
                connection.close()

    def _current(self) -> _Process:
        process = self._process
        if process.pid != os.getpid():
            _inherited.append(process)
            fresh = _Process()
            fresh.closed = process.closed
            process = self._process = fresh
        return process

    def _take(self, process: _Process) -> sqlite3.Connection:
        if _identity(self._path) != self._identity:
            # An open file can be written after it is unlinked, and all of it is lost at the end.
            message = (
                f"document file {self._path} was moved, deleted or replaced while it was in use; "
                "put it back, or start again to use what is there now"
            )
            raise DocumentStorageError(message)
        with process.mutex:
            if process.closed:
                message = f"the document store {self._path} is closed; open it again"
                raise DocumentStorageError(message)
            process.lent += 1
            if process.idle:
                return process.idle.pop()
        try:
            return connect(self._path, self._timeout)
        except BaseException:
            _count_back(process)
            raise


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at ``path``; None if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _give_back(process: _Process, connection: sqlite3.Connection) -> None:
    """Take back what was lent, its transaction ended: rolled back unless it was committed."""
    if process.pid != os.getpid():
        _inherited.append(process)  # forked in the middle of a call: the parent ends it
        return
    try:
        _end_transaction(connection)
        with process.mutex:
            if not process.closed and len(process.idle) < _KEPT:
                process.idle.append(connection)
                return
        connection.close()
    except sqlite3.Error:
        connection.close()
        raise
    finally:
        _count_back(process)


def _count_back(process: _Process) -> None:
    with process.mutex:
        process.lent -= 1
        process.mutex.notify_all()


def _end_transaction(connection: sqlite3.Connection) -> None:
    """Roll back what is open, if it is: SQLite ends some by itself, an interrupt leaves one."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
