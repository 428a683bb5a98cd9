"""Columns of many rows as one parameter each, in PostgreSQL's binary form.

So a statement has the same text, and stays prepared, whatever number of rows it is about. A plain
list is ``bytea[]``. The connections of this adapter pass no other lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, Final, final

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

__all__ = ["Integers", "Texts", "register_arrays"]

#: Dimensions, whether there are NULLs, element type; length, and the first index.
_HEADER: Final = Struct("!iiI")
_DIMENSION: Final = Struct("!ii")
_LENGTH: Final = Struct("!i")
_INTEGER: Final = Struct("!iq")
_NULL: Final = _LENGTH.pack(-1)

#: Object ids of types, the same in every PostgreSQL (``pg_type.dat``).
_BYTEA, _BYTEA_ARRAY = 17, 1001
_BIGINT, _BIGINT_ARRAY = 20, 1016
_TEXT, _TEXT_ARRAY = 25, 1009


@final
class Integers(list[int | None]):
    """``bigint[]``."""


@final
class Texts(list[str]):
    """``text[]``."""


class _ByteaArray(Dumper):
    format = Format.BINARY
    oid = _BYTEA_ARRAY

    def dump(self, obj: Any) -> bytes:
        return _array(_BYTEA, [_element(item) for item in obj])


class _TextArray(Dumper):
    format = Format.BINARY
    oid = _TEXT_ARRAY

    def dump(self, obj: Any) -> bytes:
        return _array(_TEXT, [_element(item.encode()) for item in obj])


class _BigintArray(Dumper):
    format = Format.BINARY
    oid = _BIGINT_ARRAY

    def dump(self, obj: Any) -> bytes:
        return _array(_BIGINT, [_NULL if item is None else _INTEGER.pack(8, item) for item in obj])


def register_arrays(connection: psycopg.Connection[Any]) -> None:
    """Let ``connection`` pass lists, and nothing but these, as arrays."""
    connection.adapters.register_dumper(list, _ByteaArray)
    connection.adapters.register_dumper(Texts, _TextArray)
    connection.adapters.register_dumper(Integers, _BigintArray)


def _element(item: bytes | None) -> bytes:
    return _NULL if item is None else _LENGTH.pack(len(item)) + item


def _array(element_type: int, elements: Sequence[bytes]) -> bytes:
    if not elements:
        return _HEADER.pack(0, 0, element_type)
    header = _HEADER.pack(1, 1, element_type) + _DIMENSION.pack(len(elements), 1)
    return header + b"".join(elements)
