"""Messages that were loaded before are copied instead of deserialized again.

A conversation is loaded at the start of every turn, and building a message costs several times
what copying one does. Each load still gets objects of its own: only messages whose content is all
plain (text, numbers, lists and dicts of such) are kept, and every list and dict in them is copied.
What a serializer made is given back to that serializer only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Final, final
from weakref import WeakKeyDictionary

from naas_abi_sdk.langgraph_documents._langgraph import SerializerProtocol, is_message_type
from naas_abi_sdk.langgraph_documents.recognising import fingerprint
from naas_abi_sdk.langgraph_documents.schema import KEPT_MESSAGES

__all__ = ["Revival", "fresh"]

#: Messages that one pending write may add to a list and still be kept.
_LISTED: Final = 8


def fresh(value: Any) -> Any:
    """A copy of a plain message, or a list of such, that shares nothing that can be changed."""
    return [_twin(message) for message in value] if type(value) is list else _twin(value)


def _twin(message: Any) -> Any:
    # What pydantic's own copy does, in half the time: each field is looked at once.
    twin = object.__new__(type(message))
    fields = {name: _copied(value) for name, value in message.__dict__.items()}
    object.__setattr__(twin, "__dict__", fields)
    object.__setattr__(twin, "__pydantic_extra__", _copied(message.__pydantic_extra__))
    object.__setattr__(twin, "__pydantic_fields_set__", message.__pydantic_fields_set__.copy())
    object.__setattr__(twin, "__pydantic_private__", _copied(message.__pydantic_private__))
    return twin


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()} if value else {}
    if kind is list:
        return [_copied(item) for item in value] if value else []
    return value


def _can_be_kept(value: Any) -> bool:
    messages = value if type(value) is list else [value]
    return (
        0 < len(messages) <= _LISTED
        and all(is_message_type(type(message)) for message in messages)
        and fingerprint(messages) is not None
    )


class _Kept:
    """What is kept for one serializer: messages by reference, and references met once."""

    def __init__(self) -> None:
        self.messages: OrderedDict[str, Any] = OrderedDict()
        self.met: set[str] = set()


@final
class Revival:
    """Loaded messages by content address, the oldest dropped first, apart for each serializer.

    A message is kept when it is loaded for the second time, so that a thread that is loaded once
    costs nothing. Safe to use from many threads.

    Args:
        capacity: Messages to keep at most for one serializer.
    """

    def __init__(self, capacity: int = KEPT_MESSAGES) -> None:
        self._capacity = capacity
        self._lock = Lock()
        self._kept: WeakKeyDictionary[SerializerProtocol, _Kept] = WeakKeyDictionary()

    def load(
        self, serde: SerializerProtocol, refs: Sequence[str], deserialize: Callable[[str], Any]
    ) -> list[Any]:
        """The values of ``refs``: copies of what is kept, else what ``deserialize`` makes."""
        with self._lock:
            kept = self._kept.setdefault(serde, _Kept())
            found = [kept.messages.get(ref) for ref in refs]
        values = [
            deserialize(ref) if message is None else fresh(message)
            for ref, message in zip(refs, found, strict=True)
        ]
        built = [
            (ref, value)
            for ref, message, value in zip(refs, found, values, strict=True)
            if message is None
        ]
        if built:
            self._learn(kept, built)
        return values

    def _learn(self, kept: _Kept, built: Sequence[tuple[str, Any]]) -> None:
        again = [(ref, value) for ref, value in built if ref in kept.met]
        messages = [(ref, fresh(value)) for ref, value in again if _can_be_kept(value)]
        with self._lock:
            kept.met.difference_update(ref for ref, _ in again)
            kept.messages.update(messages)
            while len(kept.messages) > self._capacity:
                kept.messages.popitem(last=False)
            if len(kept.met) > self._capacity:
                kept.met.clear()
            kept.met.update(ref for ref, _ in built if ref not in kept.messages)
