"""Counts what goes into a store and comes out of it, in documents and in canonical bytes.

Canonical bytes are the length of the stored JSON text (:mod:`naas_abi_sdk.document.encoding`), so
that figures of different stores compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from threading import Lock
from types import MappingProxyType
from typing import TypeAlias, final

from naas_abi_core.services.document.port import DocumentPort
from naas_abi_sdk.document.encoding import canonical_size
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Data,
    Delete,
    Document,
    GroupPage,
    Keep,
    OrderBy,
    Outcome,
    Page,
    Predicate,
    Put,
    Write,
)
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE

__all__ = ["CollectionUsage", "MeteredDocuments", "Usage"]

_Key: TypeAlias = "tuple[str, str]"


@dataclass(frozen=True, slots=True)
class CollectionUsage:
    """What happened to one collection.

    Attributes:
        written: Documents stored: created or replaced, with their data.
        bytes_written: Canonical bytes of their data.
        touched: Documents found present by a ``Keep``; no data was stored.
        deleted: Deletes that were done.
        read: Documents read.
    """

    written: int = 0
    bytes_written: int = 0
    touched: int = 0
    deleted: int = 0
    read: int = 0

    def __add__(self, other: CollectionUsage) -> CollectionUsage:
        return CollectionUsage(*(a + b for a, b in zip(_values(self), _values(other), strict=True)))

    def __sub__(self, other: CollectionUsage) -> CollectionUsage:
        return CollectionUsage(*(a - b for a, b in zip(_values(self), _values(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Usage:
    """What happened to a store up to a moment; ``later - earlier`` is what happened between.

    Attributes:
        collections: By namespace and collection.
        operations: Calls of the port that touch documents.
        reads: Those of them that only read: ``get``, ``find``, ``count``, ``groups``.
        transactions: Those of them that write: ``put``, ``delete``, and ``write`` as a whole.
    """

    collections: Mapping[_Key, CollectionUsage] = field(default_factory=dict)
    operations: int = 0
    reads: int = 0
    transactions: int = 0

    @property
    def total(self) -> CollectionUsage:
        """All collections together."""
        return sum(self.collections.values(), CollectionUsage())

    def of(self, collection: str) -> CollectionUsage:
        """The collections of this name, of whatever namespace, together."""
        named = (usage for key, usage in self.collections.items() if key[1] == collection)
        return sum(named, CollectionUsage())

    def __sub__(self, earlier: Usage) -> Usage:
        none = CollectionUsage()
        return Usage(
            MappingProxyType(
                {
                    key: usage - earlier.collections.get(key, none)
                    for key, usage in self.collections.items()
                }
            ),
            self.operations - earlier.operations,
            self.reads - earlier.reads,
            self.transactions - earlier.transactions,
        )


@final
class MeteredDocuments:
    """A document port that counts what passes through it to another one."""

    def __init__(self, port: DocumentPort) -> None:
        self._port = port
        self._lock = Lock()
        self._collections: dict[_Key, CollectionUsage] = {}
        self._reads = 0
        self._transactions = 0

    def usage(self) -> Usage:
        """What happened so far."""
        with self._lock:
            return Usage(
                MappingProxyType(dict(self._collections)),
                self._reads + self._transactions,
                self._reads,
                self._transactions,
            )

    def ensure_collection(self, namespace: str, spec: CollectionSpec) -> None:
        """As the port's; not counted."""
        self._port.ensure_collection(namespace, spec)

    def drop_collection(self, namespace: str, collection: str) -> None:
        """As the port's; not counted."""
        self._port.drop_collection(namespace, collection)

    def collections(self, namespace: str) -> list[str]:
        """As the port's; not counted."""
        return self._port.collections(namespace)

    def collection_spec(self, namespace: str, collection: str) -> CollectionSpec:
        """As the port's; not counted."""
        return self._port.collection_spec(namespace, collection)

    def namespaces(self) -> list[str]:
        """As the port's; not counted."""
        return self._port.namespaces()

    def put(
        self,
        namespace: str,
        collection: str,
        id: str,  # noqa: A002 -- a document's own word
        data: Data,
        *,
        if_version: int | None = None,
    ) -> Document:
        """As the port's."""
        document = self._port.put(namespace, collection, id, data, if_version=if_version)
        written = CollectionUsage(written=1, bytes_written=canonical_size(document.data))
        self._wrote([((namespace, collection), written)])
        return document

    def get(self, namespace: str, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """As the port's."""
        document = self._port.get(namespace, collection, id)
        self._read(namespace, collection, 1)
        return document

    def delete(
        self,
        namespace: str,
        collection: str,
        id: str,  # noqa: A002 -- as above
        *,
        if_version: int | None = None,
    ) -> None:
        """As the port's."""
        self._port.delete(namespace, collection, id, if_version=if_version)
        self._wrote([((namespace, collection), CollectionUsage(deleted=1))])

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
        """As the port's."""
        page = self._port.find(
            namespace,
            collection,
            where,
            order_by,
            limit,
            cursor,
            fields=fields,
            max_bytes=max_bytes,
        )
        self._read(namespace, collection, len(page.items))
        return page

    def count(self, namespace: str, collection: str, where: Iterable[Predicate] = ()) -> int:
        """As the port's."""
        count = self._port.count(namespace, collection, where)
        self._read(namespace, collection, 0)
        return count

    def groups(
        self,
        namespace: str,
        collection: str,
        by: str,
        where: Iterable[Predicate] = (),
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
    ) -> GroupPage:
        """As the port's."""
        page = self._port.groups(namespace, collection, by, where, limit, cursor)
        self._read(namespace, collection, 0)
        return page

    def write(self, namespace: str, writes: Sequence[Write]) -> list[Outcome]:
        """As the port's; one transaction, whatever it holds."""
        outcomes = self._port.write(namespace, writes)
        if writes:
            self._wrote(
                ((namespace, write.collection), _usage(write, outcome))
                for write, outcome in zip(writes, outcomes, strict=True)
            )
        return outcomes

    def close(self) -> None:
        """As the port's."""
        self._port.close()

    def _wrote(self, usages: Iterable[tuple[_Key, CollectionUsage]]) -> None:
        with self._lock:
            self._transactions += 1
            for key, usage in usages:
                self._add(key, usage)

    def _read(self, namespace: str, collection: str, documents: int) -> None:
        with self._lock:
            self._reads += 1
            self._add((namespace, collection), CollectionUsage(read=documents))

    def _add(self, key: _Key, usage: CollectionUsage) -> None:
        self._collections[key] = self._collections.get(key, CollectionUsage()) + usage


def _values(usage: CollectionUsage) -> list[int]:
    return [getattr(usage, item.name) for item in fields(usage)]


def _usage(write: Write, outcome: Outcome) -> CollectionUsage:
    if outcome.state != "done":
        return CollectionUsage()
    if isinstance(write, Keep) and outcome.version != 1:
        return CollectionUsage(touched=1)
    if isinstance(write, (Put, Keep)):
        return CollectionUsage(written=1, bytes_written=canonical_size(write.data))
    return CollectionUsage(deleted=int(isinstance(write, Delete)))
