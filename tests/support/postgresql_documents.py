"""Stores over a real PostgreSQL for tests, each in a schema of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import monotonic
from typing import Any
from uuid import uuid4

import psycopg

from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments

__all__ = ["postgresql_documents", "temporary_schema", "wait_for"]


@contextmanager
def temporary_schema(server: str) -> Iterator[str]:
    """A name for a schema; what is in it is dropped at the end.

    A database takes longer to make than most tests to run.
    """
    name = f"test_{uuid4().hex}"
    yield name
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        while True:
            try:
                connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
            except psycopg.errors.DeadlockDetected:  # with the server's own vacuum, which goes on
                continue
            break


@contextmanager
def postgresql_documents(server: str, **settings: Any) -> Iterator[PostgreSQLDocuments]:
    """An empty store."""
    with (
        temporary_schema(server) as schema,
        closing(PostgreSQLDocuments(server, schema=schema, **settings)) as store,
    ):
        yield store


def wait_for(connection: psycopg.Connection[Any], waiting: int, schema: str) -> None:
    """Return when this many statements about a schema wait for a lock of another."""
    sql = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
        "AND datname = current_database() AND query LIKE %s"
    )
    deadline = monotonic() + 30
    while True:
        row = connection.execute(sql, (f"%{schema}%",)).fetchone()
        if row is not None and row[0] >= waiting:
            return
        assert monotonic() < deadline, f"{row} statements wait, not {waiting}"
