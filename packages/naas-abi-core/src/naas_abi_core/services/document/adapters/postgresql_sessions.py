"""One connection, lent for one call.

Nothing here needs a server connection of its own between two transactions, so that a pooler such as
PgBouncer may change it: no session state, no prepared statements, and no cursors or locks that
outlive a transaction. Only where no pooler stands in between, the timeout is set once for the
session and statements are prepared. Whether one does, the server's process id tells: a pooler does
not know it when it greets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from typing import Any, Final, TypeAlias, final

import psycopg
from psycopg import pq
from psycopg.rows import TupleRow

from naas_abi_core.services.document.adapters.postgresql_arrays import register_arrays
from naas_abi_core.services.document.adapters.postgresql_settings import Settings
from naas_abi_sdk.errors import DocumentStorageError

__all__ = ["Connection", "Session", "connect"]

Connection: TypeAlias = "psycopg.Connection[TupleRow]"

#: Statements kept prepared by each connection, from their first use on; a handful per collection
#: and query shape.
_PREPARED: Final = 256
#: Rows a streamed statement fetches at once.
_FETCH_ROWS: Final = 64


def connect(settings: Settings, timeout: float) -> Connection:
    """A new connection that took no longer than ``timeout`` seconds, about.

    Raises:
        psycopg.OperationalError: it cannot be made.
        DocumentStorageError: the database keeps text in another encoding than UTF-8.
    """
    connection = psycopg.Connection.connect(
        "",
        autocommit=True,
        cursor_factory=psycopg.RawCursor,
        **{**settings.parameters, "connect_timeout": max(1, round(timeout))},
    )
    try:
        connection.server_cursor_factory = psycopg.RawServerCursor
        register_arrays(connection)
        _settle(connection, settings)
    except BaseException:
        connection.close()
        raise
    return connection


def _settle(connection: Connection, settings: Settings) -> None:
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        message = f"{settings.place} keeps text as {encoding}; create the database with UTF8"
        raise DocumentStorageError(message)
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None, "a SELECT without FROM gives one row"
    if row[0] != connection.info.backend_pid:
        connection.prepare_threshold = None
        return
    connection.prepare_threshold = 0
    connection.prepared_max = _PREPARED
    _command(connection, _timeouts("SET", settings))


@final
class Session:
    """Runs statements on a connection.

    Parameters are written ``?``.

    Attributes:
        uncertain: Whether a commit was asked for whose answer never came.
        is_repeat: Whether this is a call's second connection, the first being lost.
    """

    def __init__(
        self, connection: Connection, settings: Settings, *, is_repeat: bool = False
    ) -> None:
        self.connection: Final = connection
        self.is_repeat: Final = is_repeat
        self.uncertain = False
        self._settings = settings
        self._is_pooled = connection.prepare_threshold is None

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> psycopg.Cursor[TupleRow]:
        """Run a statement of the transaction, and read all of its rows."""
        return self.connection.execute(_numbered(sql), parameters or None, binary=True)

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> psycopg.ServerCursor[TupleRow]:
        """Run a query of the transaction, and read its rows as they are taken."""
        cursor = self.connection.cursor(f"abi_{next(_cursors)}")
        cursor.itersize = _FETCH_ROWS
        return cursor.execute(_numbered(sql), parameters or None, binary=True)

    def single(self, sql: str, parameters: Sequence[Any] = ()) -> list[TupleRow]:
        """Run one statement as a transaction of its own, in one round trip."""
        self.uncertain = True
        rows = self._pipelined(sql, parameters) if self._is_pooled else self._plain(sql, parameters)
        self.uncertain = False
        return rows

    @contextmanager
    def transaction(self, kind: str = "") -> Iterator[None]:
        """A transaction, committed at the end; an exception rolls it back."""
        _command(self.connection, f"BEGIN {kind}; {_timeouts('SET LOCAL', self._settings)}")
        try:
            yield
        except BaseException:
            _roll_back(self.connection)
            raise
        self.uncertain = True
        _command(self.connection, "COMMIT")
        self.uncertain = False

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What an exception undoes within a transaction."""
        _command(self.connection, "SAVEPOINT abi")
        try:
            yield
        except psycopg.Error:
            if not self.connection.closed:
                _command(self.connection, "ROLLBACK TO abi; RELEASE abi")
            raise
        _command(self.connection, "RELEASE abi")

    def _plain(self, sql: str, parameters: Sequence[Any]) -> list[TupleRow]:
        try:
            return _rows(self.execute(sql, parameters))
        except psycopg.Error as error:
            self._refused(error)
            raise

    def _pipelined(self, sql: str, parameters: Sequence[Any]) -> list[TupleRow]:
        try:
            with self.connection.pipeline():
                _command(self.connection, "BEGIN")
                for timeout in _timeouts("SET LOCAL", self._settings).split("; "):
                    _command(self.connection, timeout)
                cursor = self.execute(sql, parameters)
                _command(self.connection, "COMMIT")
            return _rows(cursor)
        except psycopg.Error as error:
            self._refused(error)
            _roll_back(self.connection)
            raise

    def _refused(self, error: psycopg.Error) -> None:
        """An answer that is an error is an answer, unless the connection ended with it."""
        if error.sqlstate is not None and not self.connection.closed:
            self.uncertain = False


_cursors: Final = count()


def _command(connection: Connection, sql: str) -> None:
    """Run commands that are not worth preparing, or several at once, which cannot be."""
    connection.execute(sql, prepare=False)


def _rows(cursor: psycopg.Cursor[TupleRow]) -> list[TupleRow]:
    return cursor.fetchall() if cursor.description else []


def _roll_back(connection: Connection) -> None:
    if connection.closed or connection.info.transaction_status == pq.TransactionStatus.IDLE:
        return
    try:
        _command(connection, "ROLLBACK")
    except psycopg.Error:
        connection.close()


def _timeouts(verb: str, settings: Settings) -> str:
    # A client that stops in the middle of a transaction must not hold its locks for ever.
    return "; ".join(
        f"{verb} {name} = {settings.milliseconds}"
        for name in ("statement_timeout", "idle_in_transaction_session_timeout")
    )


@lru_cache(maxsize=1024)
def _numbered(sql: str) -> str:
    """Placeholders as PostgreSQL has them; no statement of ours has a question mark elsewhere."""
    first, *rest = sql.split("?")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, start=1))
