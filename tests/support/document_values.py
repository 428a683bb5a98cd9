"""Portable values: a strategy that makes them, and equality that tells 1, 1.0 and True apart."""

from __future__ import annotations

import datetime as dt
import math
from datetime import datetime, timezone
from typing import Any

from hypothesis import strategies as st

SPECIAL_NUMBERS = [
    0, 1, -1, 2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**53) - 1, 10**16,
    1_234_567_890_123_456_768, 1_234_567_890_123_456_800,
]  # fmt: skip
SPECIAL_FLOATS = [
    0.0, -0.0, 1.0, 0.1, 5e-324, 1e16, 1e300, -1e300, float(2**53), float(2**63), -float(2**63),
    1.2345678901234568e18, math.pi,
]  # fmt: skip

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
ints = st.integers(-(2**63), 2**63 - 1) | st.sampled_from(SPECIAL_NUMBERS)
floats = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(SPECIAL_FLOATS)
zones = st.integers(-1439, 1439).map(lambda minutes: timezone(dt.timedelta(minutes=minutes)))
SPAN = [datetime(year, 1, 1, tzinfo=timezone.utc).replace(tzinfo=None) for year in (2, 9998)]
datetimes = st.datetimes(*SPAN, timezones=zones)
keys = texts | st.sampled_from(["$", "$t", "$v", "$b", "$$t", "a", "b", "a.b"])


def scalars() -> st.SearchStrategy[Any]:
    """Every portable value but null, arrays and objects."""
    return st.booleans() | ints | floats | texts | datetimes | st.binary(max_size=8)


def values() -> st.SearchStrategy[Any]:
    """Every portable value."""
    return st.recursive(
        st.none() | scalars(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=8,
    )


def data() -> st.SearchStrategy[dict[str, Any]]:
    """A document's data."""
    return st.dictionaries(keys, values(), max_size=4)


def golden_values(vector: dict[str, Any]) -> Any:
    """The Python value of an entry of the golden vectors' ``values``."""
    return eval(vector["repr"], {"datetime": dt})


def normalised(value: Any) -> Any:
    """``value`` as it comes back from a store."""
    if isinstance(value, dict):
        return {key: normalised(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normalised(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc)
    return value + 0.0 if isinstance(value, float) else value


def same(left: Any, right: Any) -> bool:
    """Equal, and of equal types all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, datetime):
        return left == right and left.utcoffset() == right.utcoffset()
    if isinstance(left, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return bool(left == right)
