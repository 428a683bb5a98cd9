"""Opens SQLite files of our format, and says what is wrong with any other.

A file is ours by its ``application_id``; ``user_version`` is the version of its format. An empty
file becomes ours. Anything else is refused and left as it is.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from naas_abi_core.services.document.adapters.sql.catalog import CREATE_CATALOG
from naas_abi_sdk.errors import (
    DocumentAdapterError,
    DocumentError,
    DocumentStorageError,
    InvalidArgument,
)

__all__ = ["connect", "create_file", "prepare_file", "raise_wrapped", "wrap_errors"]

#: "ABID" in ASCII.
APPLICATION_ID: Final = 0x41424944
FORMAT: Final = 1

_OLDEST_SQLITE: Final = (3, 38, 0)
#: Prepared statements kept by each connection; a handful per collection and query shape.
_CACHED_STATEMENTS: Final = 256
#: The write-ahead log is cut back to this after a large transaction.
_LOG_BYTES: Final = 64 * 1024 * 1024
#: Seconds between tries where SQLite does not wait by itself.
_RETRY: Final = 0.01

#: What a failure of SQLite means for the file, by its primary result code.
_STORAGE_PROBLEMS: Final = {
    sqlite3.SQLITE_BUSY: "stayed locked by another process for {timeout:g} s; "
    "stop that process or raise the timeout",
    sqlite3.SQLITE_LOCKED: "stayed locked for {timeout:g} s; raise the timeout",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full; free some space",
    sqlite3.SQLITE_READONLY: "cannot be written; give this user the right to write it",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that the folder exists and this user may "
    "write in it",
    sqlite3.SQLITE_PERM: "may not be accessed; give this user the right to",
    sqlite3.SQLITE_AUTH: "may not be accessed; give this user the right to",
    sqlite3.SQLITE_IOERR: "failed to be read or written; check the disk",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; move it away or configure another path",
    sqlite3.SQLITE_CORRUPT: "is damaged; nothing was changed. Restore it from a backup, or "
    "recover what is readable with the sqlite3 tool's .recover",
    sqlite3.SQLITE_NOMEM: "could not be handled, memory ran out; free some",
    sqlite3.SQLITE_PROTOCOL: "stayed locked by other processes; stop some of them",
    sqlite3.SQLITE_INTERRUPT: "was left in the middle of a call, which was interrupted",
}


@contextmanager
def wrap_errors(path: Path, timeout: float) -> Iterator[None]:
    """Turn SQLite's errors about the file into errors that name it and say what to do."""
    try:
        yield
    except Exception as error:
        raise_wrapped(path, timeout, error)
        raise


def raise_wrapped(path: Path, timeout: float, error: BaseException) -> None:
    """Raise what ``error`` means for the file; return if it says so itself or is not about it."""
    if isinstance(error, sqlite3.DataError):
        message = f"a document is larger than SQLite can hold: {error}"
        raise InvalidArgument(message) from error
    if isinstance(error, sqlite3.Error):
        if str(error).startswith("Could not decode to UTF-8"):
            raise _damaged(path, error) from error
        raise _translated(path, timeout, error) from error
    if isinstance(error, DocumentError):
        return
    if isinstance(error, (ValueError, TypeError, KeyError, OverflowError)):
        # Only decoding what is stored raises these: calls are checked before they come here.
        raise _damaged(path, error) from error
    if isinstance(error, OSError):
        message = f"document file {path}: {error.strerror or error}; choose a path you may write"
        raise DocumentStorageError(message) from error


def _damaged(path: Path, error: Exception) -> DocumentStorageError:
    message = f"document file {path} holds a damaged document; restore it from a backup: {error!r}"
    return DocumentStorageError(message)


def create_file(path: Path) -> None:
    """Make the file and its folders if they are not there; only its owner may read a new file."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        needed = ".".join(map(str, _OLDEST_SQLITE))
        message = (
            f"SQLite {sqlite3.sqlite_version} is too old, {needed} is needed; use a newer Python"
        )
        raise DocumentStorageError(message)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """A connection to an existing file. It is closed by whichever thread closes the store."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    except BaseException:
        connection.close()
        raise
    return connection


def prepare_file(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Make an empty file ours, or raise ``DocumentStorageError`` if it is someone else's."""
    # One transaction, or what is read may be half before and half after another process made the
    # file its own, and ours would look like a stranger's.
    with _transaction(connection, "BEGIN"):
        ours = _is_ours(connection, path)
    if ours:
        return
    _use_write_ahead_log(connection, timeout)
    with _transaction(connection, "BEGIN IMMEDIATE"):
        if not _is_ours(connection, path):
            for statement in CREATE_CATALOG:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[None]:
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file has our format; False if it is empty."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if application_id == APPLICATION_ID and version == FORMAT:
        return True
    if not tables and not application_id and not version:
        return False
    if application_id == APPLICATION_ID:
        problem = (
            f"has format {version}, this version reads {FORMAT}; "
            "upgrade naas-abi-core, or configure another path"
        )
    elif "abi_documents" in tables:
        problem = (
            "was written by naas-abi-core 3, whose layout this version does not write; "
            "nothing was changed. Configure another path, and move the documents over"
        )
    else:
        problem = (
            "is the SQLite database of another application; nothing was changed. "
            "Configure another path for the documents"
        )
    message = f"document file {path} {problem}"
    raise DocumentStorageError(message)


def _use_write_ahead_log(connection: sqlite3.Connection, timeout: float) -> None:
    """Switch the file to a write-ahead log, which SQLite does not wait for by itself."""
    deadline = monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                raise
            sleep(_RETRY)
        else:
            return


def _translated(path: Path, timeout: float, error: sqlite3.Error) -> DocumentError:
    code = getattr(error, "sqlite_errorcode", None)
    problem = None if code is None else _STORAGE_PROBLEMS.get(code & 0xFF)
    if problem is not None:
        problem = problem.format(timeout=timeout)
        return DocumentStorageError(f"document file {path} {problem} ({error})")
    return DocumentAdapterError(f"SQLite refused a statement on {path}: {error}")
