"""Every LangGraph name the codec uses, and where versions of LangGraph differ.

``langgraph-checkpoint`` 3.0.1 and later 3.x and 4.x are supported; only public names are used, but
for the one wrapper that LangGraph hands to savers without a public name.
"""

from __future__ import annotations

from collections.abc import Hashable
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
from langgraph.checkpoint.serde.types import SendProtocol

__all__ = [
    "WRITES_IDX_MAP",
    "BaseCheckpointSaver",
    "ChannelVersions",
    "Checkpoint",
    "CheckpointMetadata",
    "CheckpointTuple",
    "RunnableConfig",
    "SendProtocol",
    "SerializerProtocol",
    "get_checkpoint_metadata",
    "is_message_type",
    "is_snapshot",
    "snapshot_of",
    "writes_as",
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


def writes_as(serde: SerializerProtocol) -> Hashable | None:
    """What decides the bytes a serializer writes: equal for two that write the same.

    LangGraph gives every compiled graph a copy of the serializer that differs in what it may
    *load*, so the object itself would tell apart what writes alike. None for a serializer this
    module does not know.
    """
    if type(serde) is JsonPlusSerializer:
        return JsonPlusSerializer
    if type(serde) is EncryptedSerializer:
        inner = writes_as(serde.serde)
        return None if inner is None else (EncryptedSerializer, serde.cipher, inner)
    return None
