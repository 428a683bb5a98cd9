"""Values from msgpack with extension types: LangGraph's, and those of ``tagging``.

Every type is asked for before its module is imported. What cannot be built becomes an
:class:`~naas_abi_sdk.langgraph_documents.unavailable.UnavailableValue`, never ``None`` or raw data
that a graph would take for the value. Constructors run only where LangGraph's own format asks for
them.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from importlib import import_module
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Final, final
from uuid import UUID

import ormsgpack

from naas_abi_sdk.langgraph_documents import tagging
from naas_abi_sdk.langgraph_documents._langgraph import snapshot_of
from naas_abi_sdk.langgraph_documents.allowing import REGISTERED, TypeName
from naas_abi_sdk.langgraph_documents.shapes import is_model
from naas_abi_sdk.langgraph_documents.unavailable import UnavailableValue, is_load, report

__all__ = ["Builder"]

#: What types that a serializer writes are based on, or have: those of any other are not built.
_VALUES: Final = (
    *(Enum, UUID, Decimal, set, frozenset, deque, dict, list, tuple, str, bytes),
    *(bytearray, int, float, complex, date, time, timedelta, tzinfo),
    *(IPv4Address, IPv4Network, IPv6Address, IPv6Network),
)
_WAYS_TO_BE_WRITTEN: Final = ("model_dump", "dict", "_asdict", "get_secret_value")


class _NotUsable(ValueError):
    """A type that may not or cannot be used; the message says why and what would help."""


@final
class Builder:
    """Reads what a serializer wrote.

    Args:
        allows: Whether the type of a module and name may be imported.
        notice: Told of every type before it is imported for a load.
    """

    def __init__(
        self, allows: Callable[[TypeName], bool], notice: Callable[[TypeName], None]
    ) -> None:
        self._allows = allows
        self._notice = notice
        self._allowed: set[TypeName] = set()
        self._noticed: set[TypeName] = set()
        self._known: dict[TypeName, Any] = {}

    def load(self, kind: str, payload: bytes) -> Any:
        """The value of a payload of this kind.

        Raises:
            ValueError: the payload is no msgpack, or has extensions that nobody wrote.
        """
        failures: list[Exception] = []

        def hook(code: int, data: bytes) -> Any:
            try:
                return self._extension(kind, code, data, hook)
            except Exception as error:
                failures.append(error)
                raise

        try:
            return _unpacked(payload, hook)
        except ValueError as error:
            if not failures:
                raise
            raise ValueError(str(failures[0])) from error  # what was raised inside it swallows

    def _extension(self, kind: str, code: int, data: bytes, hook: Callable[..., Any]) -> Any:
        if code in _RAW:
            return _SIMPLE[code](data)
        if (simple := _SIMPLE.get(code)) is not None:
            return simple(_unpacked(data, hook))
        if (build := _TYPED.get(code)) is None:
            message = f"it has a msgpack extension of type {code}, which this version does not know"
            raise ValueError(message)
        module, name, *content = _unpacked(data, hook)
        try:
            return build(self._type((module, name)), *content)
        except _NotUsable as error:
            because = str(error)
        except Exception as error:  # noqa: BLE001 -- a constructor of a user's type may raise anything
            because = f"it cannot be built from what is stored ({type(error).__name__}: {error})"
        value = UnavailableValue(f"{module}.{name}", because, content, (kind, code, data))
        report(value)
        return value

    def _type(self, name: TypeName) -> Any:
        known = self._known.get(name)
        if known is not None and getattr(sys.modules.get(name[0]), name[1], None) is known:
            return known
        if name not in self._allowed:
            if not self._allows(name):
                message = (
                    f"it is not an allowed type; add {'.'.join(name)!r} to "
                    "agent_memory.allowed_types in config.yaml, or to the saver's allowed types"
                )
                raise _NotUsable(message)
            self._allowed.add(name)
        if name not in self._noticed and is_load():
            self._notice(name)
            self._noticed.add(name)
        found = _found(name)
        if name not in REGISTERED and not _is_value_type(found):
            message = "it is nothing a serializer writes, so somebody else put it into the store"
            raise _NotUsable(message)
        if name in self._noticed:
            self._known[name] = found
        return found


def _unpacked(data: bytes, hook: Callable[..., Any]) -> Any:
    return ormsgpack.unpackb(data, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)


def _found(name: TypeName) -> Any:
    module, path = name
    try:
        found: Any = sys.modules.get(module) or import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        message = f"it cannot be found ({error}); bring it back where it was"
        raise _NotUsable(message) from error
    return found


def _is_value_type(found: Any) -> bool:
    return isinstance(found, type) and (
        issubclass(found, _VALUES)
        or dataclasses.is_dataclass(found)
        or any(hasattr(found, name) for name in _WAYS_TO_BE_WRITTEN)
    )


def _called(kind: Any, arguments: Any) -> Any:
    return kind(*arguments)


def _called_by_name(kind: Any, arguments: Any) -> Any:
    return kind(**arguments)


def _by_method(kind: Any, argument: Any, method: str) -> Any:
    if method != "fromisoformat":
        message = f"its method {method!r} is not one that a serializer asks for"
        raise _NotUsable(message)
    return kind.fromisoformat(argument)


def _model_of_fields(kind: Any, fields: Any, *_: Any) -> Any:
    try:
        return kind(**fields)
    except Exception:  # noqa: BLE001 -- as LangGraph: what does not validate any more is kept as it is
        construct = kind.model_construct if is_model(kind) else kind.construct
        return construct(**fields)


def _numpy() -> Any:
    try:
        return import_module("numpy")
    except ImportError as error:
        message = "it holds an array, and numpy is not installed here"
        raise _NotUsable(message) from error


def _array_of_bytes(content: Any) -> Any:
    np = _numpy()
    dtype, shape, order, buffer = content
    array = np.frombuffer(buffer, dtype=np.dtype(dtype)).reshape(shape, order=order)
    return array.copy(order="K")  # an array over the bytes themselves could not be written to


def _array(content: Any) -> Any:
    np = _numpy()
    described, shape, buffer, scalar = content
    dtype = np.lib.format.descr_to_dtype(described)
    array = np.frombuffer(buffer, dtype).reshape(shape).copy()
    return array[()] if scalar else array


def _objects(content: Any) -> Any:
    np = _numpy()
    shape, elements = content
    array = np.empty(len(elements), dtype=object)
    for at, element in enumerate(elements):
        array[at] = element
    return array.reshape(shape)


def _member(kind: Any, name: Any) -> Any:
    return kind[name] if isinstance(name, str) else kind(name)


def _record(kind: Any, state: dict[str, Any]) -> Any:
    value = object.__new__(kind)
    for name, item in state.items():
        object.__setattr__(value, name, item)
    return value


def _model(kind: Any, fields: Any, extra: Any, names: list[str], private: Any) -> Any:
    value = kind.__new__(kind)
    object.__setattr__(value, "__pydantic_extra__", extra)
    object.__setattr__(value, "__pydantic_fields_set__", set(names))
    object.__setattr__(value, "__pydantic_private__", private)
    # Last: where a model has no slot for the others, as one of a root, they have landed in it.
    object.__setattr__(value, "__dict__", fields)
    return value


_BASES: Final[dict[str, Any]] = {
    base.__name__: base
    for base in (
        *(defaultdict, OrderedDict, dict, deque, list, set, frozenset, tuple),
        *(str, bytes, bytearray, int, float, complex, memoryview),
    )
}


def _based(kind: Any, base_name: str, content: Any, setting: Any, state: dict[str, Any]) -> Any:
    base = _BASES[base_name]
    if base in (frozenset, tuple, str, bytes, int, float, memoryview):
        value = base.__new__(kind, content)
    elif base is complex:
        value = complex.__new__(kind, *content)
    else:
        value = base.__new__(kind)
        if base is deque:
            deque.__init__(value, content, setting)
        elif base is defaultdict:
            defaultdict.__init__(value, setting)
        elif base in (list, set, bytearray):
            base.__init__(value, content)
        if issubclass(base, dict):
            for key, item in content.items():
                base.__setitem__(value, key, item)
    for name, item in state.items():
        object.__setattr__(value, name, item)
    return value


#: Extensions whose content is bytes of their own.
_RAW: Final = frozenset({tagging.INTEGER, tagging.TEXT})

#: Extensions that name no type.
_SIMPLE: Final[dict[int, Callable[[Any], Any]]] = {
    6: _array_of_bytes,
    7: snapshot_of,
    tagging.TUPLE: tuple,
    tagging.INTEGER: lambda data: int(data, 16),
    tagging.TEXT: lambda data: data.decode("utf-8", "surrogatepass"),
    tagging.PAIRS: dict,
    tagging.ARRAY: _array,
    tagging.OBJECTS: _objects,
}

#: Extensions that name a type, then what it is built of; LangGraph's come first.
_TYPED: Final[dict[int, Callable[..., Any]]] = {
    0: lambda kind, argument: kind(argument),
    1: _called,
    2: _called_by_name,
    3: _by_method,
    4: _model_of_fields,
    5: _model_of_fields,
    tagging.CLASS: lambda kind: kind,
    tagging.BASED: _based,
    tagging.ENUM: _member,
    tagging.RECORD: _record,
    tagging.MODEL: _model,
}
