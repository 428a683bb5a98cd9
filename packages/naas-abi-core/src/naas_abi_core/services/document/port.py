"""The port: what a document store promises. Adapters implement it, contract tests hold them to it.

Namespaces hold collections, collections hold documents. One document is the unit of atomicity;
:meth:`DocumentPort.write` does many in one transaction where the store has transactions.

Values, names, predicates, ordering, cursors and versions mean the same in every adapter because
adapters do not decide them; ``naas_abi_sdk.document`` does, in ``validation``, ``encoding``,
``matching``, ``paging`` and ``grouping``.
Adapters are called from many threads at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

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

__all__ = ["DocumentPort"]


@runtime_checkable
class DocumentPort(Protocol):
    """A store of documents."""

    def ensure_collection(self, namespace: str, spec: CollectionSpec) -> None:
        """Declare a collection, or merge ``spec`` into what is declared.

        Fields are united by name and unique groups by their set of fields; ``indexed`` and
        ``unique`` are only ever added. All or nothing.

        Raises:
            InvalidArgument: a field has another type already, or a stored document does not fit.
            UniqueViolation: stored documents break a new unique constraint.
        """

    def drop_collection(self, namespace: str, collection: str) -> None:
        """Delete a collection and its documents, or raise ``CollectionNotFound``."""

    def collections(self, namespace: str) -> list[str]:
        """Names of the namespace's collections, sorted; empty for an unknown namespace."""

    def collection_spec(self, namespace: str, collection: str) -> CollectionSpec:
        """The merged declaration of a collection, or ``CollectionNotFound``."""

    def namespaces(self) -> list[str]:
        """Namespaces that hold at least one collection, sorted."""

    def put(
        self,
        namespace: str,
        collection: str,
        id: str,  # noqa: A002 -- a document's own word
        data: Data,
        *,
        if_version: int | None = None,
    ) -> Document:
        """Store a document and return it as stored.

        ``if_version`` None replaces whatever is there, 0 only creates, n > 0 replaces exactly
        version n. Replacing keeps ``created_at``.

        Raises:
            VersionConflict: the document exists (0), or is absent or at another version (n).
            UniqueViolation: another document holds a value declared unique.
        """

    def get(self, namespace: str, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """Read a document, or raise ``DocumentNotFound``."""

    def delete(
        self,
        namespace: str,
        collection: str,
        id: str,  # noqa: A002 -- as above
        *,
        if_version: int | None = None,
    ) -> None:
        """Remove a document. Without ``if_version`` an absent one is fine.

        Raises:
            VersionConflict: absent or at another version than ``if_version``.
        """

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
        """Read one page of the documents that meet every predicate.

        Args:
            namespace: Namespace of the collection.
            collection: Collection to search.
            where: Conditions, AND-ed.
            order_by: Order; by id when None.
            limit: Items at most, 1 to 1000.
            cursor: Where the previous page of the same query ended.
            fields: Top-level fields to return; None for all, empty for none. What is left out
                is not read where the store can avoid it, and not part of the cursor.
            max_bytes: Estimated bytes at most: canonical JSON of the returned data, plus the id,
                plus 64, each. A page holds at least one item whatever its size.

        Raises:
            InvalidArgument: a predicate, order, limit or cursor is malformed, or the cursor
                belongs to another query.
        """

    def count(self, namespace: str, collection: str, where: Iterable[Predicate] = ()) -> int:
        """How many documents meet every predicate."""

    def groups(
        self,
        namespace: str,
        collection: str,
        by: str,
        where: Iterable[Predicate] = (),
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
    ) -> GroupPage:
        """Read one page of the groups that documents form by the value of a field.

        Groups come by value, as UTF-8 bytes compare. A document in which the field is null or
        missing is in none. No data is read, where the store's indexes decide every predicate.

        Args:
            namespace: Namespace of the collection.
            collection: Collection to look at.
            by: The field; declared a string, and indexed, unique or in a unique group.
            where: Conditions that documents meet, AND-ed.
            limit: Groups at most, 1 to 1000.
            cursor: Where the previous page of the same groups ended.

        Raises:
            InvalidArgument: ``by`` is no such field; a predicate, limit or cursor is malformed; or
                the cursor belongs to other groups.
        """

    def write(self, namespace: str, writes: Sequence[Write]) -> list[Outcome]:
        """Apply writes in order and answer each.

        In one transaction where the store has them; else each document is atomic and a failure
        leaves a prefix done. Conflicts are answers, not failures: the rest goes on, except after a
        refused ``Require``. Names, values and declared types are checked before the first write.

        Raises:
            InvalidArgument: a write is not portable or does not fit its collection's declaration.
            CollectionNotFound: a write's collection is not declared.
        """

    def close(self) -> None:
        """Release what the adapter holds. Later calls raise ``DocumentStorageError``."""
