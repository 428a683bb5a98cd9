"""One PostgreSQL saver for each URL of a process, over a pool of checked connections.

LangGraph's saver locks itself around its connection, so agents may share it; a pool, rather than
a connection, because a connection that died during a long model call must cost a new connection
and not the run. Opening is bounded in time, and no text raised here holds the URL's password.
"""

from __future__ import annotations

import atexit
import os
import time
from threading import Lock
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool

from naas_abi_core.errors import CheckpointerError

__all__ = ["CONNECT_SECONDS", "close_all", "shared_postgres_saver"]

#: Seconds to wait for a database that does not answer: long enough for a machine that is busy,
#: short enough for someone who waits for a prompt. ``connect_timeout`` in the URL overrides it.
CONNECT_SECONDS: Final = 5

#: Seconds to wait while another process creates the tables.
SETUP_SECONDS: Final = 60

#: Connections at most. LangGraph's saver uses one at a time, its background writes another.
POOL_SIZE: Final = 4

#: Key of the advisory lock around ``setup``: the bytes "abi-ckpt", read as a signed integer.
SETUP_LOCK: Final = int.from_bytes(b"abi-ckpt", "big", signed=True)

_MEND: Final = "Check POSTGRES_URL and the database, or unset POSTGRES_URL."

_Pool: TypeAlias = "ConnectionPool[psycopg.Connection[DictRow]]"

_lock = Lock()
_savers: dict[tuple[int, str], tuple[PostgresSaver, _Pool]] = {}


def shared_postgres_saver(url: str) -> PostgresSaver:
    """The process's saver for ``url``; connects, and creates LangGraph's tables, the first time.

    Raises:
        CheckpointerError: the URL is malformed, the database does not answer in time, or it
            refuses the tables. Nothing is kept, so the next call tries again.
    """
    key = (os.getpid(), url)  # a pool's threads do not survive a fork
    with _lock:
        if key not in _savers:
            if not _savers:
                atexit.register(close_all)
            _savers[key] = _open(url)
        return _savers[key][0]


def close_all() -> None:
    """Close the pools of this process; the next call opens new ones. Called at exit."""
    with _lock:
        for process, url in list(_savers):
            _, pool = _savers.pop((process, url))
            if process == os.getpid():
                pool.close()
        atexit.unregister(close_all)


def _open(url: str) -> tuple[PostgresSaver, _Pool]:
    parameters = _parse(url)
    try:
        _set_up(url, parameters)
        pool = _pool(url, parameters)
        return PostgresSaver(pool), pool
    except psycopg.Error as error:
        told = _without_secrets(str(error).strip(), url, parameters)
        raise CheckpointerError(
            f"PostgreSQL cannot be used: {told}",
            where=_without_secrets(_place(parameters), url, parameters),
            mend=_MEND,
        ) from (error if told == str(error).strip() else None)


def _parse(url: str) -> dict[str, Any]:
    try:
        return {"connect_timeout": CONNECT_SECONDS, **conninfo_to_dict(url)}
    except psycopg.ProgrammingError:
        # libpq's own text quotes what it could not read, which may be the password.
        raise CheckpointerError(
            "it is not a PostgreSQL URL such as postgresql://user:password@host:5432/database",
            where="POSTGRES_URL",
            mend="Correct it; characters such as @ : / % in a password must be percent-encoded.",
        ) from None


def _set_up(url: str, parameters: dict[str, Any]) -> None:
    """Create or migrate the tables, one process at a time: two at once fail on each other."""
    with _connect(url, parameters) as connection:
        deadline = time.monotonic() + SETUP_SECONDS
        # Polled: a waiting pg_advisory_lock() holds a snapshot, and the holder's CREATE INDEX
        # CONCURRENTLY waits for every snapshot, so the two would wait for each other.
        while not _try_lock(connection):
            if time.monotonic() > deadline:
                message = f"another process has been creating the tables for {SETUP_SECONDS} s"
                raise psycopg.OperationalError(message)
            time.sleep(0.05)
        PostgresSaver(connection).setup()


def _connect(url: str, parameters: dict[str, Any]) -> psycopg.Connection[DictRow]:
    return psycopg.Connection.connect(
        make_conninfo(url, connect_timeout=parameters["connect_timeout"]),
        autocommit=True,
        prepare_threshold=0,
        row_factory=dict_row,
    )


def _try_lock(connection: psycopg.Connection[DictRow]) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s) AS held", (SETUP_LOCK,)).fetchone()
    return row is not None and bool(row["held"])


def _pool(url: str, parameters: dict[str, Any]) -> _Pool:
    pool = ConnectionPool(
        make_conninfo(url, connect_timeout=parameters["connect_timeout"]),
        connection_class=psycopg.Connection[DictRow],
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        min_size=1,
        max_size=POOL_SIZE,
        timeout=float(parameters["connect_timeout"]) * 2,
        check=ConnectionPool.check_connection,
        name="abi-checkpointer",
        open=False,
    )
    pool.open()
    return pool


def _place(parameters: dict[str, Any]) -> str:
    host, port = parameters.get("host", "localhost"), parameters.get("port", "5432")
    return f"POSTGRES_URL ({host}:{port}/{parameters.get('dbname', '')})"


def _without_secrets(text: str, url: str, parameters: dict[str, Any]) -> str:
    text = text.replace(url, "***")
    for name in ("password", "sslpassword"):
        secret = str(parameters.get(name) or "")
        for written in (secret, quote(secret, safe="")):
            text = text.replace(written, "***") if written else text
    return text
