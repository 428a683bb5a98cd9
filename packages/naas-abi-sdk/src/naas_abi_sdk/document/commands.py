"""The words an operation speaks, and the verbs that speak them.

An operation is a generator: it yields commands and is sent their answers. It never touches a
store; a driver (:mod:`naas_abi_sdk.document.driving`) hands each command to a performer
(:mod:`naas_abi_sdk.document.performing`) and sends the answer back.

============  =====================================================  ========================
command       meaning                                                answer
============  =====================================================  ========================
``Get``       one document by id                                     ``Document`` or ``None``
``Find``      one page of a query                                    ``Page``
``Groups``    one page of the groups a query's documents form        ``GroupPage``
``Together``  reads that do not depend on each other                 a list of their answers
``Apply``     stages of writes, in order                             a list of ``Outcome``
``Declare``   these collections exist                                ``None``
``Emit``      hand an item to whoever iterates                       ``None``
============  =====================================================  ========================

Expected outcomes are answers. Failures (:class:`~naas_abi_sdk.errors.DocumentError`) are thrown
into the operation at its ``yield``. Every command an operation yields may be repeated, so a
performer, and only it, may send one again when it cannot know whether it was done.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

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
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE

__all__ = [
    "Apply",
    "Command",
    "Declare",
    "Emit",
    "Find",
    "Get",
    "Groups",
    "Operation",
    "Read",
    "Together",
    "apply",
    "declare",
    "emit",
    "find",
    "get",
    "groups",
    "together",
]


@dataclass(frozen=True, slots=True)
class Get:
    """One document by id."""

    collection: str
    id: str


@dataclass(frozen=True, slots=True)
class Find:
    """One page of a query; see ``DocumentPort.find`` for every argument."""

    collection: str
    where: tuple[Predicate, ...] = ()
    order_by: OrderBy | None = None
    limit: int = DEFAULT_PAGE_SIZE
    cursor: str | None = None
    fields: tuple[str, ...] | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Groups:
    """One page of groups; see ``DocumentPort.groups`` for every argument."""

    collection: str
    by: str
    where: tuple[Predicate, ...] = ()
    limit: int = DEFAULT_PAGE_SIZE
    cursor: str | None = None


Read: TypeAlias = "Get | Find"


@dataclass(frozen=True, slots=True)
class Together:
    """Reads that may be answered in any order or at once."""

    reads: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """Stages of writes: a stage starts when the one before is done.

    The writes of one stage are independent of each other. A store with transactions does all of
    it in one; any other leaves a prefix done when it fails.
    """

    stages: tuple[tuple[Write, ...], ...]

    @property
    def writes(self) -> tuple[Write, ...]:
        """All writes, stage after stage: the order of the answer's outcomes."""
        return tuple(write for stage in self.stages for write in stage)


@dataclass(frozen=True, slots=True)
class Declare:
    """These collections exist from here on."""

    specs: tuple[CollectionSpec, ...]


@dataclass(frozen=True, slots=True)
class Emit:
    """An item for whoever iterates the operation."""

    item: Any


Command: TypeAlias = "Get | Find | Groups | Together | Apply | Declare | Emit"

R = TypeVar("R")
#: An operation that returns ``R``.
Operation: TypeAlias = Generator[Command, Any, R]


def get(collection: str, id: str) -> Operation[Document | None]:  # noqa: A002 -- a document's own word
    """Read one document; None if it is absent."""
    return cast("Document | None", (yield Get(collection, id)))


def find(query: Find) -> Operation[Page]:
    """Read one page."""
    return cast("Page", (yield query))


def groups(query: Groups) -> Operation[GroupPage]:
    """Read one page of groups."""
    return cast("GroupPage", (yield query))


def together(reads: Sequence[Read]) -> Operation[list[Any]]:
    """Read what does not depend on each other; answers in the order asked."""
    if not reads:
        return []
    return cast("list[Any]", (yield Together(tuple(reads))))


def apply(*stages: Sequence[Write]) -> Operation[list[Outcome]]:
    """Write the stages in order; one outcome a write."""
    kept = tuple(tuple(stage) for stage in stages if stage)
    if not kept:
        return []
    return cast("list[Outcome]", (yield Apply(kept)))


def declare(specs: Sequence[CollectionSpec]) -> Operation[None]:
    """Make sure the collections exist."""
    yield Declare(tuple(specs))


def emit(item: object) -> Operation[None]:
    """Hand ``item`` to whoever iterates."""
    yield Emit(item)
