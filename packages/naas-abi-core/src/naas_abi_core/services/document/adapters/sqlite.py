"""Documents in one SQLite file: the embedded store. See :mod:`.sql.layout` for its tables.

Every write is whole in one transaction in a write-ahead log, on disk when the call returns; threads
that write at the same time share one. Several threads and processes may use a file; readers never
wait, writers queue for at most ``timeout`` seconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timezone
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypeVar, final

from naas_abi_core.services.document.adapters.sql.catalog import Catalog
from naas_abi_core.services.document.adapters.sql.declaring import declare, is_declared
from naas_abi_core.services.document.adapters.sql.finding import plan
from naas_abi_core.services.document.adapters.sql.grouping import Grouper
from naas_abi_core.services.document.adapters.sql.layout import Layout
from naas_abi_core.services.document.adapters.sql.reading import (
    DOCUMENT_COLUMNS,
    Reader,
    document_of,
    few_columns,
    instant,
    microseconds,
    page_of_few,
)
from naas_abi_core.services.document.adapters.sql.writing import (
    Prepared,
    Row,
    Writer,
    prepare_write,
    row_of,
)
from naas_abi_core.services.document.adapters.sqlite_connections import Connections
from naas_abi_sdk.document.encoding import decode
from naas_abi_sdk.document.grouping import prepare_groups
from naas_abi_sdk.document.paging import assemble, prepare
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Data,
    Delete,
    Document,
    GroupPage,
    OrderBy,
    Outcome,
    Page,
    Predicate,
    Put,
    Write,
)
from naas_abi_sdk.document.validation import check_name, check_spec, is_groupable
from naas_abi_sdk.errors import DocumentNotFound, InvalidArgument
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE

__all__ = ["SQLiteDocuments"]

R = TypeVar("R")


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@final
class SQLiteDocuments:
    """The document port over one SQLite file.

    Args:
        path: The file; it and its folders are made if they are not there.
        timeout: Seconds a call waits for other writers.
        clock: Gives the times of documents, aware.

    Raises:
        InvalidArgument: the path or the timeout is none.
        DocumentStorageError: the file cannot be opened, or is not a file of ours.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        timeout: float = 5.0,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._clock = clock
        self._catalog = Catalog()
        self._connections = Connections(_checked_path(path), _checked_timeout(timeout))

    def ensure_collection(self, namespace: str, spec: CollectionSpec) -> None:
        """Declare a collection, or merge ``spec`` into what is declared."""
        check_name(namespace, "namespace")
        check_spec(spec)
        with self._connections.reading() as connection:
            declared = is_declared(
                self._catalog.find_layout(connection, namespace, spec.name), spec
            )
        if not declared:
            with self._connections.writing() as connection:
                declare(connection, self._catalog, namespace, spec)

    def drop_collection(self, namespace: str, collection: str) -> None:
        """Delete a collection and its documents."""
        _check_collection(namespace, collection)
        with self._connections.writing() as connection:
            layout = self._catalog.read_layout(connection, namespace, collection)
            self._catalog.forget(namespace, collection)
            self._catalog.remove(connection, layout)

    def collections(self, namespace: str) -> list[str]:
        """Names of the namespace's collections, sorted."""
        check_name(namespace, "namespace")
        with self._connections.reading() as connection:
            return self._catalog.names(connection, namespace)

    def collection_spec(self, namespace: str, collection: str) -> CollectionSpec:
        """The merged declaration of a collection."""
        _check_collection(namespace, collection)
        with self._connections.reading() as connection:
            return self._catalog.read_layout(connection, namespace, collection).spec

    def namespaces(self) -> list[str]:
        """Namespaces that hold at least one collection, sorted."""
        with self._connections.reading() as connection:
            return self._catalog.namespaces(connection)

    def put(
        self,
        namespace: str,
        collection: str,
        id: str,  # noqa: A002 -- a document's own word
        data: Data,
        *,
        if_version: int | None = None,
    ) -> Document:
        """Store a document and return it as stored."""
        prepared = prepare_write(Put(collection, id, data, if_version))
        now, (version, created_at) = self._write(
            namespace, [prepared], lambda writer, rows: (writer.now, writer.put(rows[0]))
        )
        encoded = prepared.encoded
        assert encoded is not None, "puts are encoded"
        stored = decode(encoded.text, encoded.payload)
        return Document(id, stored, instant(created_at), instant(now), version)

    def get(self, namespace: str, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """Read a document, or raise ``DocumentNotFound``."""
        _check_collection(namespace, collection)
        check_name(id, "document id")

        def read(connection: sqlite3.Connection, layout: Layout) -> Document:
            sql = layout.select(DOCUMENT_COLUMNS, "WHERE id = ?")
            row = connection.execute(sql, (id,)).fetchone()
            if row is None:
                message = f"no document {id!r} in collection {collection!r}"
                raise DocumentNotFound(message)
            return document_of(id, row)

        return self._read(namespace, collection, read)

    def delete(
        self,
        namespace: str,
        collection: str,
        id: str,  # noqa: A002 -- as above
        *,
        if_version: int | None = None,
    ) -> None:
        """Remove a document."""
        prepared = prepare_write(Delete(collection, id, if_version))
        self._write(namespace, [prepared], lambda writer, rows: writer.delete(rows[0]))

    def find(
        self,
        namespace: str,
        collection: str,
        where: Iterable[Predicate] = (),
        order_by: OrderBy | None = None,
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
        *,
        fields: Sequence[str] | None = None,
        max_bytes: int | None = None,
    ) -> Page:
        """Read one page of the documents that meet every predicate."""
        query = prepare(
            namespace,
            collection,
            where,
            order_by,
            limit,
            cursor,
            fields=fields,
            max_bytes=max_bytes,
        )

        def page(connection: sqlite3.Connection, layout: Layout) -> Page:
            found = plan(query, layout)
            if found.few:
                sql = layout.select(few_columns(layout.dialect), found.where)
                rows = connection.execute(sql, found.conditions.parameters).fetchall()
                return page_of_few(rows, layout.dialect)
            reader = Reader(connection.execute, layout, query, found)
            with closing(reader.entries()) as entries:
                return assemble(entries, query)

        return self._read(namespace, collection, page)

    def count(self, namespace: str, collection: str, where: Iterable[Predicate] = ()) -> int:
        """How many documents meet every predicate."""
        query = prepare(namespace, collection, where)
        return self._read(
            namespace,
            collection,
            lambda connection, layout: Reader(
                connection.execute, layout, query, plan(query, layout)
            ).count(),
        )

    def groups(
        self,
        namespace: str,
        collection: str,
        by: str,
        where: Iterable[Predicate] = (),
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
    ) -> GroupPage:
        """Read one page of the groups that documents form by the value of a field."""
        query = prepare_groups(namespace, collection, by, where, limit, cursor)

        def page(connection: sqlite3.Connection, layout: Layout) -> GroupPage:
            if not is_groupable(layout.spec, by):
                # Another process may have declared the field since.
                layout = self._catalog.read_layout(connection, namespace, collection)
            grouper = Grouper(layout, query)
            return grouper.at_once(connection.execute) or grouper.in_python(connection.execute)

        return self._read(namespace, collection, page)

    def write(self, namespace: str, writes: Sequence[Write]) -> list[Outcome]:
        """Apply writes in order and answer each, in one transaction."""
        check_name(namespace, "namespace")
        prepared = [prepare_write(write) for write in writes]
        if not prepared:
            return []
        return self._write(namespace, prepared, Writer.perform)

    def close(self) -> None:
        """Close the file. Later calls raise ``DocumentStorageError``."""
        self._connections.close()

    def _read(
        self, namespace: str, collection: str, answer: Callable[[sqlite3.Connection, Layout], R]
    ) -> R:
        with self._connections.snapshot() as connection:
            layout = self._catalog.layout(connection, namespace, collection)
            try:
                return answer(connection, layout)
            except sqlite3.OperationalError:
                # Another process may have dropped the table, or declared the collection anew.
                fresh = self._catalog.read_layout(connection, namespace, collection)
                if fresh.table == layout.table:
                    raise
                return answer(connection, fresh)

    def _write(
        self,
        namespace: str,
        prepared: Sequence[Prepared],
        perform: Callable[[Writer, Sequence[Row]], R],
    ) -> R:
        check_name(namespace, "namespace")
        while True:
            layouts = self._layouts(namespace, {item.write.collection for item in prepared})
            rows = [row_of(item, layouts[item.write.collection]) for item in prepared]
            done = self._connections.commit(partial(self._perform, layouts, rows, perform))
            if done is not None:
                return done[0]
            # A collection was declared or dropped meanwhile: the rows may lack a key.
            for name in layouts:
                self._catalog.forget(namespace, name)

    def _perform(
        self,
        layouts: Mapping[str, Layout],
        rows: Sequence[Row],
        perform: Callable[[Writer, Sequence[Row]], R],
        connection: sqlite3.Connection,
    ) -> tuple[R] | None:
        """What ``perform`` returns, or None if ``layouts`` are no longer those of the file."""
        if not self._catalog.is_current(connection, layouts.values()):
            return None
        return (perform(Writer(connection, microseconds(self._clock())), rows),)

    def _layouts(self, namespace: str, names: Iterable[str]) -> dict[str, Layout]:
        known = {name: self._catalog.known(namespace, name) for name in names}
        if None not in known.values():
            return {name: layout for name, layout in known.items() if layout is not None}
        with self._connections.reading() as connection:
            return {name: self._catalog.layout(connection, namespace, name) for name in known}


def _check_collection(namespace: str, collection: str) -> None:
    check_name(namespace, "namespace")
    check_name(collection, "collection name")


def _checked_path(path: object) -> Path:
    if not isinstance(path, (str, PathLike)) or not str(path) or "\0" in str(path):
        message = f"path of the document file must be text, not {path!r}"
        raise InvalidArgument(message)
    if str(path) == ":memory:":
        message = "a document file must be a file; use the adapter 'memory' to keep nothing"
        raise InvalidArgument(message)
    return Path(path).expanduser().absolute()


def _checked_timeout(timeout: object) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        message = f"timeout must be a positive number of seconds, not {timeout!r}"
        raise InvalidArgument(message)
    return float(timeout)
