"""What is portable: names, declarations, writes and queries that every store accepts alike.

Everything here raises :class:`~naas_abi_sdk.errors.InvalidArgument` and touches no store, so a
wrong call fails the same way before any store is asked. The rules for values live in
:mod:`naas_abi_sdk.document.encoding`, whose walk checks and encodes at once;
:func:`check_data` is that walk without its result.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NoReturn, get_args

from naas_abi_sdk.document.encoding import check_text, encode, tagged
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Data,
    Delete,
    FieldSpec,
    FieldType,
    Keep,
    Operator,
    OrderBy,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.errors import InvalidArgument
from naas_abi_sdk.limits import MAX_IN_VALUES, MAX_PAGE_SIZE

__all__ = [
    "check_data",
    "check_fields",
    "check_grouped_field",
    "check_if_version",
    "check_limit",
    "check_max_bytes",
    "check_name",
    "check_order_by",
    "check_predicates",
    "check_spec",
    "check_types",
    "check_write",
    "is_groupable",
    "merge_specs",
    "unique_constraints",
]

_OPERATORS: Final = frozenset(get_args(Operator))
_COMPARISONS: Final = frozenset(("lt", "lte", "gt", "gte"))
_FIELD_TYPES: Final = frozenset(get_args(FieldType))

_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
    "datetime": datetime,
    "bytes": bytes,
    "json": object,
}
#: Declared types that a bool is not, though Python says so.
_NUMBERS: Final = frozenset(("int", "float"))


def check_name(value: Any, what: str) -> None:
    """A namespace, collection, id or field name: text, not empty, no U+0000, no lone surrogate."""
    if type(value) is str and value:
        if not value.isascii() or "\0" in value:
            check_text(value, what)
        return
    problem = "is empty" if value == "" else f"must be str, not {type(value).__name__}"
    _refuse(f"{what} {problem}")


def check_data(data: Data) -> None:
    """A document's data; the message says where a refused value sits."""
    encode(data)


def check_if_version(value: Any) -> None:
    """The version a write asks for: None, or an int from 0 to the largest signed 64-bit one."""
    if value is not None and (type(value) is not int or not 0 <= value < 2**63):
        _refuse(f"if_version must be None or an int of at least 0, not {value!r}")


def check_write(write: Any) -> None:
    """One write of a batch, its data left out: encoding checks that."""
    if not isinstance(write, (Put, Keep, Delete, Require)):
        _refuse(f"writes must be Put, Keep, Delete or Require, not {type(write).__name__}")
    check_name(write.collection, "collection name")
    check_name(write.id, "document id")
    if isinstance(write, Require) and write.if_version == 0:
        _refuse("if_version of a Require must be None or at least 1: what is absent cannot be held")
    if isinstance(write, (Put, Delete, Require)):
        check_if_version(write.if_version)


def check_types(fields: Iterable[FieldSpec], data: Data) -> None:
    """Declared types constrain the fields that are present and not null."""
    for field in fields:
        value = data.get(field.name)
        if value is None:
            continue
        if not isinstance(value, _TYPES[field.type]) or (
            type(value) is bool and field.type in _NUMBERS
        ):
            _refuse(f"data.{field.name} is declared {field.type}, not {type(value).__name__}")


def check_spec(spec: Any) -> None:
    """A declaration: distinct fields of known types, unique groups of distinct fields."""
    if not isinstance(spec, CollectionSpec):
        _refuse(f"spec must be a CollectionSpec, not {type(spec).__name__}")
    check_name(spec.name, "collection name")
    names = [_checked_field(field) for field in _items(spec.fields, "fields")]
    if len(set(names)) != len(names):
        _refuse(f"collection {spec.name!r} declares a field twice: {sorted(names)}")
    for group in _items(spec.unique_together, "unique_together"):
        members = _items(group, "a unique_together group")
        for member in members:
            check_name(member, "field name in unique_together")
        if not members or len(set(members)) != len(members):
            _refuse(f"unique_together of {spec.name!r} needs distinct fields, not {members}")


def merge_specs(stored: CollectionSpec | None, added: CollectionSpec) -> CollectionSpec:
    """``added`` united with what is declared already; both must be valid.

    Stored fields and groups keep their place; ``indexed`` and ``unique`` are only ever added;
    groups are the same if they hold the same fields in whatever order.
    """
    fields = {field.name: field for field in stored.fields} if stored else {}
    for field in added.fields:
        fields[field.name] = _merged_field(added.name, fields.get(field.name), field)
    groups: dict[frozenset[str], tuple[str, ...]] = {}
    for group in (*(stored.unique_together if stored else ()), *added.unique_together):
        groups.setdefault(frozenset(group), tuple(group))
    return CollectionSpec(added.name, tuple(fields.values()), tuple(groups.values()))


def unique_constraints(spec: CollectionSpec) -> tuple[tuple[str, ...], ...]:
    """The groups of fields whose values together are unique; a unique field is a group of one."""
    singles = [(field.name,) for field in spec.fields if field.unique]
    groups = [tuple(group) for group in spec.unique_together]
    return tuple(dict.fromkeys([*singles, *groups]))


def check_predicates(where: Any) -> tuple[Predicate, ...]:
    """The conditions of a query, as a tuple."""
    predicates = _items(where, "where")
    for predicate in predicates:
        _check_predicate(predicate)
    return predicates


def check_order_by(order_by: Any) -> None:
    """An order, or None for the order by id."""
    if order_by is None:
        return
    if not isinstance(order_by, OrderBy):
        _refuse(f"order_by must be an OrderBy, not {type(order_by).__name__}")
    check_name(order_by.field, "order_by field")
    if order_by.direction not in ("asc", "desc"):
        _refuse(f"order_by direction must be 'asc' or 'desc', not {order_by.direction!r}")


def is_groupable(spec: CollectionSpec, by: str) -> bool:
    """Whether documents can be grouped by a field: it is declared a string and has an index."""
    declared = next((field for field in spec.fields if field.name == by), None)
    if declared is None or declared.type != "string":
        return False
    return declared.indexed or any(by in group for group in unique_constraints(spec))


def check_grouped_field(spec: CollectionSpec, by: str) -> None:
    """A field that documents can be grouped by."""
    if not is_groupable(spec, by):
        _refuse(
            f"field {by!r} of collection {spec.name!r} cannot be grouped by; declare it a string, "
            "and indexed, unique or in a unique group"
        )


def check_limit(limit: Any) -> None:
    """How many items a page may hold: 1 to 1000."""
    if type(limit) is not int or not 1 <= limit <= MAX_PAGE_SIZE:
        _refuse(f"limit must be an int from 1 to {MAX_PAGE_SIZE}, not {limit!r}")


def check_max_bytes(max_bytes: Any) -> None:
    """How many bytes a page may hold: None, or a positive int."""
    if max_bytes is not None and (type(max_bytes) is not int or max_bytes < 1):
        _refuse(f"max_bytes must be None or a positive int, not {max_bytes!r}")


def check_fields(fields: Any) -> frozenset[str] | None:
    """Which fields to return: None for all, or their names."""
    if fields is None:
        return None
    names = _items(fields, "fields")
    for name in names:
        # Unlike a declared field's, a key of data may be empty; so may a projected one.
        if type(name) is not str:
            _refuse(f"fields must hold str, not {type(name).__name__}")
        check_text(name, "field name")
    return frozenset(names)


def _check_predicate(predicate: Any) -> None:
    if not isinstance(predicate, Predicate):
        _refuse(f"where must hold Predicate, not {type(predicate).__name__}")
    check_name(predicate.field, "predicate field")
    operator, value = predicate.operator, predicate.value
    name = f"value of {predicate.field!r} {operator}"
    if operator not in _OPERATORS:
        _refuse(
            f"unknown operator {operator!r} for {predicate.field!r}; one of {sorted(_OPERATORS)}"
        )
    if operator == "exists" and not isinstance(value, bool):
        _refuse(f"{name} must be a bool, not {type(value).__name__}")
    if operator in _COMPARISONS and (value is None or isinstance(value, (list, dict))):
        _refuse(f"{name} must be a scalar and not null, not {type(value).__name__}")
    if operator in ("in", "nin"):
        if not isinstance(value, list):
            _refuse(f"{name} must be a list, not {type(value).__name__}")
        if len(value) > MAX_IN_VALUES:
            _refuse(f"{name} holds {len(value)} items; at most {MAX_IN_VALUES}, ask in batches")
    tagged(value, name)


def _checked_field(field: Any) -> str:
    if not isinstance(field, FieldSpec):
        _refuse(f"fields must hold FieldSpec, not {type(field).__name__}")
    check_name(field.name, "field name")
    if field.type not in _FIELD_TYPES:
        _refuse(
            f"field {field.name!r} has unknown type {field.type!r}; one of {sorted(_FIELD_TYPES)}"
        )
    for flag in ("indexed", "unique"):
        if not isinstance(getattr(field, flag), bool):
            _refuse(f"{flag} of field {field.name!r} must be a bool")
    return str(field.name)


def _merged_field(collection: str, stored: FieldSpec | None, added: FieldSpec) -> FieldSpec:
    if stored is None:
        return added
    if stored.type != added.type:
        _refuse(
            f"field {added.name!r} of collection {collection!r} is declared {stored.type}; "
            f"it cannot become {added.type}"
        )
    return FieldSpec(
        added.name,
        added.type,
        indexed=stored.indexed or added.indexed,
        unique=stored.unique or added.unique,
    )


def _items(value: Any, what: str) -> tuple[Any, ...]:
    if isinstance(value, (str, bytes)):
        _refuse(f"{what} must be a sequence of items, not {type(value).__name__}")
    try:
        return tuple(value)
    except TypeError:
        _refuse(f"{what} must be a sequence, not {type(value).__name__}")


def _refuse(message: str) -> NoReturn:
    raise InvalidArgument(message)
