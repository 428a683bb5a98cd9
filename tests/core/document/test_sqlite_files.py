"""Files that are not ours, damaged or out of reach: an error names the file and the mend."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing

import pytest

from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.adapters.sqlite_files import wrap_errors
from naas_abi_sdk.document.types import CollectionSpec, FieldSpec, Put
from naas_abi_sdk.errors import DocumentAdapterError, DocumentStorageError, InvalidArgument
from tests.support.sqlite_files import damage, foreign_file, published_file, query, run


@pytest.fixture
def path(tmp_path):
    return tmp_path / "documents.sqlite"


@pytest.fixture
def filled(path):
    """A closed file with documents."""
    store = SQLiteDocuments(path)
    store.ensure_collection("n", CollectionSpec("c", [FieldSpec("n", "int", indexed=True)]))
    store.write("n", [Put("c", f"d{n}", {"n": n, "b": b"x" * 3000}) for n in range(50)])
    store.close()
    return path


def test_a_new_file_and_its_folders_are_made_private_and_durable(tmp_path):
    path = tmp_path / "a" / "b" / "documents.sqlite"
    store = SQLiteDocuments(path)
    store.ensure_collection("n", CollectionSpec("c"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert query(path, "PRAGMA journal_mode") == [("wal",)]
    with store._connections.reading() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["documents.sqlite"]


def test_what_was_stored_is_there_when_the_file_is_opened_again(filled):
    store = SQLiteDocuments(filled)
    assert store.get("n", "c", "d7").data == {"n": 7, "b": b"x" * 3000}
    assert store.collection_spec("n", "c").fields == (FieldSpec("n", "int", indexed=True),)
    store.close()


def test_an_empty_file_becomes_ours(path):
    path.touch()
    SQLiteDocuments(path).close()
    assert query(path, "PRAGMA application_id") == [(0x41424944,)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (foreign_file, "is the SQLite database of another application; nothing was changed"),
        (published_file, "was written by naas-abi-core 3.*nothing was changed.*another path"),
        (lambda path: path.write_text("no database " * 99), "is not a SQLite database; move it"),
        (lambda path: run(path, "PRAGMA user_version = 9"), "another application"),
        (lambda path: run(path, "PRAGMA application_id = 9"), "another application"),
        (lambda path: path.mkdir(), "cannot be opened; check that the folder exists"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_is(path, make, message):
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(DocumentStorageError, match=f"{path}.*{message}"):
        SQLiteDocuments(path)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert list(path.parent.iterdir()) == [path]


def test_a_newer_format_is_refused(filled):
    run(filled, "PRAGMA user_version = 2")
    with pytest.raises(DocumentStorageError, match=r"has format 2, this version reads 1; upgrade"):
        SQLiteDocuments(filled)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DocumentStorageError, match=r"file/documents\.sqlite.*choose a path"):
        SQLiteDocuments(tmp_path / "file" / "documents.sqlite")


@pytest.mark.parametrize("path", ["", None, 7, ":memory:", "a\0b"])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(InvalidArgument, match="document file"):
        SQLiteDocuments(path)


@pytest.mark.parametrize("timeout", [0, -1, "5", True, None, float("nan")])
def test_a_timeout_that_is_none_is_refused(path, timeout):
    with pytest.raises(InvalidArgument, match="timeout must be a positive number"):
        SQLiteDocuments(path, timeout=timeout)
    assert not path.exists()


def test_a_damaged_file_is_named_and_not_touched(filled):
    damage(filled)
    before = filled.read_bytes()

    def open_and_read():
        with closing(SQLiteDocuments(filled)) as store:
            store.get("n", "c", "d1")

    with pytest.raises(DocumentStorageError, match=f"{filled}.*is damaged.*Restore it from a"):
        open_and_read()
    assert filled.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        "data = '{'",
        "data = 'x'",
        """data = '{"b":{"$b":[0,9999]}}'""",
        """data = '{"b":{"$b":7}}'""",
        """data = '{"b":{"$t":"datetime"}}'""",
        "payload = NULL",
    ],
)
def test_a_damaged_document_is_an_error_and_its_neighbours_are_read(filled, change):
    run(filled, f"UPDATE d_1 SET {change} WHERE id = 'd1'")
    store = SQLiteDocuments(filled)
    for read in (
        lambda: store.get("n", "c", "d1"),
        lambda: store.find("n", "c"),
        lambda: store.find("n", "c", fields=["b"]),
        lambda: store.ensure_collection("n", CollectionSpec("c", [FieldSpec("b", "bytes")])),
    ):
        with pytest.raises(DocumentStorageError, match=f"{filled} holds a damaged document"):
            read()
    assert store.get("n", "c", "d2").version == 1
    store.close()


def test_a_full_disk_stores_nothing_of_the_batch_and_can_be_mended(filled):
    store = SQLiteDocuments(filled)
    with store._connections.reading() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    batch = [Put("c", f"new{n}", {"b": b"x" * 9000}) for n in range(9)]
    with pytest.raises(DocumentStorageError, match=f"{filled} cannot grow, the disk is full; free"):
        store.write("n", batch)
    assert store.count("n", "c") == 50
    with store._connections.reading() as connection:
        connection.execute("PRAGMA max_page_count = 100000")
    assert len(store.write("n", batch)) == 9
    assert store.count("n", "c") == 59
    store.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_vanished_is_not_written_any_more(filled, replaced):
    store = SQLiteDocuments(filled)
    filled.unlink()
    if replaced:
        filled.write_bytes(b"something else")
    for call in (
        lambda: store.count("n", "c"),
        lambda: store.write("n", [Put("c", "x", {})]),
    ):
        with pytest.raises(DocumentStorageError, match="moved, deleted or replaced"):
            call()
    assert filled.exists() is replaced
    store.close()


@pytest.mark.parametrize(
    ("code", "expected", "message"),
    [
        (sqlite3.SQLITE_READONLY_DIRECTORY, DocumentStorageError, "cannot be written; give"),
        (sqlite3.SQLITE_IOERR_READ, DocumentStorageError, "failed to be read or written; check"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, DocumentStorageError, "stayed locked .* for 2.5 s"),
        (sqlite3.SQLITE_ERROR, DocumentAdapterError, "refused a statement"),
        (sqlite3.SQLITE_MISUSE, DocumentAdapterError, "refused a statement"),
        (None, DocumentAdapterError, "refused a statement"),
    ],
)
def test_errors_of_sqlite_become_ours(path, code, expected, message):
    error = sqlite3.OperationalError("why")
    if code is not None:
        error.sqlite_errorcode = code
    with pytest.raises(expected, match=message) as caught, wrap_errors(path, 2.5):
        raise error
    assert caught.value.__cause__ is error
    assert str(path) in str(caught.value)
    assert "why" in str(caught.value)


def test_a_document_too_large_for_sqlite_is_the_callers_error(path):
    with pytest.raises(InvalidArgument, match="larger than SQLite can"), wrap_errors(path, 1):
        raise sqlite3.DataError("string or blob too big")
