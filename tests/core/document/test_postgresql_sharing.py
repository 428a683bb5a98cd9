"""Several threads and processes on one schema: nothing is lost, nobody fails for another."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from time import monotonic

import psycopg
import pytest

from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Delete,
    FieldSpec,
    Keep,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.errors import (
    CollectionNotFound,
    DocumentStorageError,
    InvalidArgument,
    UniqueViolation,
    VersionConflict,
)
from tests.support.postgresql_documents import temporary_schema, wait_for
from tests.support.postgresql_processes import start


@pytest.fixture
def schema(postgres_server):
    with temporary_schema(postgres_server) as name:
        yield name


@pytest.fixture
def open_store(postgres_server, schema):
    return partial(PostgreSQLDocuments, postgres_server, schema=schema)


@pytest.fixture
def store(open_store):
    with closing(open_store()) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        yield store


@pytest.fixture
def other(postgres_server):
    """A connection of someone else's, to hold locks with."""
    with psycopg.connect(postgres_server) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def watch(postgres_server, schema):
    """Waits until so many statements wait for a lock."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        yield lambda waiting: wait_for(connection, waiting, schema)


@pytest.fixture
def threads():
    with ThreadPoolExecutor(8) as executor:
        yield executor


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


def test_processes_that_start_together_on_an_empty_database_agree(
    postgres_server, schema, open_store
):
    finish([start("declare_and_put", postgres_server, schema, f"w{n}", 25) for n in range(6)])
    with closing(open_store()) as store:
        assert store.count("n", "c") == 6 * 25 + 1
        assert store.get("n", "c", "shared").version == 30


def test_stores_opened_at_once_make_one_schema(open_store):
    with ThreadPoolExecutor(20) as executor:
        stores = list(executor.map(lambda _: open_store(), range(20)))
        spec = CollectionSpec("c", [FieldSpec("a", "int", indexed=True)])
        list(executor.map(lambda store: store.ensure_collection("n", spec), stores))
    for number, store in enumerate(stores):
        assert store.put("n", "c", str(number), {"a": number}).version == 1
    assert stores[0].count("n", "c", [Predicate("a", "gte", 0)]) == 20
    for store in stores:
        store.close()


def test_a_killed_writer_leaves_every_acknowledged_batch_and_no_part_of_another(
    store, postgres_server, schema
):
    with start("write_for_ever", postgres_server, schema) as process:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("\n")
        process.stdin.flush()
        acknowledged = [int(process.stdout.readline()) for _ in range(25)]
        os.kill(process.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in process.stdout if line.endswith("\n")]
    batches = {}
    for document in store.find("n", "c", limit=1000).items:
        batches.setdefault(document.data["n"], []).append(document.id)
    assert set(acknowledged) <= set(batches)
    assert all(len(ids) == 3 for ids in batches.values())


def test_writers_of_the_same_documents_in_any_order_never_fail(store, threads):
    """C091: also where every writer would wait for the next."""
    store.ensure_collection("n", CollectionSpec("d", (), [("a", "b")]))

    def work(number):
        for turn in range(6):
            ids = [f"{turn}-{part}" for part in range(4)]
            if number % 2:
                ids.reverse()
            kept = [Keep("d", id_, {"a": id_, "b": 1}) for id_ in ids]
            outcomes = store.write("n", kept)
            outcomes += store.write("n", [Put("c", id_, {"by": number}) for id_ in ids])
            outcomes += store.write("n", [Put("c", "last", {}), *kept])
            assert {outcome.state for outcome in outcomes} == {"done"}

    list(threads.map(work, range(8)))
    assert store.count("n", "d") == 24
    assert {item.version for item in store.find("n", "d").items} == {16}
    assert {item.version for item in store.find("n", "c").items} == {8, 48}


def test_a_batch_locks_in_one_order_whatever_its_own(store, other, watch, threads, schema):
    """Else two of them could each hold what the other waits for."""
    store.ensure_collection("n", CollectionSpec("d"))
    for id_ in "abc":
        store.put("n", "c", id_, {})
    other.execute(f"SELECT 1 FROM {schema}.d_1 WHERE id = 'a' FOR UPDATE")
    batches = (
        [Keep("c", id_, {}) for id_ in "cba"],
        [Put("d", "x", {}), Put("c", "c", {}, 9), Put("c", "a", {}, 9)],
        [Delete("c", id_, 2) for id_ in "cba"],
    )
    for batch in batches:
        writing = threads.submit(store.write, "n", batch)
        watch(1)
        with psycopg.connect(other.info.dsn) as third:
            third.execute(f"SELECT 1 FROM {schema}.d_1 WHERE id > 'a' FOR UPDATE NOWAIT")
        other.rollback()
        writing.result()
        other.execute(f"SELECT 1 FROM {schema}.d_1 WHERE id = 'a' FOR UPDATE")


def test_a_writer_that_is_undone_for_another_starts_over(store, other, watch, threads, schema):
    for id_ in "ab":
        store.put("n", "c", id_, {})
    other.execute("SET deadlock_timeout = '1min'")
    other.execute(f"SELECT 1 FROM {schema}.d_1 WHERE id = 'b' FOR UPDATE")
    batch = [Put("c", "a", {"by": "us"}, 1), Put("c", "b", {"by": "us"}, 1)]
    writing = threads.submit(store.write, "n", batch)
    watch(1)
    # Whoever notices first gives way: that is the writer, by its shorter timeout.
    other.execute(f"SELECT 1 FROM {schema}.d_1 WHERE id = 'a' FOR UPDATE")
    other.rollback()
    assert [outcome.version for outcome in writing.result()] == [2, 2]


def test_one_of_many_has_a_version(store, threads):
    store.put("n", "c", "x", {})

    def compare_and_swap(number):
        try:
            return store.put("n", "c", "x", {"by": number}, if_version=1).version
        except VersionConflict:
            return None

    assert sorted(threads.map(compare_and_swap, range(8)), key=str) == [2, *[None] * 7]
    created = threads.map(lambda n: store.write("n", [Put("c", "y", {"by": n}, 0)]), range(8))
    assert sorted(outcomes[0].state for outcomes in created) == ["conflict"] * 7 + ["done"]


def test_a_required_document_is_not_deleted_before_what_relies_on_it_is_stored(
    store, other, watch, threads, schema
):
    store.write("n", [Put("c", "parent", {}), Put("c", "value", {})])
    other.execute(f"SELECT 1 FROM {schema}.d_1 WHERE id = 'value' FOR UPDATE")
    batch = [Require("c", "parent"), Keep("c", "value", {}), Put("c", "child", {}, 0)]
    writer = threads.submit(store.write, "n", batch)
    watch(1)
    deleter = threads.submit(store.write, "n", [Delete("c", "parent")])
    watch(2)
    other.rollback()
    assert [outcome.state for outcome in writer.result()] == ["done"] * 3
    assert deleter.result()[0].state == "done"
    assert [item.id for item in store.find("n", "c").items] == ["child", "value"]


def test_a_document_that_is_being_deleted_is_absent_to_who_requires_it(
    store, other, watch, threads, schema
):
    store.put("n", "c", "parent", {})
    other.execute(f"DELETE FROM {schema}.d_1")
    writer = threads.submit(store.write, "n", [Require("c", "parent"), Put("c", "child", {}, 0)])
    watch(1)
    other.commit()
    assert [outcome.state for outcome in writer.result()] == ["conflict", "skipped"]
    assert store.count("n", "c") == 0


def test_a_version_that_is_required_does_not_change_before_what_relies_on_it_is_stored(
    store, other, watch, threads, schema
):
    store.write("n", [Put("c", "lease", {}), Put("c", "value", {})])
    other.execute(f"SELECT 1 FROM {schema}.d_1 WHERE id = 'value' FOR UPDATE")
    batch = [Require("c", "lease", 1), Keep("c", "value", {}), Put("c", "child", {}, 0)]
    writer = threads.submit(store.write, "n", batch)
    watch(1)
    taker = threads.submit(store.put, "n", "c", "lease", {}, if_version=1)
    watch(2)
    other.rollback()
    assert [outcome.state for outcome in writer.result()] == ["done"] * 3
    assert taker.result().version == 2
    late = store.write("n", [Require("c", "lease", 1), Put("c", "late", {}, 0)])
    assert [outcome.state for outcome in late] == ["conflict", "skipped"]


def test_a_version_that_is_being_changed_is_not_the_one_required(
    store, other, watch, threads, schema
):
    store.put("n", "c", "lease", {})
    other.execute(f"UPDATE {schema}.d_1 SET version = version + 1")
    writer = threads.submit(store.write, "n", [Require("c", "lease", 1), Put("c", "child", {}, 0)])
    watch(1)
    other.commit()
    assert [outcome.state for outcome in writer.result()] == ["conflict", "skipped"]
    assert store.count("n", "c") == 1


def test_a_document_that_was_kept_meanwhile_is_not_deleted_at_the_version_seen_before(
    store, other, watch, threads, schema
):
    for id_ in ("single", "batch"):
        store.put("n", "c", id_, {})
    other.execute(f"UPDATE {schema}.d_1 SET version = version + 1")
    single = threads.submit(store.delete, "n", "c", "single", if_version=1)
    batch = threads.submit(store.write, "n", [Delete("c", "batch", 1), Delete("c", "none", 1)])
    watch(2)
    other.commit()
    assert isinstance(single.exception(), VersionConflict)
    assert [outcome.state for outcome in batch.result()] == ["conflict", "conflict"]
    assert store.count("n", "c") == 2


def test_a_document_that_is_being_deleted_is_kept_by_storing_it_again(
    store, other, watch, threads, schema
):
    store.put("n", "c", "x", {"v": 1})
    other.execute(f"DELETE FROM {schema}.d_1")
    writer = threads.submit(store.write, "n", [Keep("c", "x", {"v": 1})])
    watch(1)
    other.commit()
    assert writer.result()[0].version == 1
    assert store.get("n", "c", "x").data == {"v": 1}


def test_what_another_adapter_declares_is_noticed_by_the_next_call(store, open_store):
    for turn in range(4):  # often enough for statements to be prepared
        store.put("n", "c", "old", {"a": 1, "turn": turn})
        store.write("n", [Put("c", "older", {"a": 0, "turn": turn})])
        store.get("n", "c", "old")
    with closing(open_store()) as other:
        other.ensure_collection("n", CollectionSpec("c", [FieldSpec("a", "int")]))
        with pytest.raises(InvalidArgument, match=r"data\.a is declared int"):
            store.put("n", "c", "old", {"a": "text"})
        assert store.get("n", "c", "old").data["turn"] == 3
        other.ensure_collection("n", CollectionSpec("c", [FieldSpec("a", "int", unique=True)]))
        with pytest.raises(UniqueViolation):
            store.put("n", "c", "new", {"a": 1})
        store.put("n", "c", "new", {"a": 2})
        found = other.find("n", "c", [Predicate("a", "eq", 2)])
        assert [item.id for item in found.items] == ["new"]


def test_what_another_adapter_declares_can_be_grouped_by(store, open_store):
    store.put("n", "c", "x", {"a": "one"})
    with pytest.raises(InvalidArgument, match="cannot be grouped by"):
        store.groups("n", "c", "a")
    with closing(open_store()) as other:
        spec = CollectionSpec("c", [FieldSpec("a", "string", indexed=True)])
        other.ensure_collection("n", spec)
    assert [group.value for group in store.groups("n", "c", "a").items] == ["one"]


def test_what_another_adapter_drops_is_noticed(store, open_store):
    for _ in range(4):
        store.put("n", "c", "x", {"of": "old"})
        store.get("n", "c", "x")
    with closing(open_store()) as other:
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
        other.put("n", "c", "x", {"of": "new"})
        assert store.get("n", "c", "x").data == {"of": "new"}
        assert store.put("n", "c", "x", {}).version == 2


def test_declaring_waits_for_writers_and_writers_for_it(store, other, watch, threads, schema):
    store.put("n", "c", "x", {"a": 1})
    other.execute(f"INSERT INTO {schema}.d_1 SELECT 'y', 1, 0, 0, 7, '{{\"a\":2}}', NULL, NULL")
    spec = CollectionSpec("c", [FieldSpec("a", "int", indexed=True)])
    declaring = threads.submit(store.ensure_collection, "n", spec)
    watch(1)
    writer = threads.submit(store.put, "n", "c", "z", {"a": 3})
    watch(2)
    other.commit()
    declaring.result()
    assert writer.result().version == 1
    found = store.find("n", "c", [Predicate("a", "gte", 2)])
    assert [item.id for item in found.items] == ["y", "z"]


def test_threads_run_side_by_side(store):
    """C091: one lock in the adapter would let only one through."""
    together = threading.Barrier(6)

    def hold(_):
        store._connections.call(lambda _: together.wait(timeout=30), repeatable=False)

    with ThreadPoolExecutor(6) as executor:
        list(executor.map(hold, range(6)))


def test_a_pool_that_stays_empty_is_an_error_that_says_so(open_store):
    with closing(open_store(pool_max_size=1, pool_timeout=0.1)) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        began = monotonic()
        with (
            store._connections._lent(),
            pytest.raises(
                DocumentStorageError, match=r"all 1 connections .* for 0.1 s; raise pool_max_size"
            ),
        ):
            store.count("n", "c")
        assert monotonic() - began < 5
        assert store.count("n", "c") == 0


def test_connections_are_lent_again_and_closed_at_the_end(open_store, postgres_server, schema):
    with closing(open_store()) as store:
        store.ensure_collection("n", CollectionSpec("c"))
        for _ in range(20):
            store.count("n", "c")
        ((connection, _, _),) = store._connections._process.idle
        assert not connection.closed
    assert connection.closed


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_uses_connections_of_its_own(store):
    store.put("n", "c", "parent", {})
    process_id = "SELECT pg_backend_pid()"
    ours = store._connections.call(lambda session: session.single(process_id), repeatable=True)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def child():
        answers.put(
            store._connections.call(lambda session: session.single(process_id), repeatable=True)
        )
        store.put("n", "c", "child", {})
        answers.put([item.id for item in store.find("n", "c").items])
        store.close()

    process = context.Process(target=child)
    process.start()
    assert answers.get(timeout=60) != ours
    assert answers.get(timeout=60) == ["child", "parent"]
    process.join()
    answers.close()
    answers.join_thread()
    assert process.exitcode == 0
    still = store._connections.call(lambda session: session.single(process_id), repeatable=True)
    assert still == ours
    store.put("n", "c", "parent-2", {})
    assert store.count("n", "c") == 3


def test_an_interrupt_in_a_write_leaves_nothing_and_the_store_usable(store, schema):
    def interrupted(session):
        with session.transaction():
            session.execute(f"DELETE FROM {schema}.abi_catalog")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store._connections.call(interrupted, repeatable=True)
    assert store.put("n", "c", "x", {}).version == 1
