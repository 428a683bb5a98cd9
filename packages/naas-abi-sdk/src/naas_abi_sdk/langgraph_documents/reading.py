"""Reads that operations share: what is absent reads as empty, whatever the reason.

A collection that was never declared holds nothing, so reading a thread from a store no saver has
written to is reading an empty thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from naas_abi_sdk.document.commands import Find, Operation, Read, find, together
from naas_abi_sdk.document.types import Data, Document, Page, Predicate
from naas_abi_sdk.errors import CollectionNotFound
from naas_abi_sdk.langgraph_documents.addresses import is_addressed, is_element
from naas_abi_sdk.langgraph_documents.batching import Reference, batches, references

__all__ = ["Kept", "Reached", "equals", "find_all", "pages", "read_together", "read_values"]

_EMPTY = Page(())


class Kept(Protocol):
    """Value documents at hand: those of another read, or a saver's cache."""

    def found(self, refs: Iterable[str]) -> Mapping[str, Data]:
        """Those of the documents that are at hand, by reference, in the order asked."""


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
        elements, others = _apart(fresh)
        values = [data for data in others if "ref" in data and is_addressed(data)]
        for data in (*elements, *values):
            reached[data["ref"]] = data
            read.append(data)
        roots = [data for data in others if "ref" not in data and follows(data)]
        level = _unread([*roots, *values], cached, reached, asked)
        waiting = []
    return Reached(reached, read, answers)


def _apart(documents: Sequence[Data]) -> tuple[list[Data], list[Data]]:
    """Those documents that are elements, which reference nothing, and the others."""
    elements: list[Data] = []
    others: list[Data] = []
    for data in documents:
        (elements if is_element(data) else others).append(data)
    return elements, others


def _unread(
    roots: Sequence[Data], cached: Kept, reached: dict[str, Data], asked: set[str]
) -> list[Reference]:
    unread: list[Reference] = []
    pending = roots
    while pending:
        sizes = {
            ref: size for root in pending for ref, size in references(root) if ref not in asked
        }
        asked.update(sizes)
        found = cached.found(sizes)
        reached.update(found)
        unread += [(ref, size) for ref, size in sizes.items() if ref not in found]
        pending = [
            document
            for ref, document in found.items()
            if ref[0] != "e" or "parts" in document["value"]  # others end here
        ]
    return unread


def _by_reference(agent_id: str, thread_id: str, collection: str, refs: list[str]) -> Find:
    return Find(
        collection,
        (*equals(agent_id=agent_id, thread_id=thread_id), Predicate("ref", "in", refs)),
        limit=len(refs),
    )
