"""Every LangGraph name the codec uses, and where versions of LangGraph differ.

``langgraph-checkpoint`` 3.0.1 and later 3.x and 4.x are supported; only public names are used, but
for the one wrapper that LangGraph hands to savers without a public name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde import types as serde_types
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, SendProtocol

__all__ = [
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "EncryptedSerializer",
    "JsonPlusSerializer",
    "RunnableConfig",
    "SendProtocol",
    "SerializerProtocol",
    "as_pending_write",
    "get_checkpoint_metadata",
    "is_message_type",
    "is_plain_holder",
    "is_snapshot",
    "is_text_in_disguise",
    "loads",
    "snapshot_of",
    "with_allowed",
]

#: LangChain's ``RunnableConfig``; the codec reads ``configurable`` and ``metadata`` only.
RunnableConfig = dict[str, Any]

#: What a delta channel's value is wrapped in when it is stored; None before LangGraph 1.2.
_SNAPSHOT: Final[Any] = getattr(serde_types, "_DeltaSnapshot", None)


def is_snapshot(value: Any) -> bool:
    """Whether ``value`` is a delta channel's whole value; it is in ``value.value``."""
    return type(value) is _SNAPSHOT


def snapshot_of(value: Any) -> Any:
    """The snapshot of a delta channel's whole value; raises TypeError before LangGraph 1.2."""
    if _SNAPSHOT is None:
        message = (
            "the thread has a delta channel, which LangGraph knows from 1.2 on. Upgrade LangGraph."
        )
        raise TypeError(message)
    return _SNAPSHOT(value)


def is_message_type(kind: type) -> bool:
    """Whether ``kind`` is one of LangChain's own messages: all fields, no behaviour of its own."""
    return issubclass(kind, BaseMessage) and kind.__module__.startswith("langchain_core.messages.")


def is_plain_holder(kind: type) -> bool:
    """Whether LangGraph's serializer keeps a ``kind`` of its own if it keeps what is in it."""
    return kind.__module__ == "langgraph.types" and kind.__name__ in ("Interrupt", "Send")


def is_text_in_disguise(kind: type) -> bool:
    """Whether ``kind`` is what LangChain 1.x gives for a message's text.

    Text that can also be called, as the method it used to be: stored as the text it is.
    """
    return kind.__name__ == "TextAccessor" and kind.__module__ == "langchain_core.messages.base"


def as_pending_write(channel: str, value: Any) -> Any:
    """A pending write as LangGraph's savers give it back.

    Of an error its text; interrupts as a list, though LangGraph hands them over as a tuple.
    """
    if channel == ERROR and isinstance(value, BaseException):
        return repr(value)
    return list(value) if channel == INTERRUPT and type(value) is tuple else value


def loads(serde: JsonPlusSerializer, module: str, name: str) -> bool:
    """Whether a serializer of LangGraph may load a type that LangGraph has not registered itself.

    Before langgraph-checkpoint 4 it may load every type.
    """
    return with_allowed(serde, [(module, name)]) is serde


def with_allowed(serde: JsonPlusSerializer, names: Iterable[tuple[str, ...]]) -> JsonPlusSerializer:
    """A serializer that may load more types; itself if it may load them already."""
    extend = getattr(JsonPlusSerializer, "with_msgpack_allowlist", None)
    extended: JsonPlusSerializer = serde if extend is None else extend(serde, names)
    return extended
