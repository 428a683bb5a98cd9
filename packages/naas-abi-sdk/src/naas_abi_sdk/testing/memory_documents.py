"""A document store in memory: every promise of the document port, nothing kept.

For tests, of this project and of its users. It passes the contract the real stores pass, records
what it was asked, and can be made to fail in the middle of a batch like a store that has no
transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from threading import RLock
from typing import Any, final

from naas_abi_sdk.document.encoding import Encoded, encode, to_json_text
from naas_abi_sdk.document.grouping import gather, prepare_groups
from naas_abi_sdk.document.matching import compile_predicates
from naas_abi_sdk.document.paging import Entry, Query, assemble, prepare, project, select
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
    Require,
    Write,
)
from naas_abi_sdk.document.validation import (
    check_grouped_field,
    check_name,
    check_spec,
    check_types,
    check_write,
)
from naas_abi_sdk.errors import (
    CollectionNotFound,
    DocumentNotFound,
    DocumentStorageError,
    UniqueViolation,
    VersionConflict,
)
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE
from naas_abi_sdk.testing._memory_collection import Collection, Stored, declared
from naas_abi_sdk.testing.memory_namespace import MemoryNamespace

__all__ = ["MemoryDocuments"]


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


@final
class MemoryDocuments:
    """The document port in memory; safe to use from many threads.

    Args:
        clock: Gives the times of documents, aware and never going backwards.

    Attributes:
        calls: What was asked, oldest first: tuples of the method's name, the namespace, the
            collection where there is one, and what is asked of it (an id, conditions as
            ``(field, operator)`` pairs, the field to group by, or how many writes). Clear it
            whenever you like.
    """

    def __init__(self, clock: Callable[[], datetime] = _utc_now) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._clock = clock
        self._lock = RLock()
        self._namespaces: dict[str, dict[str, Collection]] = {}
        self._writes_left: int | None = None
        self._closed = False

    def for_namespace(self, namespace: str) -> MemoryNamespace:
        """The store seen from one namespace, as operations are performed on."""
        check_name(namespace, "namespace")
        return MemoryNamespace(self, namespace)

    def fail_after(self, writes: int | None) -> None:
        """Do ``writes`` more single writes, then fail every one with ``DocumentStorageError``.

        What a batch wrote before it failed stays written, as in a store without transactions.
        None ends it.
        """
        with self._lock:
            self._writes_left = writes

    def snapshot(self) -> dict[str, dict[str, dict[str, str]]]:
        """Every document's data as canonical JSON, by namespace, collection and id, all sorted."""
        with self._lock:
            return {
                namespace: {
                    name: {
                        id_: to_json_text(stored.data)
                        for id_, stored in sorted(collection.documents.items())
                    }
                    for name, collection in sorted(collections.items())
                }
                for namespace, collections in sorted(self._namespaces.items())
            }

    def ensure_collection(self, namespace: str, spec: CollectionSpec) -> None:
        """Declare a collection, or merge ``spec`` into what is declared."""
        check_name(namespace, "namespace")
        check_spec(spec)
        with self._lock:
            self._called("ensure_collection", namespace, spec.name)
            collections = self._namespaces.setdefault(namespace, {})
            collections[spec.name] = declared(collections.get(spec.name), spec)

    def drop_collection(self, namespace: str, collection: str) -> None:
        """Delete a collection and its documents."""
        with self._lock:
            self._called("drop_collection", namespace, collection)
            self._collection(namespace, collection)
            del self._namespaces[namespace][collection]

    def collections(self, namespace: str) -> list[str]:
        """Names of the namespace's collections, sorted."""
        check_name(namespace, "namespace")
        with self._lock:
            self._called("collections", namespace)
            return sorted(self._namespaces.get(namespace, ()))

    def collection_spec(self, namespace: str, collection: str) -> CollectionSpec:
        """The merged declaration of a collection."""
        with self._lock:
            self._called("collection_spec", namespace, collection)
            return self._collection(namespace, collection).spec

    def namespaces(self) -> list[str]:
        """Namespaces that hold at least one collection, sorted."""
        with self._lock:
            self._called("namespaces")
            return sorted(name for name, held in self._namespaces.items() if held)

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
        write = Put(collection, id, data, if_version)
        check_write(write)
        encoded = encode(data)
        with self._lock:
            self._called("put", namespace, collection, id)
            target = self._collection(namespace, collection)
            check_types(target.spec.fields, data)
            self._count_write()
            return target.put(write, encoded, self._clock()).document()

    def get(self, namespace: str, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """Read a document, or raise ``DocumentNotFound``."""
        check_name(id, "document id")
        with self._lock:
            self._called("get", namespace, collection, id)
            stored = self._collection(namespace, collection).documents.get(id)
            if stored is None:
                message = f"no document {id!r} in collection {collection!r}"
                raise DocumentNotFound(message)
            return stored.document()

    def delete(
        self,
        namespace: str,
        collection: str,
        id: str,  # noqa: A002 -- as above
        *,
        if_version: int | None = None,
    ) -> None:
        """Remove a document."""
        write = Delete(collection, id, if_version)
        check_write(write)
        with self._lock:
            self._called("delete", namespace, collection, id)
            target = self._collection(namespace, collection)
            self._count_write()
            target.delete(write)

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
        with self._lock:
            self._called("find", namespace, collection, _outline(query.where))
            documents = self._collection(namespace, collection).documents
            chosen = select(((id_, stored.data) for id_, stored in documents.items()), query)
            return assemble((_entry(documents[id_], query) for id_ in chosen), query)

    def count(self, namespace: str, collection: str, where: Iterable[Predicate] = ()) -> int:
        """How many documents meet every predicate."""
        query = prepare(namespace, collection, where)
        with self._lock:
            self._called("count", namespace, collection, _outline(query.where))
            documents = self._collection(namespace, collection).documents
            return sum(query.matches(stored.data) for stored in documents.values())

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
        meets = compile_predicates(query.conditions)
        with self._lock:
            self._called("groups", namespace, collection, by)
            target = self._collection(namespace, collection)
            check_grouped_field(target.spec, by)
            return gather(
                (
                    (stored.data[by], stored.created_at)
                    for stored in target.documents.values()
                    if meets(stored.data)
                ),
                query,
            )

    def write(self, namespace: str, writes: Sequence[Write]) -> list[Outcome]:
        """Apply writes in order and answer each; :meth:`fail_after` says what a failure leaves."""
        check_name(namespace, "namespace")
        prepared = [(write, _encoded(write)) for write in writes]
        with self._lock:
            self._called("write", namespace, len(prepared))
            targets = [self._collection(namespace, write.collection) for write, _ in prepared]
            for target, (write, _) in zip(targets, prepared, strict=True):
                if isinstance(write, (Put, Keep)):
                    check_types(target.spec.fields, write.data)
            outcomes: list[Outcome] = []
            refused = False
            for target, (write, encoded) in zip(targets, prepared, strict=True):
                outcome = Outcome("skipped") if refused else self._apply(target, write, encoded)
                refused = refused or (isinstance(write, Require) and outcome.state == "conflict")
                outcomes.append(outcome)
        return outcomes

    def close(self) -> None:
        """Refuse later calls. What is stored stays, for ``snapshot``."""
        with self._lock:
            self._closed = True

    def _called(self, *call: Any) -> None:
        if self._closed:
            message = "this document store is closed; open a new one"
            raise DocumentStorageError(message)
        self.calls.append(call)

    def _count_write(self) -> None:
        if self._writes_left is None:
            return
        if self._writes_left <= 0:
            message = "this document store was told to fail; fail_after(None) ends that"
            raise DocumentStorageError(message)
        self._writes_left -= 1

    def _collection(self, namespace: str, name: str) -> Collection:
        check_name(namespace, "namespace")
        check_name(name, "collection name")
        collection = self._namespaces.get(namespace, {}).get(name)
        if collection is None:
            message = (
                f"collection {name!r} is not declared in {namespace!r}; ensure_collection first"
            )
            raise CollectionNotFound(message)
        return collection

    def _apply(self, target: Collection, write: Write, encoded: Encoded | None) -> Outcome:
        if isinstance(write, Require):
            found = target.documents.get(write.id)
            if found is not None and write.if_version in (None, found.version):
                return Outcome("done")
            where = "" if write.if_version is None else f" at version {write.if_version}"
            return Outcome("conflict", reason=f"document {write.id!r} is absent{where}")
        self._count_write()
        try:
            if isinstance(write, Delete):
                target.delete(write)
                return Outcome("done")
            assert encoded is not None, "puts are encoded before the first write"
            if isinstance(write, Keep) and write.id in target.documents:
                return Outcome("done", target.touch(write.id, self._clock()).version)
            if isinstance(write, Keep):
                write = Put(write.collection, write.id, write.data, 0)
            return Outcome("done", target.put(write, encoded, self._clock()).version)
        except (VersionConflict, UniqueViolation) as conflict:
            return Outcome("conflict", reason=str(conflict))


def _encoded(write: Write) -> Encoded | None:
    check_write(write)
    return encode(write.data) if isinstance(write, (Put, Keep)) else None


def _entry(stored: Stored, query: Query) -> Entry:
    parts = query.parts_of(stored.data)
    document = stored.document()
    if query.fields is None:
        return Entry(document, stored.encoded.size, parts)
    data, size = project(document.data, query)
    return Entry(replace(document, data=data), size, parts)


def _outline(where: Sequence[Predicate]) -> tuple[tuple[str, str], ...]:
    return tuple((item.field, item.operator) for item in where)
