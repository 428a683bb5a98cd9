"""Predicates as SQL over key columns.

What a key column can say is said in SQL; the rest (a field without a key column, null against
missing, which both have no key, and comparisons with a key that no index takes whole) is left to
:mod:`naas_abi_sdk.document.matching`. The SQL never excludes a document the predicate matches.
Values are always bound, and columns are ours, never a caller's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from naas_abi_core.services.document.adapters.sql.dialect import Dialect, above_prefix
from naas_abi_sdk.document.matching import ARRAY, sort_key
from naas_abi_sdk.document.types import Predicate

__all__ = ["Conditions", "compile_conditions"]

_COMPARISONS: Final = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_NEVER: Final = "FALSE"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The predicates of a query, for a database and for what is left to do after it.

    Attributes:
        clauses: SQL conditions, AND-ed, and their ``parameters``.
        rest: Predicates that the clauses do not decide.
        constrained: Fields the clauses are about.
        keyed: Those of them that only documents with a key meet.
        pinned: Those of them that the clauses fix to one value.
        choices: How many values the clauses leave to each field that they leave only some.
    """

    clauses: tuple[str, ...]
    parameters: tuple[Any, ...]
    rest: tuple[Predicate, ...]
    constrained: frozenset[str]
    keyed: frozenset[str]
    pinned: frozenset[str]
    choices: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Clause:
    """SQL for one predicate. One that ``decides`` is met by no document without a key."""

    sql: str | None
    parameters: Sequence[Any] = ()
    decides: bool = True


def compile_conditions(
    where: Iterable[Predicate], columns: Mapping[str, str], dialect: Dialect
) -> Conditions:
    """Split valid predicates into SQL and the rest; ``columns`` are the key columns of fields."""
    clauses: list[str] = []
    parameters: list[Any] = []
    rest: list[Predicate] = []
    constrained: set[str] = set()
    keyed: set[str] = set()
    pinned: set[str] = set()
    choices: dict[str, int] = {}
    for predicate in where:
        column = columns.get(predicate.field)
        if column is None:
            rest.append(predicate)
            continue
        clause = _clause(column, predicate, dialect)
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
            choices[predicate.field] = 1
        elif predicate.operator == "in":
            choices.setdefault(predicate.field, len(predicate.value))
    return Conditions(
        tuple(clauses),
        tuple(parameters),
        tuple(rest),
        frozenset(constrained),
        frozenset(keyed),
        frozenset(pinned),
        choices,
    )


def _clause(column: str, predicate: Predicate, dialect: Dialect) -> _Clause:
    operator, value = predicate.operator, predicate.value
    if operator == "exists":
        return _Clause(None if value else f"{column} IS NULL", decides=False)
    if operator == "in":
        return _in(column, value, dialect)
    if operator == "nin":
        return _nin(column, value, dialect)
    if operator == "contains":
        return _Clause(f"{column} >= ? AND {column} < ?", _of_rank(ARRAY), decides=False)
    key = sort_key(value)
    if operator == "eq":
        if key is None:
            return _Clause(f"{column} IS NULL", decides=False)
        return _Clause(f"{column} = ?", (dialect.stored_key(key),))
    if operator == "ne":
        if key is None:
            return _Clause(f"{column} IS NOT NULL")
        sql = f"({column} IS NULL OR {column} <> ?)"
        return _Clause(sql, (dialect.stored_key(key),), decides=False)
    assert key is not None, "comparisons take a scalar"
    return _comparison(column, operator, key, dialect)


def _comparison(column: str, operator: str, key: bytes, dialect: Dialect) -> _Clause:
    # Only values of the same kind compare: the other end is where the kind begins or ends.
    first, end = _of_rank(key[0])
    decides = dialect.is_whole(key)
    below = operator in ("lt", "lte")
    if not decides:
        # Whatever begins like the key may be on either side of it.
        prefix = key[: dialect.longest]
        operator, key = ("lte", above_prefix(prefix)) if below else ("gte", prefix)
    if below:
        sql = f"{column} >= ? AND {column} {_COMPARISONS[operator]} ?"
        return _Clause(sql, (first, key), decides)
    return _Clause(f"{column} {_COMPARISONS[operator]} ? AND {column} < ?", (key, end), decides)


def _in(column: str, items: list[Any], dialect: Dialect) -> _Clause:
    keys, has_null = _keys(items, dialect)
    if not keys:
        return _Clause(f"{column} IS NULL", decides=False) if has_null else _Clause(_NEVER)
    sql, parameters = dialect.among(column, keys)
    if has_null:
        return _Clause(f"({sql} OR {column} IS NULL)", parameters, decides=False)
    return _Clause(sql, parameters)


def _nin(column: str, items: list[Any], dialect: Dialect) -> _Clause:
    keys, has_null = _keys(items, dialect)
    if not keys:
        return _Clause(f"{column} IS NOT NULL") if has_null else _Clause(None, decides=False)
    sql, parameters = dialect.not_among(column, keys)
    if has_null:
        return _Clause(sql, parameters)
    return _Clause(f"({column} IS NULL OR {sql})", parameters, decides=False)


def _keys(items: list[Any], dialect: Dialect) -> tuple[list[bytes], bool]:
    keys = [dialect.stored_key(sort_key(item)) for item in items]
    present = [key for key in keys if key is not None]
    return present, len(present) < len(keys)


def _of_rank(rank: int) -> tuple[bytes, bytes]:
    return bytes((rank,)), bytes((rank + 1,))
