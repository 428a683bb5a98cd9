"""Answers an operation's commands from one namespace of a document store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

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

__all__ = ["Documents", "perform"]


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
            message = "Emit reached a performer: an operation that emits must be iterated, not run"
            raise TypeError(message)
