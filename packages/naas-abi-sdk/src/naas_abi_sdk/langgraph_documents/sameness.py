"""Whether a value that was read back is the one that was stored: equal is not enough.

``True == 1 == 1.0``, two moments in different zones can be equal, and so can a model and a
subclass of it. Here types must be the same too, all the way down, and so must order, settings, zone
and fold, signs of zero, and attributes. Of two arrays the elements are compared, not the layout in
memory; of pydantic models not which fields were set explicitly.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
from typing import Any, Final, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from naas_abi_sdk.langgraph_documents.shapes import base_of, kind_of, opened
from naas_abi_sdk.langgraph_documents.unavailable import UnavailableValue

__all__ = ["Difference", "difference"]

_ADDRESSES: Final = (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
)
#: Equal means the same for values of these types and of types based on them.
_COMPARABLE: Final = (
    dt.date,
    dt.timedelta,
    Fraction,
    UUID,
    range,
    re.Pattern,
    type(None),
    bool,
    UnavailableValue,
    *_ADDRESSES,
)


class Difference(NamedTuple):
    """The first place where two values differ: the way to it, and what is there in each."""

    path: str
    stored: Any
    loaded: Any


def difference(stored: Any, loaded: Any, path: str = "") -> Difference | None:
    """Where ``loaded`` is not what was ``stored``; None if it is the same throughout."""
    here = Difference(path, stored, loaded)
    kind = kind_of(stored)
    if kind is not kind_of(loaded):
        return here
    if isinstance(stored, Enum):
        return None if stored is loaded else here
    if isinstance(stored, (dt.datetime, dt.time)):
        return here if _moment(stored) != _moment(loaded) else _zones(stored, loaded, path)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(stored, (numpy.ndarray, numpy.generic)):
        return _arrays(numpy, stored, loaded, here)
    content = _content(stored)
    if content is not _NOTHING and content != _content(loaded):
        return here
    before, after = opened(stored), opened(loaded)
    if before is None or after is None:
        equal = content is not _NOTHING or bool(stored == loaded)
        return None if equal and before is after else here
    if before.settings != after.settings or len(before.inside) != len(after.inside):
        return here
    if kind in (set, frozenset) or base_of(kind) in (set, frozenset):
        return _members(before.inside, after.inside, here)
    for (label, old), (other, new) in zip(before.inside, after.inside, strict=True):
        if label != other:
            return here
        if (found := difference(old, new, path + label)) is not None:
            return found
    return None


_NOTHING: Final = object()


def _content(value: Any) -> Any:
    """What is compared of a value beside what is inside it."""
    base = base_of(kind_of(value))
    if base in (str, bytes, bytearray, int):
        return base.__str__(value) if base is str else base(value)
    if base in (float, complex):
        return base.__repr__(value)
    if isinstance(value, Decimal):
        return value.as_tuple()
    if isinstance(value, memoryview):
        return value.format, value.shape, value.tobytes()
    if isinstance(value, ZoneInfo):
        return value.key or id(value)
    if isinstance(value, dt.timezone):
        return repr(value)
    return value if isinstance(value, _COMPARABLE) else _NOTHING


def _moment(value: dt.datetime | dt.time) -> tuple[str, int]:
    return value.replace(tzinfo=None).isoformat(), value.fold


def _zones(stored: Any, loaded: Any, path: str) -> Difference | None:
    found = difference(stored.tzinfo, loaded.tzinfo, path)
    return found and Difference(path, stored, loaded)


def _members(
    stored: list[tuple[str, Any]], loaded: list[tuple[str, Any]], here: Difference
) -> Difference | None:
    others = {item: item for _, item in loaded}
    for label, item in stored:
        if item not in others:
            return here
        if (found := difference(item, others[item], here.path + label)) is not None:
            return found
    return None


def _arrays(numpy: Any, stored: Any, loaded: Any, here: Difference) -> Difference | None:
    if stored.dtype != loaded.dtype or stored.shape != loaded.shape:
        return here
    if stored.dtype.kind != "O":
        return None if stored.tobytes() == loaded.tobytes() else here
    for at in numpy.ndindex(stored.shape):
        label = f"[{', '.join(map(str, at))}]"
        if (found := difference(stored[at], loaded[at], here.path + label)) is not None:
            return found
    return None
