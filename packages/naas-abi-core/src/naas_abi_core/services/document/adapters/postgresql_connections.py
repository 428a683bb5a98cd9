"""The connections to one database: a few, lent for a call each, replaced when they are lost.

A pool of our own, because opening a connection is part of the call that needs it: its error is that
call's error, with its reason, at once; nothing reconnects in the background, and no thread is left
behind in a forked child. Calls of different threads run side by side on different connections.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Semaphore
from time import monotonic, sleep
from typing import Final, NoReturn, TypeVar, final

import psycopg

from naas_abi_core.services.document.adapters.postgresql_errors import (
    is_lost,
    lost_in_a_write,
    unreachable,
    wrap_errors,
)
from naas_abi_core.services.document.adapters.postgresql_sessions import (
    Connection,
    Session,
    connect,
)
from naas_abi_core.services.document.adapters.postgresql_settings import Settings
from naas_abi_sdk.errors import DocumentStorageError

__all__ = ["Connections"]

R = TypeVar("R")

#: Seconds after which a connection is replaced: so load moves to where a name points by now.
_LIFETIME: Final = 3600
#: Seconds an unused connection is kept.
_IDLE: Final = 600
#: Seconds between tries to reach a database that was there a moment ago.
_RETRY: Final = 0.1


class _Process:
    """What one process has open. A forked child starts with a new one and touches nothing here."""

    def __init__(self, size: int) -> None:
        self.pid: Final = os.getpid()
        self.mutex: Final = Lock()
        self.free: Final = Semaphore(size)
        # With the times they were opened and given back; the last one is lent first.
        self.idle: Final[list[tuple[Connection, float, float]]] = []
        self.closed = False


#: What forked children inherited: closing it, which the end of its last reference would do, would
#: end the parent's connections.
_inherited: Final[list[_Process]] = []


@final
class Connections:
    """Lends connections to the database of ``settings``; opens none before it is needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process = _Process(settings.pool_max_size)
        self._was_reached = False

    def call(self, action: Callable[[Session], R], *, repeatable: bool) -> R:
        """What ``action`` returns, done over one connection.

        If the connection is lost, the action is done once more: if it surely did nothing, or if it
        is ``repeatable``.

        Raises:
            DocumentStorageError: the database cannot be reached, was lost again, or takes too long.
        """
        with wrap_errors(self._settings):
            with self._lent() as session:
                try:
                    return action(session)
                except psycopg.Error as error:
                    surely_undone = not session.uncertain
                    if not is_lost(error, session.connection):
                        raise
                    if not repeatable and not surely_undone:
                        raise lost_in_a_write(self._settings, error) from error
            with self._lent(is_repeat=not surely_undone) as session:
                return action(session)

    def close(self) -> None:
        """Close every connection: idle ones now, others at the end of the call they are in."""
        process = self._current()
        with process.mutex:
            process.closed = True
            idle = [item[0] for item in process.idle]
            process.idle.clear()
        for connection in idle:
            connection.close()

    @contextmanager
    def _lent(self, *, is_repeat: bool = False) -> Iterator[Session]:
        process = self._current()
        self._check_open(process)
        if not process.free.acquire(timeout=self._settings.pool_timeout):
            self._exhausted()
        try:
            connection, opened = self._take(process)
            try:
                yield Session(connection, self._settings, is_repeat=is_repeat)
            finally:
                _give_back(process, connection, opened)
        finally:
            process.free.release()

    def _current(self) -> _Process:
        process = self._process
        if process.pid != os.getpid():
            _inherited.append(process)
            fresh = _Process(self._settings.pool_max_size)
            fresh.closed = process.closed
            process = self._process = fresh
        return process

    def _take(self, process: _Process) -> tuple[Connection, float]:
        while True:
            self._check_open(process)
            with process.mutex:
                if not process.idle:
                    break
                connection, opened, since = process.idle.pop()
            now = monotonic()
            if now - opened < _LIFETIME and now - since < _IDLE and _is_alive(connection):
                return connection, opened
            connection.close()
        return self._open(), monotonic()

    def _open(self) -> Connection:
        deadline = monotonic() + self._settings.connect_timeout
        while True:
            try:
                connection = connect(self._settings, deadline - monotonic())
            except psycopg.Error as error:
                # One that restarts refuses for a moment; one never reached is configured wrong.
                if self._was_reached and monotonic() + _RETRY < deadline:
                    sleep(_RETRY)
                    continue
                raise unreachable(self._settings, error) from error
            self._was_reached = True
            return connection

    def _check_open(self, process: _Process) -> None:
        if process.closed:
            message = f"the document store in {self._settings.place} is closed; open it again"
            raise DocumentStorageError(message)

    def _exhausted(self) -> NoReturn:
        settings = self._settings
        message = (
            f"all {settings.pool_max_size} connections to {settings.place} stayed in use for "
            f"{settings.pool_timeout:g} s; raise pool_max_size or pool_timeout, or run fewer calls "
            "at once"
        )
        raise DocumentStorageError(message)


def _is_alive(connection: Connection) -> bool:
    """Whether an idle connection can be used; a server that ended it has told so by now."""
    if connection.closed:
        return False
    if not _is_readable(connection.fileno()):
        return True
    try:
        connection.execute("")
    except psycopg.Error:
        return False
    return True


def _is_readable(descriptor: int) -> bool:
    if hasattr(select, "poll"):  # unlike select(), takes any descriptor
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([descriptor], [], [], 0)[0])


def _give_back(process: _Process, connection: Connection, opened: float) -> None:
    if process.pid != os.getpid():
        _inherited.append(process)  # forked in the middle of a call: the parent ends it
        return
    idle = psycopg.pq.TransactionStatus.IDLE
    if not connection.closed and connection.info.transaction_status == idle:
        with process.mutex:
            if not process.closed:
                process.idle.append((connection, opened, monotonic()))
                return
    connection.close()
