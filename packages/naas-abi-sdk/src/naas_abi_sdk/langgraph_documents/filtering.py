"""How ``list(filter=…)`` compares metadata: one rule on every store.

A key that the metadata does not have never matches, whatever is asked for. Values match when they
are equal and of the same kind: numbers by value (``1`` matches ``1.0``), but a bool only a bool, so
``True`` does not match ``1``; lists and dicts element by element by the same rule; anything else
by ``==``. NaN matches nothing. A key is only a key: dots, quotes and brackets mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["metadata_matches"]


def metadata_matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether ``metadata`` has every key of ``wanted`` with a matching value."""
    return all(key in metadata and _same(metadata[key], value) for key, value in wanted.items())


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)
