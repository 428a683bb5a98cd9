"""The document service as modules use it: one namespace of a store.

:class:`DocumentRoot` belongs to whoever opened the store and hands out namespaces. A
:class:`DocumentService` is bound to one and cannot reach another, so a module can be given one
without being given its neighbours' documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NoReturn, final

from naas_abi_core.services.document.port import DocumentPort
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
from naas_abi_sdk.document.validation import check_name
from naas_abi_sdk.errors import DocumentNotFound, UniqueViolation
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE

__all__ = ["DocumentRoot", "DocumentService"]

#: Documents ``iterate`` asks for at a time.
_ITERATE_BATCH: Final = 500


@final
class DocumentService:
    """One namespace of a document store. Every error is one of :mod:`naas_abi_sdk.errors`.

    What the methods promise is said once, in :class:`~.port.DocumentPort`; only what they add is
    said here.
    """

    def __init__(self, adapter: DocumentPort, namespace: str) -> None:
        check_name(namespace, "namespace")
        self._adapter = adapter
        self._namespace = namespace

    @staticmethod
    def for_engine(adapter: DocumentPort) -> DocumentRoot:
        """The root of a store, for whoever opened it and will close it."""
        return DocumentRoot(adapter)

    @property
    def namespace(self) -> str:
        """The namespace all calls go to."""
        return self._namespace

    def for_namespace(self, namespace: str) -> NoReturn:
        """Always a PermissionError: only the root hands out namespaces."""
        self._not_ours(f"open namespace {namespace!r}")

    def namespaces(self) -> NoReturn:
        """Always a PermissionError: only the root lists namespaces."""
        self._not_ours("list namespaces")

    def ensure_collection(self, spec: CollectionSpec) -> None:
        """Declare a collection, or merge ``spec`` into what is declared."""
        self._adapter.ensure_collection(self._namespace, spec)

    def drop_collection(self, collection: str) -> None:
        """Delete a collection and its documents."""
        self._adapter.drop_collection(self._namespace, collection)

    def collections(self) -> list[str]:
        """Names of the collections, sorted."""
        return self._adapter.collections(self._namespace)

    def collection_spec(self, collection: str) -> CollectionSpec:
        """The merged declaration of a collection."""
        return self._adapter.collection_spec(self._namespace, collection)

    def put(
        self,
        collection: str,
        id: str,  # noqa: A002 -- a document's own word
        data: Data,
        *,
        if_version: int | None = None,
    ) -> Document:
        """Store a document and return it as stored."""
        return self._adapter.put(self._namespace, collection, id, data, if_version=if_version)

    def get(self, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """Read a document, or raise ``DocumentNotFound``."""
        return self._adapter.get(self._namespace, collection, id)

    def exists(self, collection: str, id: str) -> bool:  # noqa: A002 -- as above
        """Whether a document is stored."""
        try:
            self.get(collection, id)
        except DocumentNotFound:
            return False
        return True

    def delete(
        self,
        collection: str,
        id: str,  # noqa: A002 -- as above
        *,
        if_version: int | None = None,
    ) -> None:
        """Remove a document."""
        self._adapter.delete(self._namespace, collection, id, if_version=if_version)

    def find(
        self,
        collection: str,
        where: Iterable[Predicate] = (),
        order_by: OrderBy | None = None,
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
        *,
        fields: Sequence[str] | None = None,
        max_bytes: int | None = None,
    ) -> Page:
        """Read one page of a query."""
        return self._adapter.find(
            self._namespace,
            collection,
            where,
            order_by,
            limit,
            cursor,
            fields=fields,
            max_bytes=max_bytes,
        )

    def find_one(
        self,
        collection: str,
        where: Iterable[Predicate] = (),
        order_by: OrderBy | None = None,
        *,
        fields: Sequence[str] | None = None,
    ) -> Document | None:
        """The first document of a query, or None."""
        items = self.find(collection, where, order_by, 1, fields=fields).items
        return items[0] if items else None

    def iterate(
        self,
        collection: str,
        where: Iterable[Predicate] = (),
        order_by: OrderBy | None = None,
        *,
        fields: Sequence[str] | None = None,
        max_bytes: int | None = None,
    ) -> Iterator[Document]:
        """Every document of a query, read page by page; not a snapshot.

        ``max_bytes`` bounds a page, and so what is held in memory at once.
        """
        conditions = tuple(where)
        cursor: str | None = None
        while True:
            page = self.find(
                collection,
                conditions,
                order_by,
                _ITERATE_BATCH,
                cursor,
                fields=fields,
                max_bytes=max_bytes,
            )
            yield from page.items
            cursor = page.cursor
            if cursor is None:
                return

    def count(self, collection: str, where: Iterable[Predicate] = ()) -> int:
        """How many documents meet every predicate."""
        return self._adapter.count(self._namespace, collection, where)

    def groups(
        self,
        collection: str,
        by: str,
        where: Iterable[Predicate] = (),
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
    ) -> GroupPage:
        """Read one page of the groups that documents form by the value of a field."""
        return self._adapter.groups(self._namespace, collection, by, where, limit, cursor)

    def put_many(
        self, collection: str, documents: Mapping[str, Data] | Iterable[tuple[str, Data]]
    ) -> None:
        """Store documents by id, in one transaction where the store has them.

        Raises:
            UniqueViolation: some hold a value another document has; the message names them. The
                others are stored.
        """
        items = documents.items() if isinstance(documents, Mapping) else documents
        writes = [Put(collection, id_, data) for id_, data in items]
        refused = [
            write.id
            for write, outcome in zip(writes, self.write(writes), strict=True)
            if outcome.state != "done"
        ]
        if refused:
            message = f"unique values are taken, not stored in {collection!r}: {refused}"
            raise UniqueViolation(message)

    def delete_many(self, collection: str, ids: Iterable[str]) -> None:
        """Remove documents by id; absent ones are fine."""
        self.write([Delete(collection, id_) for id_ in ids])

    def write(self, writes: Sequence[Write]) -> list[Outcome]:
        """Apply writes in order and answer each."""
        return self._adapter.write(self._namespace, writes)

    def _not_ours(self, what: str) -> NoReturn:
        message = (
            f"the document service of namespace {self._namespace!r} cannot {what}; "
            "only the root that the engine holds can"
        )
        raise PermissionError(message)


_STORAGE_CALLS: Final = frozenset(
    name
    for name in vars(DocumentService)
    if not name.startswith("_") and name not in ("for_engine", "for_namespace", "namespaces")
)


@final
class DocumentRoot:
    """A whole store, for whoever opened it: hands out namespaces, reads and writes nothing.

    Any storage call is a PermissionError, so that no document is ever stored outside a namespace.
    """

    def __init__(self, adapter: DocumentPort) -> None:
        self._adapter = adapter

    def for_namespace(self, namespace: str) -> DocumentService:
        """The document service of one namespace."""
        return DocumentService(self._adapter, namespace)

    def namespaces(self) -> list[str]:
        """Namespaces that hold at least one collection, sorted."""
        return self._adapter.namespaces()

    def close(self) -> None:
        """Close the store; later calls of every namespace raise ``DocumentStorageError``."""
        self._adapter.close()

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name not in _STORAGE_CALLS:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)

        def refuse(*_: object, **__: object) -> NoReturn:
            message = f"{name} needs a namespace; call for_namespace(...) first"
            raise PermissionError(message)

        return refuse
