"""Every LangGraph name the codec uses, and where versions of LangGraph differ.

``langgraph-checkpoint`` 3.0.1 and later 3.x and 4.x are supported; only public names are used.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

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
    "writes_as",
]

#: LangChain's ``RunnableConfig``; the codec reads ``configurable`` and ``metadata`` only.
RunnableConfig = dict[str, Any]


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
