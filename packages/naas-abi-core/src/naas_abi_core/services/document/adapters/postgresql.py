"""Documents in one schema of a PostgreSQL database: the shared store.

See :mod:`.sql.layout` for its tables.

Every call is one transaction, on disk when the call returns, and most are one statement and one
round trip. Any number of processes may use a schema, also through a pooler such as PgBouncer in
transaction mode (:mod:`.postgresql_sessions`).

Isolation is READ COMMITTED, and what it leaves open is closed so:

* *Versions.* ``put`` and ``delete`` at a version name it in the statement that changes the row. Who
  waits for another writer's row looks at the row again, so one of several has it.
* *Creating* is ``ON CONFLICT DO NOTHING``, which waits for a creation under way and neither fails
  nor repeats it. ``Keep`` is ``ON CONFLICT (id) DO UPDATE``: it has stored the document or moved
  the version of one that is there, whatever anybody else does meanwhile.
* *Require* locks the document (``FOR KEY SHARE``): a ``Keep`` of it goes on, while whoever deletes
  it waits until this transaction has ended, and everything stored with it is there to be seen. A
  deletion under way is waited for, and then the document is absent. At a version it is locked
  ``FOR SHARE``, so that whoever changes it waits, or is waited for, too.
* *Order.* Every transaction locks rows by collection and id, so that none wait in a circle. Batches
  whose order means something lock what is there first; if what is not there yet leads to a circle
  all the same, PostgreSQL undoes one and it starts over.
* *Reading* is one statement, or a REPEATABLE READ transaction: a page holds no document twice and
  no bytes of another version than the rest.
* *Declarations* take the collection's table away under its name; see :class:`.Catalog`.

A lost connection is replaced and the call repeated once if that is the same as doing it once:
reading; writing, if no commit was asked for, or only ``Require``, ``Keep``, ``Delete`` without a
version, and ``Put`` that creates, where what is found is compared with what was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from time import monotonic
from typing import Final, TypeVar, final

import psycopg

from naas_abi_core.services.document.adapters.postgresql_catalog import Catalog
from naas_abi_core.services.document.adapters.postgresql_connections import Connections
from naas_abi_core.services.document.adapters.postgresql_declaring import declare, drop
from naas_abi_core.services.document.adapters.postgresql_reading import (
    count_matches,
    read_groups,
    read_page,
)
from naas_abi_core.services.document.adapters.postgresql_schema import lock_schema, prepare_schema
from naas_abi_core.services.document.adapters.postgresql_sessions import Session
from naas_abi_core.services.document.adapters.postgresql_settings import check_settings
from naas_abi_core.services.document.adapters.postgresql_writing import (
    delete,
    put,
    write,
)
from naas_abi_core.services.document.adapters.repeating import is_repeatable
from naas_abi_core.services.document.adapters.sql.declaring import is_declared
from naas_abi_core.services.document.adapters.sql.layout import Layout
from naas_abi_core.services.document.adapters.sql.reading import (
    DOCUMENT_COLUMNS,
    document_of,
    instant,
    microseconds,
)
from naas_abi_core.services.document.adapters.sql.writing import (
    Prepared,
    Row,
    prepare_write,
    row_of,
)
from naas_abi_sdk.document.encoding import decode
from naas_abi_sdk.document.grouping import prepare_groups
from naas_abi_sdk.document.paging import prepare
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
from naas_abi_sdk.errors import DocumentNotFound
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE

__all__ = ["PostgreSQLDocuments"]

R = TypeVar("R")

#: The table a statement names is gone, or has another name.
_STALE: Final = psycopg.errors.UndefinedTable
#: Another transaction has undone ours; nothing of it is left.
_UNDONE: Final = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@final
class PostgreSQLDocuments:
    """The document port over one schema of a PostgreSQL database.

    Args:
        dsn: Connection string of libpq, a URL or ``key=value`` pairs.
        schema: Where the tables are; it is made if it is not there.
        pool_max_size: Connections at most, each serving one call at a time.
        pool_timeout: Seconds a call waits for one of them.
        connect_timeout: Seconds to reach the database, also when it restarts.
        statement_timeout: Seconds a statement takes at most, waiting for locks included.
        clock: Gives the times of documents, aware.

    Raises:
        InvalidArgument: a setting is none.
        DocumentStorageError: the database cannot be reached, or its schema is not ours.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "abi_document_store",
        pool_max_size: int = 10,
        pool_timeout: float = 5.0,
        connect_timeout: float = 5.0,
        statement_timeout: float = 30.0,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._settings = check_settings(
            dsn,
            schema,
            pool_max_size,
            pool_timeout=pool_timeout,
            connect_timeout=connect_timeout,
            statement_timeout=statement_timeout,
        )
        self._clock = clock
        self._catalog = Catalog(schema)
        self._connections = Connections(self._settings)
        try:
            self._call(lambda session: prepare_schema(session, self._settings))
        except BaseException:
            self._connections.close()
            raise

    def ensure_collection(self, namespace: str, spec: CollectionSpec) -> None:
        """Declare a collection, or merge ``spec`` into what is declared."""
        check_name(namespace, "namespace")
        check_spec(spec)

        def ensure(session: Session) -> None:
            if is_declared(self._catalog.find_layout(session, namespace, spec.name), spec):
                return
            self._catalog.forget(namespace, spec.name)
            with session.transaction():
                lock_schema(session, self._settings)
                declare(session, self._catalog, namespace, spec)

        self._call(ensure)

    def drop_collection(self, namespace: str, collection: str) -> None:
        """Delete a collection and its documents."""
        _check_collection(namespace, collection)

        def remove(session: Session) -> None:
            with session.transaction():
                lock_schema(session, self._settings)
                drop(session, self._catalog, namespace, collection)

        self._connections.call(remove, repeatable=False)

    def collections(self, namespace: str) -> list[str]:
        """Names of the namespace's collections, sorted."""
        check_name(namespace, "namespace")
        return self._call(lambda session: self._catalog.names(session, namespace))

    def collection_spec(self, namespace: str, collection: str) -> CollectionSpec:
        """The merged declaration of a collection."""
        _check_collection(namespace, collection)
        return self._call(
            lambda session: self._catalog.read_layout(session, namespace, collection).spec
        )

    def namespaces(self) -> list[str]:
        """Namespaces that hold at least one collection, sorted."""
        return self._call(self._catalog.namespaces)

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
        now = microseconds(self._clock())
        stored = self._write(
            namespace, [prepared], lambda session, rows: put(session, rows[0], now)
        )
        encoded = prepared.encoded
        assert encoded is not None, "puts are encoded"
        content = decode(encoded.text, encoded.payload)
        return Document(id, content, instant(stored.created_at), instant(now), stored.version)

    def get(self, namespace: str, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """Read a document, or raise ``DocumentNotFound``."""
        _check_collection(namespace, collection)
        check_name(id, "document id")

        def read(session: Session, layout: Layout) -> Document:
            sql = layout.select(DOCUMENT_COLUMNS, "WHERE id = ?")
            rows = session.single(sql, (layout.dialect.stored_id(id),))
            if not rows:
                message = f"no document {id!r} in collection {collection!r}"
                raise DocumentNotFound(message)
            return document_of(id, rows[0])

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
        self._write(namespace, [prepared], lambda session, rows: delete(session, rows[0]))

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
        return self._read(
            namespace, collection, lambda session, layout: read_page(session, layout, query)
        )

    def count(self, namespace: str, collection: str, where: Iterable[Predicate] = ()) -> int:
        """How many documents meet every predicate."""
        query = prepare(namespace, collection, where)
        return self._read(
            namespace, collection, lambda session, layout: count_matches(session, layout, query)
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

        def page(session: Session, layout: Layout) -> GroupPage:
            if not is_groupable(layout.spec, by):
                # Another process may have declared the field since.
                layout = self._catalog.read_layout(session, namespace, collection)
            return read_groups(session, layout, query)

        return self._read(namespace, collection, page)

    def write(self, namespace: str, writes: Sequence[Write]) -> list[Outcome]:
        """Apply writes in order and answer each, in one transaction."""
        check_name(namespace, "namespace")
        prepared = [prepare_write(write) for write in writes]
        if not prepared:
            return []
        now = microseconds(self._clock())
        return self._write(namespace, prepared, lambda session, rows: write(session, rows, now))

    def close(self) -> None:
        """Close every connection. Later calls raise ``DocumentStorageError``."""
        self._connections.close()

    def _call(self, action: Callable[[Session], R]) -> R:
        return self._connections.call(action, repeatable=True)

    def _read(self, namespace: str, collection: str, answer: Callable[[Session, Layout], R]) -> R:
        def action(session: Session) -> R:
            return self._current(
                session,
                namespace,
                [collection],
                lambda layouts: answer(session, layouts[collection]),
            )

        return self._call(action)

    def _write(
        self,
        namespace: str,
        prepared: Sequence[Prepared],
        perform: Callable[[Session, Sequence[Row]], R],
    ) -> R:
        check_name(namespace, "namespace")
        names = sorted({item.write.collection for item in prepared})
        deadline = monotonic() + self._settings.statement_timeout

        def action(session: Session) -> R:
            def act(layouts: Mapping[str, Layout]) -> R:
                rows = [row_of(item, layouts[item.write.collection]) for item in prepared]
                return perform(session, rows)

            while True:
                try:
                    return self._current(session, namespace, names, act)
                except _UNDONE:
                    if monotonic() > deadline:
                        raise

        repeatable = all(is_repeatable(item.write) for item in prepared)
        return self._connections.call(action, repeatable=repeatable)

    def _current(
        self,
        session: Session,
        namespace: str,
        names: Sequence[str],
        act: Callable[[Mapping[str, Layout]], R],
    ) -> R:
        """What ``act`` does with layouts that are still those of the collections."""
        known: dict[str, Layout] = {}
        while True:
            layouts = {name: self._catalog.layout(session, namespace, name) for name in names}
            try:
                return act(layouts)
            except _STALE:
                if layouts == known:
                    raise
                known = layouts
                for name in names:
                    self._catalog.forget(namespace, name)


def _check_collection(namespace: str, collection: str) -> None:
    check_name(namespace, "namespace")
    check_name(collection, "collection name")
