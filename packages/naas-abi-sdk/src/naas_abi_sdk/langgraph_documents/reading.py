"""Reads that operations share: what is absent reads as empty, whatever the reason.

A collection that was never declared holds nothing, so reading a thread from a store no saver has
written to is reading an empty thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from naas_abi_sdk.document.commands import Find, Operation, Read, find, together
from naas_abi_sdk.document.types import Data, Document, Page, Predicate
from naas_abi_sdk.errors import CollectionNotFound
from naas_abi_sdk.langgraph_documents.addresses import is_addressed
from naas_abi_sdk.langgraph_documents.batching import Reference, batches, references

__all__ = ["Kept", "Reached", "equals", "find_all", "pages", "read_together", "read_values"]

_EMPTY = Page(())


class Kept(Protocol):
    """Value documents at hand, by reference: a dict, or a saver's cache."""

    def get(self, ref: str, /) -> Data | None:
        """A document, None if it is not at hand."""


def equals(**fields: str) -> tuple[Predicate, ...]:
    """Conditions that fix fields, in the order given."""
    return tuple(Predicate(field, "eq", value) for field, value in fields.items())


def read_together(reads: Sequence[Read]) -> Operation[list[Any]]:
    """Answers of independent reads; of an undeclared collection, None or an empty page."""
    try:
        return (yield from together(reads))
    except CollectionNotFound:
        answers = []
        for read in reads:
            try:
                answers.extend((yield from together([read])))
            except CollectionNotFound:
                answers.append(_EMPTY if isinstance(read, Find) else None)
        return answers


def pages(query: Find) -> Operation[list[Document]]:
    """Every document of a query."""
    first = (yield from read_together([query]))[0]
    return (yield from _rest(query, first))


def _rest(query: Find, page: Page) -> Operation[list[Document]]:
    items = list(page.items)
    while page.cursor is not None:
        page = yield from find(
            Find(
                query.collection,
                query.where,
                query.order_by,
                query.limit,
                page.cursor,
                query.fields,
                query.max_bytes,
            )
        )
        items.extend(page.items)
    return items


def find_all(queries: Sequence[Find]) -> Operation[list[list[Document]]]:
    """Every document of each query; the first pages are read together."""
    firsts = yield from read_together(queries)
    answers = []
    for query, first in zip(queries, firsts, strict=True):
        answers.append((yield from _rest(query, first)))
    return answers


class Reached(NamedTuple):
    """What a read of values gave.

    Attributes:
        values: Exactly the value documents that were reached, by reference; one that the store
            does not have is absent.
        read: Those of them that were not at hand.
        also: Answers of the queries that were read along.
    """

    values: dict[str, Data]
    read: list[Data]
    also: list[list[Document]]


def read_values(
    agent_id: str,
    thread_id: str,
    roots: Sequence[Data],
    cached: Kept,
    also: Sequence[Find] = (),
    follows: Callable[[Data], bool] = lambda _: True,
) -> Operation[Reached]:
    """Read everything ``roots`` reference, level by level, and answer ``also``.

    ``also`` are queries read together with the first level; what their documents reference is
    read with the levels after it, for those that ``follows`` approves of. What ``cached`` holds is
    not read again; what does not hold what its address says is left out as if it were not there.
    """
    reached: dict[str, Data] = {}
    asked: set[str] = set()
    answers: list[list[Document]] = []
    read: list[Data] = []
    level = _unread(roots, cached, reached, asked)
    waiting = list(also)
    while level or waiting:
        queries = [_by_reference(agent_id, thread_id, *batch) for batch in batches(level)]
        found = yield from find_all([*waiting, *queries])
        answers.extend(found[: len(waiting)])
        fresh = [document.data for documents in found for document in documents]
        values = [data for data in fresh if "ref" in data and is_addressed(data)]
        reached.update((data["ref"], data) for data in values)
        read.extend(values)
        others = [data for data in fresh if "ref" not in data and follows(data)]
        level = _unread([*others, *values], cached, reached, asked)
        waiting = []
    return Reached(reached, read, answers)


def _unread(
    roots: Sequence[Data], cached: Kept, reached: dict[str, Data], asked: set[str]
) -> list[Reference]:
    unread: list[Reference] = []
    pending = deque(roots)
    while pending:
        for ref, size in references(pending.popleft()):
            if ref in asked:
                continue
            asked.add(ref)
            if (document := cached.get(ref)) is None:
                unread.append((ref, size))
            else:
                reached[ref] = document
                if ref[0] != "e" or "parts" in document["value"]:  # others end here
                    pending.append(document)
    return unread


def _by_reference(agent_id: str, thread_id: str, collection: str, refs: list[str]) -> Find:
    return Find(
        collection,
        (*equals(agent_id=agent_id, thread_id=thread_id), Predicate("ref", "in", refs)),
        limit=len(refs),
    )
