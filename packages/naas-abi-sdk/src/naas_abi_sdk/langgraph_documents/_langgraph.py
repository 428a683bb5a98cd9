"""Every LangGraph name the codec uses, and where versions of LangGraph differ.

``langgraph-checkpoint`` 3.0.1 and later 3.x and 4.x are supported; only public names are used.
"""

from __future__ import annotations

from typing import Any

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
]

#: LangChain's ``RunnableConfig``; the codec reads ``configurable`` and ``metadata`` only.
RunnableConfig = dict[str, Any]
