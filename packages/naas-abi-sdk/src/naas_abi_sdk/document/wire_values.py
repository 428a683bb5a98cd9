"""Values as protobuf messages and back.

``to_x`` and ``fill_data`` refuse what a store refuses, with the same message: U+0000 and lone
surrogates in text and keys, ints outside 64 bits, floats that are not finite, naive datetimes,
every type that is not plain. So it never depends on the route whether a value is stored or how it
comes back, and text on the wire is always valid UTF-8. ``from_x`` refuses what no ``to_x`` writes.

What comes back is what was sent, datetimes in UTC. Map entries have no order on the wire: objects
come back in any, and equal messages may differ in their bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from math import isfinite
from typing import Any, Final

from naas_abi_sdk.document.encoding import (
    MAX_NESTING,
    canonical_json,
    check_text,
    from_json_text,
    tagged,
)
from naas_abi_sdk.document.types import Data
from naas_abi_sdk.document.validation import check_data
from naas_abi_sdk.errors import InvalidArgument
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto

__all__ = ["fill_data", "from_data", "from_value", "read_datetime", "to_data", "to_value"]

#: Objects and lists inside each other that travel as messages; what is deeper goes as text. An
#: object is three messages deep, a parser stops at 100, and six are around a document's data.
_MESSAGE_LEVELS: Final = 30
_TEXT_LEVELS: Final = MAX_NESTING - _MESSAGE_LEVELS

_INT_MIN: Final = -(2**63)
_INT_END: Final = 2**63


class _NotPortable(Exception):
    """A value is refused; the walk of ``encoding`` then says which and why."""


def to_data(data: Data) -> proto.Data:
    """A document's data."""
    message = proto.Data()
    fill_data(message, data)
    return message


def fill_data(message: proto.Data, data: Data) -> None:
    """Write a document's data into ``message``, which spares a copy."""
    try:
        if not isinstance(data, dict):
            raise _NotPortable
        message.SetInParent()
        _fill_fields(message, data, _MESSAGE_LEVELS)
    except _NotPortable:
        check_data(data)
        raise


def from_data(message: proto.Data) -> Data:
    """A document's data."""
    return {key: from_value(value) for key, value in message.fields.items()}


def to_value(value: Any, name: str = "value") -> proto.Value:
    """One value; ``name`` is what the error message calls it."""
    message = proto.Value()
    try:
        _fill(message, value, _MESSAGE_LEVELS)
    except _NotPortable:
        tagged(value, name)
        raise
    return message


def from_value(message: proto.Value) -> Any:
    """One value."""
    kind = message.WhichOneof("kind")
    if kind is None:
        problem = "a value has no kind"
        raise InvalidArgument(problem)
    read = _READ.get(kind)
    return getattr(message, kind) if read is None else read(getattr(message, kind))


def read_datetime(text: str) -> datetime:
    """A datetime in UTC of ISO 8601 text that names an offset, ``Z`` included."""
    try:
        # Python 3.10 does not know the `Z` that some peers write.
        value = datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith("Z") else text)
        if value.utcoffset() is not None:
            return value.astimezone(timezone.utc)
    except (ValueError, OverflowError) as error:
        problem = f"{text!r} is not a datetime in ISO 8601: {error}"
        raise InvalidArgument(problem) from None
    problem = f"datetime {text!r} has no offset"
    raise InvalidArgument(problem)


def _fill(message: proto.Value, value: Any, levels: int) -> None:
    kind = type(value)
    if kind is str:
        message.string_value = _checked(value)
    elif kind is bytes:
        message.bytes_value = value
    elif kind is bool:
        message.bool_value = value
    elif kind is int:
        if not _INT_MIN <= value < _INT_END:
            raise _NotPortable
        message.int_value = value
    elif value is None:
        message.null_value = True
    elif isinstance(value, (dict, list)):
        _fill_container(message, value, levels)
    elif kind is float:
        if not isfinite(value):
            raise _NotPortable
        message.float_value = value
    elif isinstance(value, datetime):
        message.datetime_value = _datetime_text(value)
    else:
        raise _NotPortable


def _fill_container(message: proto.Value, value: dict[Any, Any] | list[Any], levels: int) -> None:
    if levels == 0:
        try:
            message.nested_value = canonical_json(tagged(value, levels=_TEXT_LEVELS))
        except InvalidArgument:
            raise _NotPortable from None
    elif isinstance(value, dict):
        message.object_value.SetInParent()
        _fill_fields(message.object_value, value, levels - 1)
    else:
        message.list_value.SetInParent()
        items = message.list_value.items
        for item in value:
            _fill(items.add(), item, levels - 1)


def _fill_fields(message: proto.Data, data: dict[Any, Any], levels: int) -> None:
    fields = message.fields
    for key, value in data.items():
        if type(key) is not str:
            raise _NotPortable
        _fill(fields[_checked(key)], value, levels)


def _checked(text: str) -> str:
    if not text.isascii() or "\0" in text:
        try:
            check_text(text, "text")
        except InvalidArgument:
            raise _NotPortable from None
    return text


def _datetime_text(value: datetime) -> str:
    try:
        if value.utcoffset() is not None:
            return value.astimezone(timezone.utc).isoformat()
    except OverflowError:
        pass
    raise _NotPortable


def _read_null(_: bool) -> None:  # noqa: FBT001 -- protobuf hands over the field
    return None


def _read_list(message: proto.Values) -> list[Any]:
    return [from_value(item) for item in message.items]


def _read_nested(text: str) -> Any:
    return from_json_text(f'{{"v":{text}}}')["v"]


#: How the kinds are read that are not simply what protobuf has in the field.
_READ: Final[dict[str, Callable[[Any], Any]]] = {
    "null_value": _read_null,
    "datetime_value": read_datetime,
    "list_value": _read_list,
    "object_value": from_data,
    "nested_value": _read_nested,
}
