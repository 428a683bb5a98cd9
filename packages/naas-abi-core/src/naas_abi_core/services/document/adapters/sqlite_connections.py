"""The connections to one SQLite file: one a thread, kept open, and a fair queue of writers."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from naas_abi_core.services.document.adapters.sql.turnstile import Turnstile
from naas_abi_core.services.document.adapters.sqlite_files import (
    connect,
    create_file,
    prepare_file,
    wrap_errors,
)
from naas_abi_sdk.errors import DocumentStorageError

__all__ = ["Connections"]


@dataclass(eq=False, slots=True)
class _Handle:
    """A thread's connection. Its lock keeps ``close`` from closing it in the middle of a call."""

    connection: sqlite3.Connection
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Process:
    """What one process has open. A forked child starts with a new one and touches nothing here."""

    def __init__(self) -> None:
        self.pid: Final = os.getpid()
        self.local: Final = threading.local()
        self.mutex: Final = threading.Lock()
        self.handles: Final[dict[threading.Thread, _Handle]] = {}
        self.writers: Final = Turnstile()


#: What forked children inherited. SQLite must not even close a connection of another process,
#: which the end of its last reference would do.
_inherited: Final[list[_Process]] = []


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
        self._closed = False
        self._process = _Process()
        with wrap_errors(path, timeout):
            create_file(path)
            connection = connect(path, timeout)
            try:
                prepare_file(connection, path, timeout)
            except BaseException:
                connection.close()
                raise
            self._adopt(self._process, connection)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, for one statement or a transaction of its caller's."""
        with wrap_errors(self._path, self._timeout):
            handle = self._handle()
            with handle.lock:
                self._check_open()
                _end_transaction(handle.connection)
                yield handle.connection

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection in a transaction in which nothing changes."""
        with self.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _end_transaction(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection in a write transaction, committed at the end.

        An exception rolls it back.
        """
        with self.reading() as connection:
            writers = self._process.writers
            if not writers.enter(self._timeout):
                message = (
                    f"document file {self._path}: other threads of this process kept writing for "
                    f"{self._timeout:g} s; raise the timeout or write less at once"
                )
                raise DocumentStorageError(message)
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    _end_transaction(connection)
                    raise
            finally:
                writers.leave()

    def close(self) -> None:
        """Close every connection, each after the call it is in."""
        process = self._process
        if process.pid != os.getpid():
            self._closed = True
            return
        with process.mutex:
            self._closed = True
            handles = list(process.handles.values())
            process.handles.clear()
        with wrap_errors(self._path, self._timeout):
            for handle in handles:
                with handle.lock:
                    handle.connection.close()

    def _handle(self) -> _Handle:
        self._check_open()
        process = self._process
        if process.pid != os.getpid():
            _inherited.append(process)
            process = self._process = _Process()
        handle: _Handle | None = getattr(process.local, "handle", None)
        return handle or self._adopt(process, connect(self._path, self._timeout))

    def _adopt(self, process: _Process, connection: sqlite3.Connection) -> _Handle:
        handle = _Handle(connection)
        with process.mutex:
            if self._closed:
                connection.close()
                self._check_open()
            ended = [thread for thread in process.handles if not thread.is_alive()]
            left = [process.handles.pop(thread) for thread in ended]
            process.handles[threading.current_thread()] = handle
        process.local.handle = handle
        for other in left:
            other.connection.close()
        return handle

    def _check_open(self) -> None:
        if self._closed:
            message = f"the document store {self._path} is closed; open it again"
            raise DocumentStorageError(message)


def _end_transaction(connection: sqlite3.Connection) -> None:
    """Roll back what is open, if it is: SQLite ends some by itself, an interrupt leaves one."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
