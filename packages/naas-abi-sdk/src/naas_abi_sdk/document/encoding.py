"""A document's data as text and back: the one form every store keeps and every size is taken of.

Canonical text is JSON with sorted keys, no spaces and ASCII only, so that its length in characters
is its length in bytes. What JSON lacks is tagged:

=========  ==============================================================================
datetime   ``{"$t":"datetime","$v":"2026-01-02T03:04:05.000006+00:00"}``, UTC, six digits
bytes      ``{"$t":"bytes","$v":"<standard base64>"}``
object     a key that begins with ``$`` gets one more ``$`` in front
=========  ==============================================================================

One walk both checks and encodes, because doing it twice would cost as much as storing. It refuses
what is not portable: an int outside signed 64 bits, a float that is not finite, a naive datetime,
text with U+0000 or a lone surrogate, a key that is not text, nesting deeper than
:data:`MAX_NESTING`, and every other type, subclasses of ``str``, ``int``, ``float`` and ``bytes``
included: they would come back as something else.

What comes back is what went in, except that ``-0.0`` is ``0.0``, datetimes are UTC and the keys of
objects are sorted. A float comes back a float and an int an int whatever the store.

Stores that keep bytes as bytes use :func:`encode` and :func:`decode`: there a bytes value is
``{"$b":[offset,length]}`` in the text and sits in ``payload``. No user key can be ``$b``, since a
leading ``$`` is doubled.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from math import isfinite
from typing import Any, Final

from naas_abi_sdk.document.types import Data
from naas_abi_sdk.errors import InvalidArgument

__all__ = [
    "MAX_NESTING",
    "Encoded",
    "canonical_json",
    "canonical_size",
    "check_text",
    "datetime_text",
    "decode",
    "decode_fields",
    "encode",
    "from_json_text",
    "holds_bytes",
    "tagged",
    "to_json_text",
]

#: Levels of objects and arrays below ``data``: far more than people nest, and far fewer than
#: Python's recursion limit, so that what was stored can be read wherever the reader stands.
MAX_NESTING: Final = 200

_INT_MIN: Final = -(2**63)
_INT_END: Final = 2**63
_TAG: Final = "$t"
_VALUE: Final = "$v"
_PART: Final = "$b"
_TAGGED_BYTES_OVERHEAD: Final = len('{"$t":"bytes","$v":""}')

_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Encoded:
    """Data in stored form.

    Attributes:
        text: Canonical JSON in which bytes values are references into ``payload``.
        payload: All bytes values, one after the other.
        size: Length of the canonical text, bytes as base64; what page budgets count.
    """

    text: str
    payload: bytes
    size: int


class _Refused(Exception):
    """A value that is not portable; ``trail`` collects its keys and indexes from the inside out."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.trail: list[Any] = []


class _Parts:
    """The bytes values met so far, and how much longer canonical text is for them."""

    __slots__ = ("chunks", "offset", "surplus")

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.offset = 0
        self.surplus = 0

    def take(self, value: bytes) -> dict[str, list[int]]:
        length = len(value)
        base64_length = (length + 2) // 3 * 4
        reference_length = len(f'{{"{_PART}":[{self.offset},{length}]}}')
        self.surplus += _TAGGED_BYTES_OVERHEAD + base64_length - reference_length
        reference = [self.offset, length]
        self.chunks.append(value)
        self.offset += length
        return {_PART: reference}


def encode(data: Data) -> Encoded:
    """Check ``data`` and encode it, bytes apart.

    Raises:
        InvalidArgument: a value is not portable; the message says where it sits.
    """
    parts = _Parts()
    text = _encoder.encode(_tag_data(data, parts))
    if not parts.chunks:
        return Encoded(text, b"", len(text))
    return Encoded(text, b"".join(parts.chunks), len(text) + parts.surplus)


def decode(text: str, payload: bytes) -> Data:
    """The data of an :class:`Encoded`; raises ValueError if it is damaged."""
    data: Data = _decoder.raw_decode(text)[0]
    # Tags and escaped keys all show as `"$`: a document that has neither needs no walk.
    return _untag_stored(data, payload, text) if '"$' in text else data


def decode_fields(text: str, names: Iterable[str], read_payload: Callable[[], bytes]) -> Data:
    """The fields called ``names`` of an :class:`Encoded`; raises ValueError if it is damaged.

    ``read_payload`` is called only if one of them holds bytes.
    """
    stored = _decoder.raw_decode(text)[0]
    some: dict[str, Any] = {}
    for name in names:
        key = "$" + name if name.startswith("$") else name
        if key in stored:
            some[key] = stored[key]
    if '"$' not in text:
        return some
    return _untag_stored(some, read_payload() if _refers_to_bytes(some) else b"", text)


def holds_bytes(text: str) -> bool:
    """Whether the text of an :class:`Encoded` may refer to its payload; if not, it has none."""
    return f'"{_PART}":' in text


def to_json_text(data: Data) -> str:
    """Canonical text of ``data``, self-contained: for export, and what sizes are taken of.

    Raises:
        InvalidArgument: a value is not portable; the message says where it sits.
    """
    return _encoder.encode(_tag_data(data, None))


def from_json_text(text: str) -> Data:
    """Data of a canonical text. Integers outside 64 bits, which others may write, become floats.

    Raises:
        InvalidArgument: not a JSON object, or a tag is malformed.
    """
    try:
        data = json.loads(text, parse_constant=_refuse_constant, parse_int=_portable_int)
        if not isinstance(data, dict):
            message = "a document must be a JSON object"
            raise InvalidArgument(message)
        untagged: Data = _unescape(_untag_object(data, None))
    except InvalidArgument:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        message = f"not a document's canonical JSON: {error}"
        raise InvalidArgument(message) from error
    return untagged


def canonical_size(data: Data) -> int:
    """Length of ``to_json_text(data)``, without building the base64 text."""
    return encode(data).size


def tagged(value: Any, path: str = "value", levels: int = MAX_NESTING) -> Any:
    """``value`` as JSON values with tags; ``path`` is its name in the error message.

    ``levels`` is how many objects and arrays may be inside each other.

    Raises:
        InvalidArgument: it is not portable.
    """
    try:
        return _tag(value, None, levels)
    except _Refused as refusal:
        raise InvalidArgument(_located(path, refusal)) from None


def canonical_json(value: Any) -> str:
    """JSON text of already tagged values: sorted keys, no spaces, ASCII."""
    return _encoder.encode(value)


def check_text(value: str, name: str) -> None:
    """Refuse text that not every store can keep.

    Raises:
        InvalidArgument: it holds U+0000 or a lone surrogate.
    """
    if problem := _text_problem(value):
        message = f"{name}: {problem}"
        raise InvalidArgument(message)


def datetime_text(value: datetime) -> str:
    """An aware datetime as ISO 8601 in UTC with six digits: as text it sorts by instant."""
    return value.astimezone(timezone.utc).isoformat(timespec="microseconds")


def _tag_data(data: Any, parts: _Parts | None) -> Any:
    if not isinstance(data, dict):
        message = f"data must be a dict, not {type(data).__name__}"
        raise InvalidArgument(message)
    try:
        return _tag(data, parts, MAX_NESTING + 1)
    except _Refused as refusal:
        raise InvalidArgument(_located("data", refusal)) from None


def _tag(value: Any, parts: _Parts | None, levels: int) -> Any:
    kind = type(value)
    if kind is str:
        if not value.isascii() or "\0" in value:
            _refuse(_text_problem(value))
        return value
    if kind is int:
        if not _INT_MIN <= value < _INT_END:
            _refuse(f"integer {value} is outside signed 64 bits; store it as text")
        return value
    if value is None or kind is bool:
        return value
    if isinstance(value, dict):
        return _tag_object(value, parts, levels - 1)
    if isinstance(value, list):
        return _tag_array(value, parts, levels - 1)
    if kind is bytes:
        return _tag_bytes(value, parts)
    if kind is float:
        if not isfinite(value):
            _refuse(f"float {value} is not finite")
        return value + 0.0  # -0.0 becomes 0.0
    if isinstance(value, datetime):
        return _tag_datetime(value)
    raise _Refused(_type_problem(value))


def _tag_object(value: dict[Any, Any], parts: _Parts | None, levels: int) -> dict[str, Any]:
    _check_levels(levels)
    result: dict[str, Any] = {}
    key: Any = None
    try:
        for key, item in value.items():
            # An identifier needs no escape and holds nothing that is refused.
            plain = type(key) is str and key.isidentifier()
            # Most items are text that needs no tag: they are spared the call.
            as_it_is = type(item) is str and item.isascii() and "\0" not in item
            result[key if plain else _escaped(key)] = (
                item if as_it_is else _tag(item, parts, levels)
            )
    except _Refused as refusal:
        refusal.trail.append(key)
        raise
    return result


def _tag_array(value: list[Any], parts: _Parts | None, levels: int) -> list[Any]:
    _check_levels(levels)
    result: list[Any] = []
    try:
        for item in value:
            result.append(_tag(item, parts, levels))  # noqa: PERF401 -- its length is the index
    except _Refused as refusal:
        refusal.trail.append(len(result))
        raise
    return result


def _tag_bytes(value: bytes, parts: _Parts | None) -> dict[str, Any]:
    if parts is None:
        return {_TAG: "bytes", _VALUE: b64encode(value).decode("ascii")}
    return parts.take(value)


def _tag_datetime(value: datetime) -> dict[str, str]:
    if value.utcoffset() is None:
        _refuse("datetime without a time zone; give it one, for example timezone.utc")
    try:
        return {_TAG: "datetime", _VALUE: datetime_text(value)}
    except OverflowError:
        raise _Refused("datetime is outside years 1 to 9999 in UTC") from None


def _escaped(key: Any) -> str:
    if type(key) is not str:
        _refuse(f"key {key!r} is {type(key).__name__}, not str")
    text: str = key
    if not text.isascii() or "\0" in text:
        _refuse(_text_problem(text))
    return "$" + text if text.startswith("$") else text


def _refuse(reason: str | None) -> None:
    if reason:
        raise _Refused(reason)


def _check_levels(levels: int) -> None:
    if levels < 0:
        message = f"nested deeper than {MAX_NESTING} levels, or it contains itself"
        raise _Refused(message)


def _text_problem(value: str) -> str | None:
    if "\0" in value:
        return "text must not hold U+0000"
    try:
        value.encode()
    except UnicodeEncodeError as error:
        return f"text holds a lone surrogate at character {error.start}"
    return None


def _type_problem(value: Any) -> str:
    kind = type(value)
    for base in (str, int, float, bytes):
        if isinstance(value, base):
            return f"{kind.__name__} is a subclass of {base.__name__}; convert it"
    if kind in (tuple, set, frozenset):
        return f"{kind.__name__} is not storable; use a list"
    if kind in (bytearray, memoryview):
        return f"{kind.__name__} is not storable; use bytes"
    return f"{kind.__name__} is not storable"


def _located(root: str, refusal: _Refused) -> str:
    path = root
    for step in reversed(refusal.trail):
        plain = isinstance(step, str) and step.isidentifier()
        path += f".{step}" if plain else f"[{step!r}]"
    return f"{path}: {refusal}"


def _untag_stored(data: Data, payload: bytes, text: str) -> Data:
    try:
        untagged: Data = _untag_object(data, payload)
    except (KeyError, TypeError) as error:
        message = f"malformed tag: {error!r}"
        raise ValueError(message) from error
    return _unescape(untagged) if '"$$' in text else untagged


# What the parser made is nobody else's, so tags are replaced in it.


def _untag_object(value: dict[str, Any], payload: bytes | None) -> Any:
    if _PART in value and payload is not None:
        return _part(value[_PART], payload)
    tag = value.get(_TAG)
    if tag == "bytes":
        return b64decode(value[_VALUE], validate=True)
    if tag == "datetime":
        return _read_datetime(value[_VALUE])
    _untag_items(value, value.items(), payload)
    return value


def _untag_items(of: Any, items: Iterable[tuple[Any, Any]], payload: bytes | None) -> None:
    """Replace what is tagged in an object or array, given its items."""
    for key, item in items:
        kind = type(item)
        if kind is dict:
            if _PART in item or _TAG in item:
                of[key] = _untag_object(item, payload)
            else:
                _untag_items(item, item.items(), payload)
        elif kind is list:
            _untag_items(item, enumerate(item), payload)


def _unescape(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key[1:] if key[:2] == "$$" else key: _unescape(item) for key, item in value.items()}
    if kind is list:
        return [_unescape(item) for item in value]
    return value


def _portable_int(text: str) -> int | float:
    value = int(text)
    return value if _INT_MIN <= value < _INT_END else float(value)


def _refers_to_bytes(value: Any) -> bool:
    if isinstance(value, dict):
        return _PART in value or any(map(_refers_to_bytes, value.values()))
    return isinstance(value, list) and any(map(_refers_to_bytes, value))


def _part(reference: Sequence[int], payload: bytes) -> bytes:
    offset, length = reference
    part = payload[offset : offset + length]
    if len(part) != length:
        message = f"payload ends at {len(payload)}, before byte {offset + length}"
        raise ValueError(message)
    return part


def _read_datetime(text: str) -> datetime:
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        message = f"datetime {text!r} has no time zone"
        raise ValueError(message)
    return value.astimezone(timezone.utc)


def _refuse_constant(name: str) -> None:
    message = f"{name} is not a portable number"
    raise InvalidArgument(message)
