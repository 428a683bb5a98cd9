"""A batch of writes for a service that has no batches: single calls with the same outcomes.

Earlier engines answer ``put`` and ``delete`` only. The writes of a stage are independent of each
other, so they are sent at once, a bounded number at a time; the next stage waits for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from naas_abi_sdk.document.concurrency import all_of
from naas_abi_sdk.document.types import Data, Delete, Document, Keep, Outcome, Put, Require, Write
from naas_abi_sdk.errors import DocumentNotFound, UniqueViolation, VersionConflict

__all__ = ["SingleCalls", "write_singly"]


class SingleCalls(Protocol):
    """What is needed of a namespace to write to it one document at a time."""

    async def put(
        self,
        collection: str,
        id: str,  # noqa: A002 -- a document's own word
        data: Data,
        *,
        if_version: int | None = ...,
        repeatable: bool = ...,
    ) -> Document:
        """Store a document."""

    async def get(self, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """Read a document."""

    async def delete(
        self,
        collection: str,
        id: str,  # noqa: A002 -- as above
        *,
        if_version: int | None = ...,
        repeatable: bool = ...,
    ) -> None:
        """Remove a document."""


async def write_singly(
    documents: SingleCalls, stages: Sequence[Sequence[Write]], *, repeatable: bool
) -> list[Outcome]:
    """Write stage after stage; one outcome a write, as a service with batches has them."""
    outcomes: list[Outcome] = []
    refused = False
    for stage in stages:
        if refused:
            outcomes += [Outcome("skipped")] * len(stage)
            continue
        ends = await all_of([partial(_write, documents, write, repeatable) for write in stage])
        outcomes += ends
        refused = any(
            isinstance(write, Require) and end.state != "done"
            for write, end in zip(stage, ends, strict=True)
        )
    return outcomes


async def _write(documents: SingleCalls, write: Write, repeatable: bool) -> Outcome:  # noqa: FBT001 -- handed on
    at = write.collection, write.id
    try:
        if isinstance(write, Keep):
            return Outcome("done", await _keep(documents, write, repeatable))
        if isinstance(write, Put):
            version, data = write.if_version, write.data
            stored = await documents.put(*at, data, if_version=version, repeatable=repeatable)
            return Outcome("done", stored.version)
        if isinstance(write, Delete):
            await documents.delete(*at, if_version=write.if_version, repeatable=repeatable)
        else:
            found = (await documents.get(*at)).version
            if write.if_version not in (None, found):
                reason = f"document {write.id!r} is at version {found}, not {write.if_version}"
                return Outcome("conflict", reason=reason)
    except (VersionConflict, UniqueViolation, DocumentNotFound) as conflict:
        return Outcome("conflict", reason=str(conflict))
    return Outcome("done")


async def _keep(documents: SingleCalls, write: Keep, repeatable: bool) -> int:  # noqa: FBT001 -- handed on
    """Create the document, or count its version up by storing it again at its version."""
    at = write.collection, write.id
    version = 0
    while True:
        try:
            stored = await documents.put(*at, write.data, if_version=version, repeatable=repeatable)
        except VersionConflict:
            try:
                version = (await documents.get(*at)).version
            except DocumentNotFound:
                version = 0
        else:
            return stored.version
