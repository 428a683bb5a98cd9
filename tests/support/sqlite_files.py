"""SQLite files of every kind that is not ours, and what a query does to one that is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def run(path: Path, *statements: str) -> None:
    """Run statements on a file with SQLite alone."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def query(path: Path, statement: str) -> list[Any]:
    """Rows of a statement, read with SQLite alone."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def foreign_file(path: Path) -> None:
    """Another application's database."""
    run(path, "CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('keep me')")


def published_file(path: Path) -> None:
    """A file in the layout of the published packages."""
    run(
        path,
        "CREATE TABLE abi_document_collections (namespace TEXT, name TEXT, spec TEXT)",
        "CREATE TABLE abi_documents (namespace TEXT, collection TEXT, id TEXT, data TEXT)",
    )


def damage(path: Path) -> None:
    """Overwrite the middle of a file, sparing its first page."""
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
