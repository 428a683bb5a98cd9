"""What a value is made of: what its type is based on, its attributes, the values inside it."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from naas_abi_sdk.langgraph_documents._langgraph import is_text_in_disguise

__all__ = [
    "Opened",
    "attributes",
    "base_of",
    "is_model",
    "kind_of",
    "model_state",
    "opened",
    "where",
]

#: Types of which is remembered what they are: far more than a program keeps in its state.
_KINDS: Final = 1024

#: What a type may be based on, the most special first. ``bool`` cannot be subclassed.
_BASES: Final[tuple[Any, ...]] = (
    defaultdict,
    OrderedDict,
    dict,
    deque,
    list,
    set,
    frozenset,
    tuple,
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
)


class Opened(NamedTuple):
    """A value taken apart.

    Attributes:
        settings: What it is beside what is in it, such as the bound of a deque.
        inside: The values in it, each with the text that leads to it, such as ``.name`` or ``[3]``.
    """

    settings: Any
    inside: list[tuple[str, Any]]


def kind_of(value: Any) -> type:
    """The type of a value, as far as storing it is concerned."""
    kind: Any = type(value)
    return str if is_text_in_disguise(kind) else kind


@lru_cache(_KINDS)
def base_of(kind: Any) -> Any:
    """The built-in type that holds the content of a ``kind``; None if it has no such content."""
    if issubclass(kind, Enum) or kind is bool or is_model(kind) or kind.__module__ == "numpy":
        return None
    return next((base for base in _BASES if issubclass(kind, base)), None)


@lru_cache(_KINDS)
def is_model(kind: Any) -> bool:
    """Whether ``kind`` is a pydantic model of version 2 or later."""
    return hasattr(kind, "model_fields") and hasattr(kind, "__pydantic_validator__")


def model_state(model: Any) -> tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any] | None]:
    """A model's fields, extras and private attributes, without what it can compute again."""
    return (
        _kept(type(model), vars(model)),
        getattr(model, "__pydantic_extra__", None),
        getattr(model, "__pydantic_private__", None),
    )


def attributes(value: Any) -> dict[str, Any]:
    """Everything set on an object itself, in slots or not, but for cached properties."""
    kind: Any = type(value)
    found = {name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}
    return {**found, **_kept(kind, getattr(value, "__dict__", {}))}


def opened(value: Any) -> Opened | None:
    """``value`` taken apart; None if there is nothing to take apart."""
    kind: Any = type(value)
    if is_model(kind):
        return Opened(None, [item for part in model_state(value) for item in _named(part or {})])
    base = base_of(kind)
    if base is None:
        return Opened(None, list(_named(attributes(value)))) if _is_record(kind) else None
    inside = list(_content(value, base)) + (
        list(_named(attributes(value))) if kind is not base else []
    )
    if base is defaultdict:
        return Opened(value.default_factory, inside)
    return (
        Opened(value.maxlen if base is deque else None, inside)
        if inside or base in _HOLDERS
        else None
    )


def where(value: Any, sought: Any, inside: frozenset[int] = frozenset()) -> str | None:
    """The text that leads from ``value`` to the very object ``sought``; None if nothing does."""
    if value is sought:
        return ""
    if id(value) in inside or (taken := opened(value)) is None:
        return None
    inside = inside | {id(value)}
    found = ((label, where(item, sought, inside)) for label, item in taken.inside)
    return next((label + rest for label, rest in found if rest is not None), None)


_HOLDERS: Final = frozenset(_BASES[:8])


def _content(value: Any, base: Any) -> Iterator[tuple[str, Any]]:
    if issubclass(base, dict):
        for key in dict.keys(value):
            if type(key) is not str:
                yield f"{{key {key!r}}}", key
            yield f"[{key!r}]", dict.__getitem__(value, key)
    elif base in (set, frozenset):
        yield from (("{member}", item) for item in base.__iter__(value))
    elif base in _HOLDERS:
        yield from ((f"[{at}]", item) for at, item in enumerate(base.__iter__(value)))


def _named(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((f".{name}", item) for name, item in values.items())


@lru_cache(_KINDS)
def _is_record(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or (
        bool(_slots(kind)) and kind.__module__.startswith("langgraph.")
    )


@lru_cache(_KINDS)
def _slots(kind: type) -> tuple[str, ...]:
    names = []
    for owner in kind.__mro__:
        slots = owner.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            private = name.startswith("__") and not name.endswith("__")
            names.append(f"_{owner.__name__.lstrip('_')}{name}" if private else name)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _kept(kind: type, found: dict[str, Any]) -> dict[str, Any]:
    return {
        name: item
        for name, item in found.items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }
