"""Predicates as SQL over key columns.

What a key column can say is said in SQL; the rest (a field without a key column, and null against
missing, which both have no key) is left to :mod:`naas_abi_sdk.document.matching`. The SQL never
excludes a document the predicate matches. Values are always bound, and columns are ours, never a
caller's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from naas_abi_sdk.document.matching import ARRAY, sort_key
from naas_abi_sdk.document.types import Predicate

__all__ = ["Conditions", "compile_conditions", "placeholders"]

_COMPARISONS: Final = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_NEVER: Final = "0"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The predicates of a query, for a database and for what is left to do after it.

    Attributes:
        clauses: SQL conditions, AND-ed, and their ``parameters``.
        rest: Predicates that the clauses do not decide.
        constrained: Fields the clauses are about.
        keyed: Those of them that only documents with a key meet.
        pinned: Those of them that the clauses fix to one value.
    """

    clauses: tuple[str, ...]
    parameters: tuple[Any, ...]
    rest: tuple[Predicate, ...]
    constrained: frozenset[str]
    keyed: frozenset[str]
    pinned: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Clause:
    """SQL for one predicate. One that ``decides`` is met by no document without a key."""

    sql: str | None
    parameters: tuple[Any, ...] = ()
    decides: bool = True


def compile_conditions(where: Iterable[Predicate], columns: Mapping[str, str]) -> Conditions:
    """Split valid predicates into SQL and the rest; ``columns`` are the key columns of fields."""
    clauses: list[str] = []
    parameters: list[Any] = []
    rest: list[Predicate] = []
    constrained: set[str] = set()
    keyed: set[str] = set()
    pinned: set[str] = set()
    for predicate in where:
        column = columns.get(predicate.field)
        if column is None:
            rest.append(predicate)
            continue
        clause = _clause(column, predicate)
        if clause.sql is not None:
            clauses.append(clause.sql)
            parameters += clause.parameters
            constrained.add(predicate.field)
        if not clause.decides:
            rest.append(predicate)
            continue
        keyed.add(predicate.field)
        if predicate.operator == "eq":
            pinned.add(predicate.field)
    return Conditions(
        tuple(clauses),
        tuple(parameters),
        tuple(rest),
        frozenset(constrained),
        frozenset(keyed),
        frozenset(pinned),
    )


def placeholders(values: list[Any]) -> tuple[str, list[Any]]:
    """Placeholders for ``values``, and the values with the last repeated up to a power of two.

    So a list of any length up to 500 makes one of ten statements, which stay prepared.
    """
    size = 1 << (len(values) - 1).bit_length()
    return ", ".join("?" * size), values + values[-1:] * (size - len(values))


def _clause(column: str, predicate: Predicate) -> _Clause:
    operator, value = predicate.operator, predicate.value
    if operator == "exists":
        return _Clause(None if value else f"{column} IS NULL", decides=False)
    if operator == "in":
        return _in(column, value)
    if operator == "nin":
        return _nin(column, value)
    if operator == "contains":
        return _Clause(f"{column} >= ? AND {column} < ?", _of_rank(ARRAY), decides=False)
    key = sort_key(value)
    if operator == "eq":
        if key is None:
            return _Clause(f"{column} IS NULL", decides=False)
        return _Clause(f"{column} = ?", (key,))
    if operator == "ne":
        if key is None:
            return _Clause(f"{column} IS NOT NULL")
        return _Clause(f"{column} IS NOT ?", (key,), decides=False)
    assert key is not None, "comparisons take a scalar"
    return _comparison(column, operator, key)


def _comparison(column: str, operator: str, key: bytes) -> _Clause:
    # Only values of the same kind compare: the other end is where the kind begins or ends.
    first, end = _of_rank(key[0])
    if operator in ("lt", "lte"):
        return _Clause(f"{column} >= ? AND {column} {_COMPARISONS[operator]} ?", (first, key))
    return _Clause(f"{column} {_COMPARISONS[operator]} ? AND {column} < ?", (key, end))


def _in(column: str, items: list[Any]) -> _Clause:
    keys, has_null = _keys(items)
    if not keys:
        return _Clause(f"{column} IS NULL", decides=False) if has_null else _Clause(_NEVER)
    places, padded = placeholders(keys)
    if has_null:
        sql = f"({column} IN ({places}) OR {column} IS NULL)"
        return _Clause(sql, tuple(padded), decides=False)
    return _Clause(f"{column} IN ({places})", tuple(padded))


def _nin(column: str, items: list[Any]) -> _Clause:
    keys, has_null = _keys(items)
    if not keys:
        return _Clause(f"{column} IS NOT NULL") if has_null else _Clause(None, decides=False)
    places, padded = placeholders(keys)
    if has_null:
        return _Clause(f"{column} NOT IN ({places})", tuple(padded))
    sql = f"({column} IS NULL OR {column} NOT IN ({places}))"
    return _Clause(sql, tuple(padded), decides=False)


def _keys(items: list[Any]) -> tuple[list[bytes], bool]:
    keys = [sort_key(item) for item in items]
    present = [key for key in keys if key is not None]
    return present, len(present) < len(keys)


def _of_rank(rank: int) -> tuple[bytes, bytes]:
    return bytes((rank,)), bytes((rank + 1,))
