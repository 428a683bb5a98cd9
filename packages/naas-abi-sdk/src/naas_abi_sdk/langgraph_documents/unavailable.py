"""What stands in a loaded checkpoint for a value whose type cannot be used here.

Its class was renamed or removed, is not allowed, or refuses what was stored. The checkpoint loads
all the same: the place and the type are logged, whoever touches the value gets an error that says
so, and it is stored again as the very bytes it came from. When its class is back, so is the value.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NoReturn, final

from naas_abi_sdk.errors import TypeUnavailable

__all__ = ["UnavailableValue", "is_load", "reading", "report"]

logger = logging.getLogger(__name__)

#: What is being read, for messages; None while a save reads back what it would store.
_place: ContextVar[str | None] = ContextVar("place", default="a checkpoint")

#: What was logged: once for each place and type in a process, and never without bound.
_reported: Final[set[tuple[str, str, str]]] = set()
_REPORTED_AT_MOST: Final = 1_000


@final
class UnavailableValue:
    """A stored value that cannot be built here.

    Attributes:
        unavailable_type: Dotted name of its type.
        unavailable_because: Why, and what would help.
        unavailable_data: What is stored of it, as plain data, for viewers.
        unavailable_bytes: The serialization kind, extension code and bytes it came from.
    """

    __slots__ = (
        "unavailable_because",
        "unavailable_bytes",
        "unavailable_data",
        "unavailable_type",
    )

    def __init__(self, name: str, because: str, data: Any, stored: tuple[str, int, bytes]) -> None:
        self.unavailable_type = name
        self.unavailable_because = because
        self.unavailable_data = data
        self.unavailable_bytes = stored

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnavailableValue):
            return NotImplemented
        return self.unavailable_bytes[1:] == other.unavailable_bytes[1:]

    def __hash__(self) -> int:
        return hash(self.unavailable_bytes[1:])

    def __repr__(self) -> str:
        return f"<{self.unavailable_type}, unavailable: {self.unavailable_because}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return UnavailableValue, tuple(
            getattr(self, f"unavailable_{name}") for name in ("type", "because", "data", "bytes")
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        _refuse(self)

    def _refused(self, *_: object, **__: object) -> NoReturn:
        _refuse(self)

    __add__ = __bool__ = __call__ = __contains__ = __getitem__ = __iter__ = __len__ = _refused
    __or__ = __radd__ = __ror__ = __setitem__ = _refused


def _refuse(value: UnavailableValue) -> NoReturn:
    message = (
        f"this value is a {value.unavailable_type}, which is unavailable: "
        f"{value.unavailable_because}. What is stored of it is not touched."
    )
    raise TypeUnavailable(message)


@contextmanager
def reading(place: str | None) -> Iterator[None]:
    """Name what is being read to :func:`report`; None for a read that nothing is to be said of."""
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


def is_load() -> bool:
    """Whether a checkpoint is being loaded, rather than a save reading back what it would store."""
    return _place.get() is not None


def report(value: UnavailableValue) -> None:
    """Log that ``value`` was read, once for each place."""
    place = _place.get()
    if place is None or len(_reported) >= _REPORTED_AT_MOST:
        return
    key = (place, value.unavailable_type, value.unavailable_because)
    if key in _reported:
        return
    _reported.add(key)
    logger.warning(
        "%s holds a %s, which is unavailable: %s. What is stored of it is not touched.",
        place,
        value.unavailable_type,
        value.unavailable_because,
    )
