"""The PostgreSQL saver on a real PostgreSQL: shared, set up once, bounded, and discreet."""

from __future__ import annotations

import multiprocessing
import socket
import time
import traceback
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from psycopg.conninfo import make_conninfo

from naas_abi_core.errors import CheckpointerError
from naas_abi_core.plugins.builtin.postgres_pool import close_all, shared_postgres_saver
from naas_abi_core.plugins.manager import create_plugin_manager
from naas_abi_core.services.agent.memory.engine import create_checkpointer


@pytest.fixture(autouse=True)
def _pools() -> Iterator[None]:
    yield
    close_all()


def put(saver: Any, thread: str) -> Any:
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    return saver.put(config, empty_checkpoint(), {"source": "input", "step": -1}, {})


def test_a_checkpoint_is_stored_and_read_back(postgres_dsn: str) -> None:
    plugins = create_plugin_manager(entry_points=False)
    environment = {"POSTGRES_URL": postgres_dsn}
    saver = create_checkpointer(plugins=plugins, environment=environment)
    stored = put(saver, "t")
    close_all()
    again = create_checkpointer(plugins=plugins, environment=environment)
    assert again is not saver
    found = again.get_tuple({"configurable": {"thread_id": "t"}})
    assert found is not None
    assert found.config["configurable"] == stored["configurable"]


def test_agents_share_one_saver_of_a_url(postgres_dsn: str) -> None:
    first = shared_postgres_saver(postgres_dsn)
    assert shared_postgres_saver(postgres_dsn) is first
    other = make_conninfo(postgres_dsn, application_name="other")
    assert shared_postgres_saver(other) is not first


def test_a_connection_that_died_is_replaced(postgres_dsn: str) -> None:
    saver = shared_postgres_saver(postgres_dsn)
    put(saver, "before")
    with psycopg.connect(postgres_dsn, autocommit=True) as killer:
        killed = killer.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    assert killed
    assert all(done for (done,) in killed)
    put(saver, "after")
    assert saver.get_tuple({"configurable": {"thread_id": "after"}}) is not None


def _set_up_and_put(dsn: str, thread: str) -> None:
    put(shared_postgres_saver(dsn), thread)
    close_all()


def test_processes_that_start_at_once_set_up_once(postgres_dsn: str) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_set_up_and_put, args=(postgres_dsn, f"t{n}")) for n in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    saver = shared_postgres_saver(postgres_dsn)
    found = {item.config["configurable"]["thread_id"] for item in saver.list(None)}
    assert found == {"t0", "t1", "t2"}


def error_of(url: str) -> str:
    """The error's text; its whole traceback must not show the password either."""
    with pytest.raises(CheckpointerError) as caught:
        shared_postgres_saver(url)
    assert "s3cr%40t" not in "".join(traceback.format_exception(caught.value))
    assert "s3cr@t" not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_nobody_listening_is_an_error_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused, and nobody else gets it
        port = taken.getsockname()[1]
        told = error_of(f"postgresql://user:s3cr%40t@127.0.0.1:{port}/db")
    assert told.startswith(f"POSTGRES_URL (127.0.0.1:{port}/db): PostgreSQL cannot be used: ")
    assert "Connection refused" in told
    assert told.endswith("Check POSTGRES_URL and the database, or unset POSTGRES_URL.")


def test_a_server_that_does_not_answer_is_an_error_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        started = time.monotonic()
        url = f"postgresql://user:s3cr%40t@127.0.0.1:{port}/db?connect_timeout=2"
        assert "timeout" in error_of(url)
    assert time.monotonic() - started < 10


def test_a_missing_database_is_named(postgres_server: str) -> None:
    told = error_of(make_conninfo(postgres_server, dbname="no_such", password="s3cr@t"))
    assert 'database "no_such" does not exist' in told


def test_a_text_that_holds_the_password_is_masked(postgres_server: str) -> None:
    told = error_of(make_conninfo(postgres_server, dbname="s3cr@t", password="s3cr@t"))
    assert "/***)" in told
    assert 'database "***" does not exist' in told


@pytest.mark.parametrize(
    "url", ["postgresql://user:s3cr@t@host:notaport/db?nosuch=1", "s3cr@t", "mysql://u:s3cr@t@h/d"]
)
def test_what_is_no_url_is_refused_without_repeating_it(url: str) -> None:
    assert error_of(url) == (
        "POSTGRES_URL: it is not a PostgreSQL URL such as "
        "postgresql://user:password@host:5432/database. Correct it; characters such as @ : / % "
        "in a password must be percent-encoded."
    )


def test_a_failure_is_not_remembered(postgres_server: str, postgres_dsn: str) -> None:
    name = psycopg.conninfo.conninfo_to_dict(postgres_dsn)["dbname"]
    later = make_conninfo(postgres_server, dbname=f"{name}_later")
    error_of(later)
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}_later"')
        try:
            put(shared_postgres_saver(later), "t")
        finally:
            close_all()
            connection.execute(f'DROP DATABASE "{name}_later" WITH (FORCE)')
