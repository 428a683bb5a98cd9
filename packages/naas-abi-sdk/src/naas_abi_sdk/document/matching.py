"""What predicates and orders mean: decided here for every store, on values or on their keys.

A scalar's *sort key* is a byte string: comparing keys byte by byte orders values as an
``OrderBy`` does, and two values are equal exactly if their keys are. So a store that keeps keys in
an index needs to know nothing of types. Null and missing have no key.

==========  ====  ===========================================================================
kind        rank  key after the rank byte
==========  ====  ===========================================================================
bool        1     one byte
number      2     the nearest double, made to sort as bytes, then what it differs by
string      3     UTF-8
datetime    4     ISO 8601 text in UTC, six digits
bytes       5     the bytes
array       6     SHA-256 of its canonical text, numbers by value; all arrays tie in an order
object      7     likewise
==========  ====  ===========================================================================

Numbers compare by decimal value, a float's being that of its shortest text: ``1`` equals ``1.0``,
``2**53 + 1`` does not equal ``float(2**53)``, and a bool equals no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from math import isfinite
from struct import Struct
from typing import Any, Final

from naas_abi_sdk.document.encoding import canonical_json, datetime_text, tagged
from naas_abi_sdk.document.types import Data, Predicate

__all__ = [
    "ARRAY",
    "BOOL",
    "BYTES",
    "DATETIME",
    "MISSING",
    "NULL",
    "NUMBER",
    "OBJECT",
    "STRING",
    "SortParts",
    "compile_predicates",
    "equal_keys",
    "matches",
    "order_key",
    "order_key_of_parts",
    "sort_key",
    "sort_parts",
]


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


#: Stands for the value of a field the document does not have.
MISSING: Final = _Missing()

NULL: Final = 0
BOOL: Final = 1
NUMBER: Final = 2
STRING: Final = 3
DATETIME: Final = 4
BYTES: Final = 5
ARRAY: Final = 6
OBJECT: Final = 7

_RANK_BYTES: Final = tuple(bytes((rank,)) for rank in range(8))
_DOUBLE: Final = Struct(">d")
_BITS: Final = Struct(">Q")
_NUMBER_KEY: Final = Struct(">BQH")
_SIGN: Final = 1 << 63
_ALL_BITS: Final = (1 << 64) - 1
_EXACT_INTS: Final = 2**53
_INT_END: Final = 2**63
_DIFFERENCE_BIAS: Final = 1 << 15


@dataclass(frozen=True, slots=True)
class SortParts:
    """Where a value stands in an order: by rank, then number, then text."""

    rank: int
    numeric: int | float
    text: str


def sort_key(value: Any) -> bytes | None:
    """Bytes that compare as ``value`` does; None for null and missing.

    ``value`` must be portable. Keys of arrays and objects tell them apart but do not order them.
    """
    kind = type(value)
    if kind is str:
        return _RANK_BYTES[STRING] + value.encode()  # type: ignore[no-any-return]  # str.encode
    if value is None or value is MISSING:
        return None
    if kind is bool:
        return b"\x01\x01" if value else b"\x01\x00"
    if kind is int or kind is float:
        return _number_key(value)
    if kind is bytes:
        return _RANK_BYTES[BYTES] + value  # type: ignore[no-any-return]  # bytes + bytes
    if isinstance(value, datetime):
        return _RANK_BYTES[DATETIME] + datetime_text(value).encode("ascii")
    rank = ARRAY if isinstance(value, list) else OBJECT
    return _RANK_BYTES[rank] + sha256(_equality_text(value).encode("ascii")).digest()


def order_key(value: Any) -> bytes:
    """Bytes that order ``value``: null and missing come first and tie, as arrays and objects do."""
    key = sort_key(value)
    if key is None:
        return _RANK_BYTES[NULL]
    return key[:1] if key[0] >= ARRAY else key


def sort_parts(value: Any) -> SortParts:
    """Where ``value``, or :data:`MISSING`, stands in an order; what cursors hold."""
    if value is None or value is MISSING:
        return SortParts(NULL, 0, "")
    if isinstance(value, bool):
        return SortParts(BOOL, int(value), "")
    if isinstance(value, (int, float)):
        return SortParts(NUMBER, value, "")
    if isinstance(value, str):
        return SortParts(STRING, 0, value)
    if isinstance(value, datetime):
        return SortParts(DATETIME, 0, datetime_text(value))
    if isinstance(value, bytes):
        return SortParts(BYTES, 0, value.hex())
    return SortParts(ARRAY if isinstance(value, list) else OBJECT, 0, "")


def order_key_of_parts(parts: SortParts) -> bytes:
    """:func:`order_key` of the value that has these parts.

    Raises:
        ValueError: no value has them.
    """
    number, text = parts.numeric, parts.text
    key: bytes | None = None
    if parts.rank in (NULL, ARRAY, OBJECT) and not number and not text:
        key = _RANK_BYTES[parts.rank]
    elif parts.rank == BOOL and number in (0, 1) and not text:
        key = sort_key(bool(number))
    elif parts.rank == NUMBER and isfinite(number) and not text:
        in_range = isinstance(number, float) or -_INT_END <= number < _INT_END
        key = _number_key(number if in_range else float(number))
    elif parts.rank == STRING and not number:
        key = sort_key(text)
    elif parts.rank == DATETIME and not number:
        key = sort_key(datetime.fromisoformat(text))
    elif parts.rank == BYTES and not number:
        key = sort_key(bytes.fromhex(text))
    if key is None:
        message = f"no value sorts as {parts}"
        raise ValueError(message)
    return key


def matches(data: Data, predicates: Iterable[Predicate]) -> bool:
    """Whether ``data`` meets every predicate; they must be valid."""
    return compile_predicates(predicates)(data)


def compile_predicates(predicates: Iterable[Predicate]) -> Callable[[Data], bool]:
    """One test for all ``predicates``, which must be valid; keys of their values are made once."""
    tests = [(predicate.field, _test(predicate)) for predicate in predicates]

    def test(data: Data) -> bool:
        return all(meets(data.get(field, MISSING)) for field, meets in tests)

    return test


def _test(predicate: Predicate) -> Callable[[Any], bool]:
    operator = predicate.operator
    if operator == "exists":
        wanted = predicate.value
        return lambda value: (value is not MISSING) is wanted
    if operator in ("in", "nin"):
        keys = {sort_key(item) for item in predicate.value}
        return _membership(keys, wanted=operator == "in")
    key = sort_key(predicate.value)
    if operator in ("eq", "ne"):
        return _membership({key}, wanted=operator == "eq")
    if operator == "contains":
        return lambda value: (
            isinstance(value, list) and any(sort_key(item) == key for item in value)
        )
    assert key is not None, "comparisons take a scalar"
    return _comparison(key, operator)


def _membership(keys: set[bytes | None], *, wanted: bool) -> Callable[[Any], bool]:
    return lambda value: value is not MISSING and (sort_key(value) in keys) is wanted


def _comparison(bound: bytes, operator: str) -> Callable[[Any], bool]:
    rank = bound[0]

    def compare(value: Any) -> bool:
        key = sort_key(value)
        if key is None or key[0] != rank:
            return False
        if key == bound:
            return operator in ("lte", "gte")
        return (key < bound) is (operator in ("lt", "lte"))

    return compare


def _number_key(value: float) -> bytes:
    double = float(value)
    difference = 0
    # Only here can an int and a double that rounds the same way differ. Beyond 64 bits there are
    # no ints, and doubles differ from each other already.
    if _EXACT_INTS <= abs(double) <= _INT_END:
        difference = _decimal_value(value) - int(double)
    (bits,) = _BITS.unpack(_DOUBLE.pack(double + 0.0))
    sortable = bits ^ _ALL_BITS if bits & _SIGN else bits | _SIGN
    return _NUMBER_KEY.pack(NUMBER, sortable, difference + _DIFFERENCE_BIAS)


def _decimal_value(value: float) -> int:
    return int(Decimal(repr(value)))


def _equality_text(value: Any) -> str:
    return canonical_json(_by_value(tagged(value)))


def _by_value(value: Any) -> Any:
    """Tagged JSON in which equal numbers are the same text."""
    if isinstance(value, dict):
        return {key: _by_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_by_value(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= _INT_END:
        return _decimal_value(value)
    return value


def equal_keys(values: Sequence[Any]) -> tuple[bytes, ...] | None:
    """The keys of ``values`` together, or None if one of them is null or missing."""
    keys = tuple(sort_key(value) for value in values)
    return None if None in keys else keys  # type: ignore[return-value]  # no None is left
