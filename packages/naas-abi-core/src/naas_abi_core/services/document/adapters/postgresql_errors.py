"""What PostgreSQL's errors mean, in words that name the database and the mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from naas_abi_core.services.document.adapters.postgresql_settings import Settings
from naas_abi_sdk.errors import (
    DocumentAdapterError,
    DocumentError,
    DocumentStorageError,
    InvalidArgument,
)

__all__ = ["is_lost", "lost_in_a_write", "unreachable", "wrap_errors"]

#: By SQLSTATE, or its class of two characters. A problem follows the name of the database.
_STORAGE_PROBLEMS: Final = {
    "57014": "did not finish a statement in {statement_timeout:g} s, or someone cancelled it; see "
    "what it waits for in pg_stat_activity, or raise statement_timeout",
    "55P03": "did not get a lock; see who holds it in pg_locks",
    "42501": "refused: the role may not do this. As the owner of the database run: "
    "GRANT CREATE ON DATABASE <database> TO <role>; and, if schema {schema} exists: "
    "GRANT USAGE, CREATE ON SCHEMA {schema} TO <role>; its tables must belong to the role",
    "25006": "takes no writes: it is a replica or read-only. Connect to the primary, for example "
    "with target_session_attrs=read-write in the dsn",
    "53100": "cannot store more, its disk is full; free some space",
    "53200": "ran out of memory; give it some",
    "53300": "takes no more connections; lower pool_max_size, raise its max_connections, or put "
    "a pooler in front",
    "53": "lacks a resource; see its log",
    "57": "is shutting down or starting; the same call may succeed later",
    "58": "failed to read or write its files; check its disk and its log",
    "XX001": "holds damaged data; nothing was changed. Restore it from a backup",
    "XX002": "holds a damaged index; REINDEX it",
    "08": "broke off the connection, twice; check it and what stands in between",
    "40": "kept undoing this for the sake of others; write less at once",
}


def is_lost(error: BaseException, connection: psycopg.Connection[object]) -> bool:
    """Whether ``error`` came of losing the connection."""
    return isinstance(error, psycopg.Error) and connection.closed


@contextmanager
def wrap_errors(settings: Settings) -> Iterator[None]:
    """Turn the driver's errors into errors that name the database and say what to do."""
    try:
        yield
    except psycopg.Error as error:
        raise _translated(settings, error) from error
    except DocumentError:
        raise
    except ValueError as error:
        # Only decoding what is stored raises these: calls are checked before they come here.
        message = f"{settings.place} holds a damaged document; restore it from a backup: {error}"
        raise DocumentStorageError(message) from error


def lost_in_a_write(settings: Settings, error: psycopg.Error) -> DocumentStorageError:
    """A commit was asked for, and the connection lost before its answer."""
    told = _told(settings, error)
    return DocumentStorageError(
        f"{settings.place} broke off the connection in the middle of a write, which may or may not "
        f"have been done; read, and decide again ({told})"
    )


def unreachable(settings: Settings, error: psycopg.Error) -> DocumentStorageError:
    """No connection could be made."""
    told = _told(settings, error)
    return DocumentStorageError(
        f"{settings.place} cannot be reached; check that it runs and takes connections, and the "
        f"dsn ({told})"
    )


def _told(settings: Settings, error: psycopg.Error) -> str:
    """The driver's words on one line."""
    return " ".join(settings.without_secrets(str(error)).split())


def _translated(settings: Settings, error: psycopg.Error) -> DocumentError:
    told = _told(settings, error)
    state = error.sqlstate or ""
    if state == "54000":
        return InvalidArgument(f"a document is larger than PostgreSQL can hold: {told}")
    problem = _STORAGE_PROBLEMS.get(state) or _STORAGE_PROBLEMS.get(state[:2])
    if problem is None and isinstance(error, psycopg.OperationalError):
        problem = _STORAGE_PROBLEMS["08"]
    if problem is None:
        return DocumentAdapterError(f"{settings.place} refused a statement: {told}")
    problem = problem.format(statement_timeout=settings.statement_timeout, schema=settings.schema)
    return DocumentStorageError(f"{settings.place} {problem} ({told})")
