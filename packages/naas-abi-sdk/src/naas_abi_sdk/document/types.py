"""What a document store is asked in and answers with: frozen values, no behaviour.

A document's ``data`` is a ``dict`` with text keys whose values are ``None``, ``bool``, ``int``
(signed 64 bits), ``float`` (finite), ``str``, ``bytes``, aware ``datetime``, and lists and dicts
of these. :mod:`naas_abi_sdk.document.validation` says exactly what is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

__all__ = [
    "CollectionSpec",
    "Data",
    "Delete",
    "Direction",
    "Document",
    "FieldSpec",
    "FieldType",
    "Group",
    "GroupPage",
    "Keep",
    "Operator",
    "OrderBy",
    "Outcome",
    "Page",
    "Predicate",
    "Put",
    "Require",
    "Write",
]

Data: TypeAlias = "dict[str, Any]"
FieldType: TypeAlias = Literal["string", "int", "float", "bool", "datetime", "bytes", "json"]
Operator: TypeAlias = Literal[
    "eq", "ne", "lt", "lte", "gt", "gte", "in", "nin", "contains", "exists"
]
Direction: TypeAlias = Literal["asc", "desc"]


@dataclass(frozen=True, slots=True)
class Document:
    """One stored document. ``version`` counts its writes from 1; both times are UTC."""

    id: str
    data: Data
    created_at: datetime
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some answers of a query. Only an absent ``cursor`` means there are no more."""

    items: tuple[Document, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Documents that have the same value of a field: how many, and since when.

    The times are those at which the first and the last of them were created, in UTC.
    """

    value: str
    count: int
    first_created_at: datetime
    last_created_at: datetime


@dataclass(frozen=True, slots=True)
class GroupPage:
    """Some groups, by value. Only an absent ``cursor`` means there are no more."""

    items: tuple[Group, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition on a top-level field; conditions of a query are AND-ed."""

    field: str
    operator: Operator
    value: Any


@dataclass(frozen=True, slots=True)
class OrderBy:
    """Order by a top-level field, then by id in the same direction."""

    field: str
    direction: Direction = "asc"


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A declared field: its type constrains present, non-null values.

    ``indexed`` asks for queries by this field alone to be fast; a field that is in a unique group
    is served by the group's index instead, from the group's first field on.
    """

    name: str
    type: FieldType
    indexed: bool = False
    unique: bool = False


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """A collection's declared fields and unique groups. Declaring again merges, never removes.

    ``unique_together`` groups also say which fields are queried together: an adapter answers
    queries that fix a prefix of a group from that group's index.
    """

    name: str
    fields: Sequence[FieldSpec] = ()
    unique_together: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True)
class Put:
    """Store ``data`` under ``id``.

    ``if_version`` None stores in any case, 0 only creates, n > 0 replaces exactly version n.
    """

    collection: str
    id: str
    data: Data
    if_version: int | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """Store ``data`` unless ``id`` is already there; then only count its version up.

    For content-addressed documents: the data of one id never differs. The new version tells a
    concurrent sweep, which deletes by version, that the document is wanted again.
    """

    collection: str
    id: str
    data: Data


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove ``id``; with ``if_version`` only at that version, else absence is fine."""

    collection: str
    id: str
    if_version: int | None = None


@dataclass(frozen=True, slots=True)
class Require:
    """Go on only if ``id`` is stored: where it is not, the writes after it are not done.

    With ``if_version``, only if it is stored at exactly that version, from 1.
    """

    collection: str
    id: str
    if_version: int | None = None


Write: TypeAlias = "Put | Keep | Delete | Require"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one write of a batch ended.

    ``state`` is ``done``; ``conflict`` (wrong version, taken unique value, absent required
    document: nothing changed and later writes went on, except after a refused ``Require``); or
    ``skipped`` (an earlier ``Require`` of the batch was refused).
    ``version`` is the document's version after a ``done`` Put or Keep, else None.
    """

    state: Literal["done", "conflict", "skipped"]
    version: int | None = None
    reason: str = field(default="", compare=False)
