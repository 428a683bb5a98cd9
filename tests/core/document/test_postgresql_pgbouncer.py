"""Through PgBouncer in transaction mode: nothing depends on a server connection between calls."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments
from naas_abi_sdk.document.types import CollectionSpec, FieldSpec, Keep, OrderBy, Predicate, Put
from naas_abi_sdk.errors import DocumentStorageError
from tests.contracts.documents import DocumentContract
from tests.support.postgresql_documents import temporary_schema

pytestmark = pytest.mark.pgbouncer

CONFIGURATION = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
"""


@pytest.fixture(scope="module")
def pooled(postgres_server):
    """The connection string of the server through a PgBouncer with two server connections."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    assert program, "these tests need PgBouncer; install it: apt-get install pgbouncer"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    dsn = make_conninfo(postgres_server, host="127.0.0.1", port=port)
    # Not below pytest's folder: it may run as another user, who may not enter there.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        command = _command(program, Path(folder) / "pgbouncer.ini", postgres_server, port)
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            try:
                _wait(dsn, process)
                yield dsn
            finally:
                process.terminate()
                process.communicate(timeout=30)


def _command(program, file, server, port):
    given = {"host": "localhost", "port": 5432, "user": getpass.getuser()}
    given |= conninfo_to_dict(server)
    file.write_text(CONFIGURATION.format(listen=port, **given))
    if os.geteuid() != 0:
        return [program, str(file)]
    # It refuses to run as root; whoever owns the server's socket may use it.
    socket_folder = Path(given["host"])
    owner = socket_folder.owner() if socket_folder.is_dir() else "nobody"
    return [program, "-u", owner, str(file)]


def _wait(dsn, process):
    deadline = monotonic() + 30
    while True:
        try:
            psycopg.connect(dsn).close()
        except psycopg.OperationalError:
            assert process.poll() is None, process.stderr.read()
            assert monotonic() < deadline
            sleep(0.05)  # it tells nobody when it listens
        else:
            return


@pytest.fixture
def open_store(pooled, postgres_server):
    with temporary_schema(postgres_server) as schema:
        yield lambda **settings: PostgreSQLDocuments(pooled, schema=schema, **settings)


class TestThroughPgBouncer(DocumentContract):
    @pytest.fixture
    def documents(self, open_store):
        with closing(open_store()) as store:
            yield store


def test_many_clients_share_two_server_connections(open_store):
    stores = [open_store() for _ in range(4)]
    stores[0].ensure_collection(
        "n", CollectionSpec("c", [FieldSpec("a", "int", indexed=True)], [("a", "b")])
    )

    def work(number):
        store = stores[number % 4]
        for turn in range(10):
            name = f"{number}-{turn}"
            store.write("n", [Put("c", name, {"a": number}, 0), Keep("c", "shared", {"a": -1})])
            store.put("n", "c", f"{name}-put", {"a": number})
            where = [Predicate("a", "eq", number)]
            assert store.get("n", "c", name).data == {"a": number}
            found = store.find("n", "c", where, OrderBy("a", "desc"), max_bytes=10_000)
            assert len(found.items) == 2 * (turn + 1)
            rest = [*where, Predicate("undeclared", "exists", False)]
            assert store.count("n", "c", rest) == 2 * (turn + 1)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert stores[0].count("n", "c") == 161
    assert stores[0].get("n", "c", "shared").version == 80
    for store in stores:
        store.close()


def test_the_pooler_is_noticed_and_nothing_is_prepared_or_set(open_store, pooled):
    with closing(open_store(statement_timeout=7)) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        for number in range(10):
            store.put("n", "c", "x", {"n": number})
            store.get("n", "c", "x")
        with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as connection:
            for _ in range(4):
                prepared = "SELECT count(*) FROM pg_prepared_statements"
                assert connection.execute(prepared).fetchone() == (0,)
                assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_a_statement_takes_no_longer_than_its_timeout_here_too(open_store, postgres_server):
    with closing(open_store(statement_timeout=0.2)) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        store.put("n", "c", "x", {})
        with psycopg.connect(postgres_server) as other:
            other.execute(f"SELECT 1 FROM {store._settings.schema}.d_1 FOR UPDATE")
            for call in (
                lambda: store.put("n", "c", "x", {}),
                lambda: store.write("n", [Put("c", "x", {}, 1), Put("c", "x", {}, 2)]),
            ):
                with pytest.raises(DocumentStorageError, match=r"did not finish .* in 0.2 s"):
                    call()
        assert store.put("n", "c", "x", {}).version == 2
