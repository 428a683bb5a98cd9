"""Secrets are taken out of values before they are serialized.

A secret is anything whose type has a callable ``get_secret_value`` (pydantic's ``SecretStr``,
``SecretBytes`` and relatives). Plain text that happens to be a credential is not recognised.

Almost no value holds one, so looking comes first, without recursion and without copying; only a
value that does is rebuilt.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import copy as shallow_copy
from functools import lru_cache
from typing import Any, NamedTuple

from naas_abi_sdk.langgraph_documents._langgraph import SendProtocol
from naas_abi_sdk.langgraph_documents.schema import REDACTED_SECRET

__all__ = ["redact_secrets"]


def redact_secrets(value: Any) -> Any:
    """``value`` with every secret replaced; ``value`` itself, untouched, when it holds none.

    Looks into dicts (values), lists, tuples, named tuples, sets, frozensets, deques, dataclasses,
    pydantic models (fields, extras and private attributes, so messages too) and the argument of a
    LangGraph ``Send``, to any depth. A redacted secret keeps its type where that type accepts the
    marker.

    Raises:
        RecursionError: a secret sits deeper than Python can rebuild.
    """
    return _rebuilt(value, set()) if _holds_secret(value) else value


_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})

#: Types of which is remembered what they are: far more than a program keeps in its state.
_KINDS = 1024


class _Container(NamedTuple):
    """How a type of container is taken apart and put together again."""

    items: Callable[[Any], Iterable[Any]]
    rebuild: Callable[[Any, Sequence[Any]], Any]


def _holds_secret(value: Any) -> bool:
    seen: set[int] = set()
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind in _PLAIN:
            continue
        secret, container = _known(kind)
        if secret:
            return True
        container = container or _send(item)
        if container is not None and id(item) not in seen:
            seen.add(id(item))
            pending.extend(container.items(item))
    return False


def _rebuilt(value: Any, inside: set[int]) -> Any:
    secret, container = _known(type(value))
    if secret:
        return _marker(value)
    container = container or _send(value)
    if container is None or id(value) in inside:
        return value
    old = list(container.items(value))
    inside.add(id(value))
    new = [_rebuilt(item, inside) for item in old]
    inside.discard(id(value))
    unchanged = all(before is after for before, after in zip(old, new, strict=True))
    return value if unchanged else container.rebuild(value, new)


def _known(kind: type) -> tuple[bool, _Container | None]:
    # A function of its own: to mypy, what ``type(value)`` gives is not hashable.
    return _looked_at(kind)


@lru_cache(_KINDS)
def _looked_at(kind: type) -> tuple[bool, _Container | None]:
    """Whether values of a type are secrets, and how they are taken apart."""
    return _is_secret(kind), _container(kind)


def _is_secret(kind: type) -> bool:
    return callable(getattr(kind, "get_secret_value", None))


def _container(kind: type) -> _Container | None:
    if issubclass(kind, dict):
        return _Container(dict.values, _rebuild_dict)
    if issubclass(kind, (list, tuple, set, frozenset, deque)):
        return _Container(iter, _rebuild_sequence)
    if hasattr(kind, "model_fields") and hasattr(kind, "model_copy"):
        return _Container(lambda value: _fields(value).values(), _rebuild_model)
    if dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(kind))
        return _Container(
            lambda value: [getattr(value, name, None) for name in names],
            lambda value, new: _rebuild_record(value, dict(zip(names, new, strict=True))),
        )
    return None


def _send(value: Any) -> _Container | None:
    if isinstance(value, SendProtocol) and not isinstance(value, type):
        return _Container(lambda send: [send.arg], lambda send, new: type(send)(send.node, new[0]))
    return None


def _rebuild_dict(value: dict[Any, Any], new: Sequence[Any]) -> Any:
    copy = value.copy()
    copy.update(zip(value, new, strict=True))
    return copy


def _rebuild_sequence(value: Any, new: Sequence[Any]) -> Any:
    if isinstance(value, deque):
        return type(value)(new, value.maxlen)
    make = getattr(value, "_make", None)  # a named tuple does not take one iterable
    return make(new) if make is not None else type(value)(new)


def _rebuild_record(value: Any, new: dict[str, Any]) -> Any:
    copy = shallow_copy(value)
    for name, item in new.items():
        if item is not getattr(value, name, None):
            object.__setattr__(copy, name, item)  # also where it is frozen
    return copy


def _fields(value: Any) -> dict[str, Any]:
    return {**vars(value), **(getattr(value, "__pydantic_extra__", None) or {}), **_private(value)}


def _private(value: Any) -> dict[str, Any]:
    return getattr(value, "__pydantic_private__", None) or {}


def _rebuild_model(value: Any, new: Sequence[Any]) -> Any:
    old = _fields(value)
    changed = {
        name: after
        for (name, before), after in zip(old.items(), new, strict=True)
        if after is not before
    }
    private = _private(value)
    copy = value.model_copy(
        update={name: item for name, item in changed.items() if name not in private}
    )
    _private(copy).update((name, item) for name, item in changed.items() if name in private)
    return copy


def _marker(secret: Any) -> Any:
    try:
        revealed = secret.get_secret_value()
        marker = REDACTED_SECRET.encode() if isinstance(revealed, bytes) else REDACTED_SECRET
        return type(secret)(marker)
    except Exception:  # noqa: BLE001 -- whatever a foreign type raises, its secret must not pass
        return REDACTED_SECRET
