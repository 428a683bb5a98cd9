"""Our own serialization of what LangGraph's cannot keep, in msgpack with extension types of ours.

It is used only for such values, under a kind of its own (``KIND``), so that whoever does not know
it says so instead of reading something else. :mod:`~naas_abi_sdk.langgraph_documents.building`
reads it, beside LangGraph's extension types, which stay in use for what they keep exactly.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from enum import Enum, Flag
from typing import Any, Final, final

import ormsgpack

from naas_abi_sdk.errors import NotFaithful
from naas_abi_sdk.langgraph_documents.allowing import type_name
from naas_abi_sdk.langgraph_documents.schema import REDACTED_SECRET
from naas_abi_sdk.langgraph_documents.shapes import (
    attributes,
    base_of,
    is_model,
    kind_of,
    model_state,
)
from naas_abi_sdk.langgraph_documents.unavailable import UnavailableValue

__all__ = [
    "ARRAY",
    "BASED",
    "CLASS",
    "ENUM",
    "INTEGER",
    "KIND",
    "MODEL",
    "OBJECTS",
    "PAIRS",
    "RECORD",
    "TEXT",
    "TUPLE",
    "Tagger",
]

#: The kind of a stored value in this serialization.
KIND: Final = "abi-msgpack"

#: LangGraph's extension: a type is called with named arguments.
_NAMED_ARGUMENTS: Final = 2

# Extension types, apart from LangGraph's, which count up from 0. They never change.
#: A tuple: its items.
TUPLE: Final = 64
#: An integer outside 64 bits, in hexadecimal.
INTEGER: Final = 65
#: Text with lone surrogates: UTF-8 that has them.
TEXT: Final = 66
#: A dict with keys that are not all text: its items, each a key and a value.
PAIRS: Final = 67
#: A value of a type based on a built-in one: module, name, base, content, setting, attributes.
BASED: Final = 68
#: A member of an enumeration: module, name, member's name (a flag: its value).
ENUM: Final = 69
#: A dataclass, or one of LangGraph's own objects: module, name, attributes.
RECORD: Final = 70
#: A pydantic model: module, name, fields, extras, names of fields set, private attributes.
MODEL: Final = 71
#: An array: type, shape, bytes; and whether it is a scalar.
ARRAY: Final = 72
#: An array of objects: shape, elements.
OBJECTS: Final = 73
#: A class, as the default factory of a dict: module, name.
CLASS: Final = 74

_INTEGERS: Final = range(-(2**63), 2**64)


@final
class Tagger:
    """Makes plain msgpack values, and extensions, of anything that can be stored.

    Args:
        upstream: LangGraph's serialization of a value, for what it keeps exactly.
    """

    def __init__(self, upstream: Callable[[Any], bytes]) -> None:
        self._upstream = upstream

    def serialize(self, value: Any) -> bytes:
        """The bytes of a value.

        Raises:
            NotFaithful: it, or something in it, cannot be stored.
        """
        return ormsgpack.packb(self._tagged(value))

    def _tagged(self, value: Any) -> Any:
        kind = kind_of(value)
        if value is None or kind in (bool, float, bytes):
            return value
        if kind is int:
            return value if value in _INTEGERS else ormsgpack.Ext(INTEGER, hex(value).encode())
        if kind is str:
            return _text(value)
        if kind is list:
            return [self._tagged(item) for item in value]
        if kind is dict:
            return self._mapping(value)
        if kind is tuple:
            return self._extension(TUPLE, [self._tagged(item) for item in value])
        return self._special(value, kind)

    def _extension(self, code: int, content: Any) -> ormsgpack.Ext:
        return ormsgpack.Ext(code, ormsgpack.packb(content))

    def _mapping(self, value: dict[Any, Any]) -> Any:
        if all(type(key) is str for key in dict.keys(value)):
            tagged = {_text(key): self._tagged(item) for key, item in dict.items(value)}
            if all(type(key) is str for key in tagged):
                return tagged
        items = [[self._tagged(key), self._tagged(item)] for key, item in dict.items(value)]
        return self._extension(PAIRS, items)

    def _special(self, value: Any, kind: type) -> Any:
        numpy = sys.modules.get("numpy")
        if callable(getattr(kind, "get_secret_value", None)) and not _is_marker(value):
            raise NotFaithful("", value, "secrets are not stored, and here it cannot be taken out")
        if kind is UnavailableValue:
            return ormsgpack.Ext(*value.unavailable_bytes[1:])
        if isinstance(value, Enum):
            member = value.value if isinstance(value, Flag) else value.name
            return self._extension(ENUM, [*type_name(kind), self._tagged(member)])
        if kind in (dt.datetime, dt.time):
            return self._moment(value, kind)
        if numpy is not None and (kind is numpy.ndarray or isinstance(value, numpy.generic)):
            return self._array(numpy, value)
        if is_model(kind):
            return self._model(value, kind)
        if (base := base_of(kind)) is not None:
            return self._based(value, kind, base)
        if kind is memoryview:
            content = ["builtins", "memoryview", "memoryview", value.tobytes(), None, {}]
            return self._extension(BASED, content)
        if dataclasses.is_dataclass(kind) or kind.__module__.startswith("langgraph."):
            state = self._mapping(attributes(value))
            return self._extension(RECORD, [*type_name(kind), state])
        return self._as_upstream(value)

    def _moment(self, value: Any, kind: type) -> ormsgpack.Ext:
        names = ["hour", "minute", "second", "microsecond", "fold"]
        if kind is dt.datetime:
            names += ["year", "month", "day"]
        arguments = {name: getattr(value, name) for name in names}
        arguments["tzinfo"] = None if value.tzinfo is None else self._as_upstream(value.tzinfo)
        return self._extension(_NAMED_ARGUMENTS, [*type_name(kind), arguments])

    def _array(self, numpy: Any, value: Any) -> ormsgpack.Ext:
        array = numpy.asarray(value)
        if array.dtype.kind == "O":
            elements = [self._tagged(item) for item in array.flat]
            return self._extension(OBJECTS, [list(array.shape), elements])
        if array.dtype.hasobject:
            raise NotFaithful("", value, "its elements hold objects beside numbers")
        described = self._tagged(numpy.lib.format.dtype_to_descr(array.dtype))
        scalar = not isinstance(value, numpy.ndarray)
        return self._extension(ARRAY, [described, list(array.shape), array.tobytes(), scalar])

    def _model(self, value: Any, kind: type) -> ormsgpack.Ext:
        fields, extra, private = model_state(value)
        content = [
            self._mapping(fields),
            None if extra is None else self._mapping(extra),
            sorted(value.model_fields_set),
            None if private is None else self._mapping(private),
        ]
        return self._extension(MODEL, [*type_name(kind), *content])

    def _based(self, value: Any, kind: type, base: Any) -> ormsgpack.Ext:
        setting: Any = None
        if issubclass(base, dict):
            content = self._mapping(value)
            setting = self._factory(value) if base is defaultdict else None
        elif base in (list, set, frozenset, tuple, deque):
            content = [self._tagged(item) for item in base.__iter__(value)]
            setting = value.maxlen if base is deque else None
        elif base is complex:
            content = [value.real, value.imag]
        elif base is bytearray:
            content = bytes(value)
        else:
            content = self._tagged(base.__str__(value) if base is str else base(value))
        state = {} if kind in _PLAIN_BASES else self._mapping(attributes(value))
        return self._extension(BASED, [*type_name(kind), base.__name__, content, setting, state])

    def _factory(self, value: defaultdict[Any, Any]) -> ormsgpack.Ext | None:
        factory = value.default_factory
        if factory is None:
            return None
        if not isinstance(factory, type):
            raise NotFaithful("", value, f"its default factory {factory!r} is not a class")
        return self._extension(CLASS, list(type_name(factory)))

    def _as_upstream(self, value: Any) -> Any:
        if isinstance(value, (type, BaseException)):
            raise NotFaithful("", value, "classes and exceptions cannot be stored")
        try:
            return ormsgpack.unpackb(self._upstream(value), ext_hook=ormsgpack.Ext)
        except Exception as error:
            raise NotFaithful("", value, "no serialization of this type is known") from error


_PLAIN_BASES: Final = frozenset(
    {OrderedDict, defaultdict, deque, set, frozenset, bytearray, complex}
)


def _text(value: str) -> Any:
    content = str.__str__(value)
    try:
        content.encode()
    except UnicodeEncodeError:
        return ormsgpack.Ext(TEXT, content.encode("utf-8", "surrogatepass"))
    return content


def _is_marker(secret: Any) -> bool:
    return secret.get_secret_value() in (REDACTED_SECRET, REDACTED_SECRET.encode())
