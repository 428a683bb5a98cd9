"""The connections to one SQLite file: a few, lent for a call each, and a fair queue of writers.

They belong to no thread: LangGraph runs every step of a graph in threads made for it, and opening a
connection in each would cost more than most calls.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Condition, Lock
from types import TracebackType
from typing import Final, TypeVar, final
from weakref import WeakSet

from naas_abi_core.services.document.adapters.sql.turnstile import Turnstile
from naas_abi_core.services.document.adapters.sqlite_committing import Committer
from naas_abi_core.services.document.adapters.sqlite_files import (
    connect,
    create_file,
    prepare_file,
    raise_wrapped,
    wrap_errors,
)
from naas_abi_sdk.errors import DocumentStorageError

__all__ = ["Connections", "Lending"]

R = TypeVar("R")

#: Connections kept open while nobody uses them; more are opened when more calls overlap.
_KEPT: Final = 8

#: Starts a write at once: one that began as a read could not wait for other writers.
_BEGIN_WRITING: Final = "BEGIN IMMEDIATE"


class _Process:
    """What one process has open. A forked child starts with a new one and touches nothing here."""

    def __init__(self) -> None:
        self.pid: Final = os.getpid()
        self.lock: Final = Lock()
        self.all_idle: Final = Condition(self.lock)
        self.writers: Final = Turnstile()
        self.committer: Final = Committer()
        # The last one given back is lent first: its caches are the warmest.
        self.idle: Final[list[sqlite3.Connection]] = []
        self.lent = 0
        self.closed = False
        _processes.add(self)

    def is_idle(self) -> bool:
        """Whether no connection is lent."""
        return self.lent == 0

    def call_ended(self) -> None:
        """One connection less is lent; the caller holds the lock."""
        self.lent -= 1
        if self.lent == 0:
            self.all_idle.notify_all()


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
            process.lock.acquire()
            process.all_idle.wait_for(process.is_idle, _FORK_PATIENCE)
            _held.append(process)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().lock.release()


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
        self.path: Final = path
        self.timeout: Final = timeout
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

    def reading(self) -> Lending:
        """A connection for one statement or a transaction of the caller's."""
        return Lending(self, None)

    def snapshot(self) -> Lending:
        """A connection in a transaction in which nothing changes."""
        return Lending(self, "BEGIN")

    def writing(self) -> Lending:
        """A connection in a write transaction, committed at the end.

        An exception rolls it back.
        """
        return Lending(self, _BEGIN_WRITING)

    def commit(self, perform: Callable[[sqlite3.Connection], R]) -> R:
        """Perform writes in a transaction, shared with other threads that write at this moment."""
        try:
            return self.current().committer.commit(
                perform, self.writing, self.timeout, self.crowded
            )
        except Exception as error:
            raise_wrapped(self.path, self.timeout, error)
            raise

    def crowded(self) -> DocumentStorageError:
        """What to say when other threads wrote all the time."""
        message = (
            f"document file {self.path}: other threads of this process kept writing for "
            f"{self.timeout:g} s; raise the timeout or write less at once"
        )
        return DocumentStorageError(message)

    def close(self) -> None:
        """Close every connection: idle ones now, others at the end of the call they are in."""
        process = self.current()
        with process.lock:
            process.closed = True
            idle = process.idle.copy()
            process.idle.clear()
        with wrap_errors(self.path, self.timeout):
            for connection in idle:
                connection.close()

    def current(self) -> _Process:
        """What this process has open."""
        process = self._process
        if process.pid != os.getpid():
            _inherited.append(process)
            fresh = _Process()
            fresh.closed = process.closed
            process = self._process = fresh
        return process

    def take(self, process: _Process) -> sqlite3.Connection:
        """A connection for the caller alone, until it is given back."""
        if _identity(self.path) != self._identity:
            # An open file can be written after it is unlinked, and all of it is lost at the end.
            message = (
                f"document file {self.path} was moved, deleted or replaced while it was in use; "
                "put it back, or start again to use what is there now"
            )
            raise DocumentStorageError(message)
        with process.lock:
            if process.closed:
                message = f"the document store {self.path} is closed; open it again"
                raise DocumentStorageError(message)
            process.lent += 1
            if process.idle:
                return process.idle.pop()
        try:
            return connect(self.path, self.timeout)
        except BaseException:
            with process.lock:
                process.call_ended()
            raise


@final
class Lending:
    """Lends a connection while it is entered, in the transaction that ``begin`` starts.

    A class and not a generator, for every call goes through it.
    """

    __slots__ = ("_begin", "_connection", "_connections", "_process")

    def __init__(self, connections: Connections, begin: str | None) -> None:
        self._connections = connections
        self._begin = begin

    def __enter__(self) -> sqlite3.Connection:
        connections = self._connections
        process = self._process = connections.current()
        if self._begin is _BEGIN_WRITING and not process.writers.enter(connections.timeout):
            raise connections.crowded()
        try:
            connection = self._connection = connections.take(process)
        except BaseException as error:
            self._leave()
            raise_wrapped(connections.path, connections.timeout, error)
            raise
        try:
            if self._begin is not None:
                connection.execute(self._begin)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return connection

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            try:
                if error is None and self._begin is _BEGIN_WRITING:
                    self._connection.execute("COMMIT")
            finally:
                _give_back(self._process, self._connection)
        except BaseException as failure:
            raise_wrapped(self._connections.path, self._connections.timeout, failure)
            raise
        finally:
            self._leave()
        if error is not None:
            raise_wrapped(self._connections.path, self._connections.timeout, error)

    def _leave(self) -> None:
        if self._begin is _BEGIN_WRITING:
            self._process.writers.leave()


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
    whole = False
    try:
        # SQLite ends some transactions by itself, an interrupt leaves one open.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        whole = True
    finally:
        with process.lock:
            keep = whole and not process.closed and len(process.idle) < _KEPT
            if keep:
                process.idle.append(connection)
                process.call_ended()
        if not keep:
            try:
                connection.close()
            finally:
                with process.lock:
                    process.call_ended()
