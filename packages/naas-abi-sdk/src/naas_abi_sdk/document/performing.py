"""Answers an operation's commands from one namespace of a document store.

Once for stores that are called and once for those that are awaited; a driver of the same kind
takes it. Every command may be repeated, so the awaited store, which is behind a network, is told
that its writes may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Protocol

from naas_abi_sdk.document.commands import (
    Apply,
    Command,
    Declare,
    Emit,
    Find,
    Get,
    Groups,
    Together,
)
from naas_abi_sdk.document.concurrency import all_of
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Document,
    GroupPage,
    OrderBy,
    Outcome,
    Page,
    Predicate,
    Write,
)
from naas_abi_sdk.errors import DocumentNotFound

__all__ = ["AsyncDocuments", "Documents", "aperform", "perform"]

_NOT_RUN: Final = "Emit reached a performer: an operation that emits must be iterated, not run"


class Documents(Protocol):
    """What performing needs of a namespace of a store; core's ``DocumentService`` is one."""

    def ensure_collection(self, spec: CollectionSpec) -> None:
        """Declare a collection, merging with what is declared already."""

    def get(self, collection: str, id: str) -> Document:  # noqa: A002 -- a document's own word
        """Read one document or raise ``DocumentNotFound``."""

    def find(
        self,
        collection: str,
        where: Sequence[Predicate] = ...,
        order_by: OrderBy | None = ...,
        limit: int = ...,
        cursor: str | None = ...,
        *,
        fields: Sequence[str] | None = ...,
        max_bytes: int | None = ...,
    ) -> Page:
        """Read one page of a query."""

    def groups(
        self,
        collection: str,
        by: str,
        where: Sequence[Predicate] = ...,
        limit: int = ...,
        cursor: str | None = ...,
    ) -> GroupPage:
        """Read one page of groups."""

    def write(self, writes: Sequence[Write]) -> list[Outcome]:
        """Apply writes in order, in one transaction where the store has them."""


class AsyncDocuments(Protocol):
    """What performing needs of a namespace that is awaited; ``DocumentClient`` is one."""

    async def ensure_collection(self, spec: CollectionSpec) -> None:
        """Declare a collection, merging with what is declared already."""

    async def get(self, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """Read one document or raise ``DocumentNotFound``."""

    async def find(
        self,
        collection: str,
        where: Sequence[Predicate] = ...,
        order_by: OrderBy | None = ...,
        limit: int = ...,
        cursor: str | None = ...,
        *,
        fields: Sequence[str] | None = ...,
        max_bytes: int | None = ...,
    ) -> Page:
        """Read one page of a query."""

    async def groups(
        self,
        collection: str,
        by: str,
        where: Sequence[Predicate] = ...,
        limit: int = ...,
        cursor: str | None = ...,
    ) -> GroupPage:
        """Read one page of groups."""

    async def write_stages(
        self, stages: Sequence[Sequence[Write]], *, repeatable: bool = ...
    ) -> list[Outcome]:
        """Apply stages of writes in order, those of one stage in any order or at once."""


def perform(documents: Documents, command: Command) -> Any:
    """Answer one command; raises the store's errors unchanged."""
    match command:
        case Get(collection, id_):
            try:
                return documents.get(collection, id_)
            except DocumentNotFound:
                return None
        case Find():
            return documents.find(
                command.collection,
                command.where,
                command.order_by,
                command.limit,
                command.cursor,
                fields=command.fields,
                max_bytes=command.max_bytes,
            )
        case Groups(collection, by, where, limit, cursor):
            return documents.groups(collection, by, where, limit, cursor)
        case Together(reads):
            return [perform(documents, read) for read in reads]
        case Apply():
            return documents.write(command.writes)
        case Declare(specs):
            for spec in specs:
                documents.ensure_collection(spec)
            return None
        case Emit():
            raise TypeError(_NOT_RUN)


async def aperform(documents: AsyncDocuments, command: Command) -> Any:
    """Answer one command; raises the store's errors unchanged."""
    match command:
        case Get(collection, id_):
            try:
                return await documents.get(collection, id_)
            except DocumentNotFound:
                return None
        case Find():
            return await documents.find(
                command.collection,
                command.where,
                command.order_by,
                command.limit,
                command.cursor,
                fields=command.fields,
                max_bytes=command.max_bytes,
            )
        case Groups(collection, by, where, limit, cursor):
            return await documents.groups(collection, by, where, limit, cursor)
        case Together(reads):
            return await all_of([partial(aperform, documents, read) for read in reads])
        case Apply(stages):
            return await documents.write_stages(stages, repeatable=True)
        case Declare(specs):
            await all_of([partial(documents.ensure_collection, spec) for spec in specs])
            return None
        case Emit():
            raise TypeError(_NOT_RUN)
