"""Several threads and processes on one file: nothing is lost, and nobody waits without limit."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from time import monotonic

import pytest

from naas_abi_core.services.document.adapters.sql.turnstile import Turnstile
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.adapters.sqlite_files import (
    connect,
    create_file,
    prepare_file,
)
from naas_abi_sdk.document.types import CollectionSpec, FieldSpec, Keep, Predicate, Put
from naas_abi_sdk.errors import (
    CollectionNotFound,
    DocumentStorageError,
    InvalidArgument,
    UniqueViolation,
)
from tests.support.sqlite_processes import start


@pytest.fixture
def path(tmp_path):
    return tmp_path / "documents.sqlite"


@pytest.fixture
def store(path):
    with closing(SQLiteDocuments(path)) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        yield store


def finish(processes):
    """Let processes start together, wait for them, and fail with what they say."""
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors


def test_processes_that_start_together_on_no_file_agree(path):
    """C093."""
    finish([start("declare_and_put", path, f"w{n}", 5) for n in range(6)])
    with closing(SQLiteDocuments(path)) as store:
        assert store.count("n", "c") == 6 * 5 + 1
        assert store.get("n", "c", "shared").version == 6


def test_a_file_is_not_taken_for_a_strangers_while_another_makes_it(path):
    create_file(path)

    def interfere(statement):
        if statement == "PRAGMA user_version":
            connection.set_trace_callback(None)
            with suppress(DocumentStorageError):
                SQLiteDocuments(path, timeout=0.05).close()

    with closing(connect(path, 5)) as connection:
        connection.set_trace_callback(interfere)
        prepare_file(connection, path, 5)
    SQLiteDocuments(path).close()


def test_processes_share_a_file_and_lose_nothing(path):
    """C090."""
    writers = [start("declare_and_put", path, f"w{n}", 150) for n in range(3)]
    finish(writers)
    with closing(SQLiteDocuments(path)) as store:
        for n in range(3):
            assert store.count("n", "c", [Predicate("writer", "eq", f"w{n}")]) == 150
        assert store.get("n", "c", "shared").version == 90


def test_a_killed_writer_leaves_every_acknowledged_batch_and_no_part_of_another(store, path):
    with start("write_for_ever", path) as process:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("\n")
        process.stdin.flush()
        acknowledged = [int(process.stdout.readline()) for _ in range(25)]
        os.kill(process.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
    batches = {}
    page = store.find("n", "c", limit=1000)
    for document in page.items:
        batches.setdefault(document.data["n"], []).append(document.id)
    assert set(acknowledged) <= set(batches)
    assert all(len(ids) == 3 for ids in batches.values())


def test_a_writer_waits_for_another_process_only_so_long(path):
    with closing(SQLiteDocuments(path, timeout=0.2)) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        store.put("n", "c", "before", {})
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = monotonic()
            with pytest.raises(
                DocumentStorageError, match=f"{path} stayed locked.*for 0.2 s; stop"
            ):
                store.put("n", "c", "x", {})
            assert monotonic() - began < 5
            assert store.count("n", "c") == 1
            other.execute("ROLLBACK")
        store.put("n", "c", "x", {})


def test_a_writer_waits_for_other_threads_only_so_long(path):
    with closing(SQLiteDocuments(path, timeout=0.2)) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        store.put("n", "c", "before", {})
        with ThreadPoolExecutor(1) as thread, store._connections.writing():
            reader = thread.submit(store.get, "n", "c", "before")
            assert reader.result().version == 1
            writer = thread.submit(store.put, "n", "c", "x", {})
            error = writer.exception()
        assert isinstance(error, DocumentStorageError)
        assert "other threads of this process kept writing for 0.2 s" in str(error)
        store.put("n", "c", "x", {})


def test_readers_run_beside_a_writer_and_each_other(store):
    store.put("n", "c", "x", {"n": 1})
    together = threading.Barrier(4)

    def read(_):
        with store._connections.snapshot():
            together.wait(timeout=30)
        return store.get("n", "c", "x").data

    with ThreadPoolExecutor(4) as threads, store._connections.writing():
        assert list(threads.map(read, range(4))) == [{"n": 1}] * 4


def test_what_another_adapter_declares_is_noticed_by_the_next_write(store, path):
    store.put("n", "c", "old", {"a": 1})
    with closing(SQLiteDocuments(path)) as other:
        other.ensure_collection("n", CollectionSpec("c", [FieldSpec("a", "int", unique=True)]))
        with pytest.raises(UniqueViolation):
            store.put("n", "c", "new", {"a": 1})
        store.put("n", "c", "new", {"a": 2})
        found = other.find("n", "c", [Predicate("a", "eq", 2)])
        assert [item.id for item in found.items] == ["new"]
        assert store.get("n", "c", "old").data == {"a": 1}


def test_what_another_adapter_declares_can_be_grouped_by(store, path):
    store.put("n", "c", "x", {"a": "one"})
    with pytest.raises(InvalidArgument, match="cannot be grouped by"):
        store.groups("n", "c", "a")
    with closing(SQLiteDocuments(path)) as other:
        spec = CollectionSpec("c", [FieldSpec("a", "string", indexed=True)])
        other.ensure_collection("n", spec)
    assert [group.value for group in store.groups("n", "c", "a").items] == ["one"]


def test_what_another_adapter_drops_is_noticed(store, path):
    store.put("n", "c", "x", {})
    with closing(SQLiteDocuments(path)) as other:
        other.drop_collection("n", "c")
        for gone in (
            lambda: store.get("n", "c", "x"),
            lambda: store.find("n", "c"),
            lambda: store.count("n", "c"),
            lambda: store.put("n", "c", "x", {}),
            lambda: store.write("n", [Keep("c", "x", {})]),
            lambda: store.delete("n", "c", "x"),
        ):
            with pytest.raises(CollectionNotFound):
                gone()
        other.ensure_collection("n", CollectionSpec("c"))
        assert store.count("n", "c") == 0
        assert store.put("n", "c", "x", {}).version == 1


def test_a_reader_finds_a_collection_that_was_dropped_and_declared_anew(store, path):
    store.put("n", "c", "x", {"of": "old"})
    with closing(SQLiteDocuments(path)) as other:
        other.drop_collection("n", "c")
        other.ensure_collection("n", CollectionSpec("c"))
        other.put("n", "c", "x", {"of": "new"})
        assert store.get("n", "c", "x").data == {"of": "new"}


def test_threads_that_come_and_go_share_a_connection(store):
    for _ in range(20):
        thread = threading.Thread(target=store.count, args=("n", "c"))
        thread.start()
        thread.join()
    assert len(store._connections._process.idle) == 1


def test_few_connections_stay_open_after_many_calls_at_once(store):
    together = threading.Barrier(30)

    def call():
        with store._connections.reading():
            together.wait(timeout=30)

    threads = [threading.Thread(target=call) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store._connections._process.idle) == 8


def test_closing_waits_for_the_calls_that_run(path):
    store = SQLiteDocuments(path)
    store.ensure_collection("n", CollectionSpec("c"))
    ends = []

    def work(number):
        try:
            for turn in range(1000):
                store.write("n", [Put("c", f"{number}-{turn}", {}), Put("c", "x", {})])
        except DocumentStorageError as error:
            ends.append(str(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while True:
        if store.find("n", "c", limit=3).cursor is not None:
            break
    store.close()
    for thread in threads:
        thread.join()
    assert len(ends) == 4
    assert all("is closed; open it again" in end for end in ends)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_uses_connections_of_its_own(store):
    store.put("n", "c", "parent", {})
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def child():
        store.put("n", "c", "child", {})
        answers.put([item.id for item in store.find("n", "c").items])
        store.close()

    process = context.Process(target=child)
    process.start()
    assert answers.get(timeout=60) == ["child", "parent"]
    process.join()
    answers.close()
    answers.join_thread()
    assert process.exitcode == 0
    store.put("n", "c", "parent-2", {})
    assert store.count("n", "c") == 3


FORKING_WHILE_BUSY = """
import os, signal, sys, threading
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_sdk.document.types import CollectionSpec, Put

store = SQLiteDocuments(sys.argv[1])
store.ensure_collection("n", CollectionSpec("c"))
stop = threading.Event()

def write(name, turns):
    turn = 0
    while turn < turns and not stop.is_set():
        store.write("n", [Put("c", f"{name}-{turn}", {}, 0)])
        store.find("n", "c", limit=3)
        turn += 1

threads = [threading.Thread(target=write, args=(f"t{n}", 10**9)) for n in range(3)]
for thread in threads:
    thread.start()
for fork in range(15):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        write(f"child{fork}", 5)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        print("child", fork, "ended with", status)
stop.set()
for thread in threads:
    thread.join()
print(sum(item.id.startswith("child") for item in store.find("n", "c", limit=1000).items))
"""


def test_a_child_forked_while_threads_write_can_write(path):
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING_WHILE_BUSY, path],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (run.stdout, run.stderr, run.returncode) == ("75\n", "", 0)


def test_an_interrupt_in_a_write_leaves_nothing_and_the_store_usable(store):
    def interrupted():
        with store._connections.writing() as connection:
            connection.execute("DELETE FROM abi_catalog")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with store._connections.reading() as connection:
        connection.execute("BEGIN")
    assert store.put("n", "c", "x", {}).version == 1


def test_a_turnstile_serves_in_order_and_forgets_who_gave_up():
    turnstile = Turnstile()
    assert turnstile.enter(1)
    assert not turnstile.enter(0.01)
    order = []

    def pass_through(number):
        assert turnstile.enter(30)
        order.append(number)
        turnstile.leave()

    threads = []
    for number in range(5):
        threads.append(threading.Thread(target=pass_through, args=(number,)))
        threads[-1].start()
        while len(turnstile._waiting) != number + 1:
            pass
    turnstile.leave()
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]
    assert turnstile.enter(0.01)
