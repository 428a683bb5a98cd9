"""A store in memory seen from one namespace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, final

from naas_abi_sdk.document.types import (
    CollectionSpec,
    Data,
    Document,
    GroupPage,
    OrderBy,
    Outcome,
    Page,
    Predicate,
    Write,
)
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE

if TYPE_CHECKING:
    from naas_abi_sdk.testing.memory_documents import MemoryDocuments

__all__ = ["MemoryNamespace"]


@final
class MemoryNamespace:
    """One namespace of a :class:`MemoryDocuments`; what operations are performed on.

    Every method is the store's method of that name without the namespace.
    """

    def __init__(self, store: MemoryDocuments, namespace: str) -> None:
        self.store = store
        self.namespace = namespace

    @property
    def calls(self) -> list[tuple[Any, ...]]:
        """The calls of the whole store."""
        return self.store.calls

    def snapshot(self) -> dict[str, dict[str, str]]:
        """The namespace's documents as canonical JSON, by collection and id."""
        return self.store.snapshot().get(self.namespace, {})

    def ensure_collection(self, spec: CollectionSpec) -> None:
        """As :meth:`MemoryDocuments.ensure_collection`."""
        self.store.ensure_collection(self.namespace, spec)

    def put(
        self,
        collection: str,
        id: str,  # noqa: A002 -- a document's own word
        data: Data,
        *,
        if_version: int | None = None,
    ) -> Document:
        """As :meth:`MemoryDocuments.put`."""
        return self.store.put(self.namespace, collection, id, data, if_version=if_version)

    def get(self, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """As :meth:`MemoryDocuments.get`."""
        return self.store.get(self.namespace, collection, id)

    def delete(
        self,
        collection: str,
        id: str,  # noqa: A002 -- as above
        *,
        if_version: int | None = None,
    ) -> None:
        """As :meth:`MemoryDocuments.delete`."""
        self.store.delete(self.namespace, collection, id, if_version=if_version)

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
        """As :meth:`MemoryDocuments.find`."""
        return self.store.find(
            self.namespace,
            collection,
            where,
            order_by,
            limit,
            cursor,
            fields=fields,
            max_bytes=max_bytes,
        )

    def count(self, collection: str, where: Iterable[Predicate] = ()) -> int:
        """As :meth:`MemoryDocuments.count`."""
        return self.store.count(self.namespace, collection, where)

    def groups(
        self,
        collection: str,
        by: str,
        where: Iterable[Predicate] = (),
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
    ) -> GroupPage:
        """As :meth:`MemoryDocuments.groups`."""
        return self.store.groups(self.namespace, collection, by, where, limit, cursor)

    def write(self, writes: Sequence[Write]) -> list[Outcome]:
        """As :meth:`MemoryDocuments.write`."""
        return self.store.write(self.namespace, writes)
