"""The plugins that ship with the engine, in the order in which they are asked."""

from __future__ import annotations

from typing import Final

from naas_abi_core.plugins.builtin import (
    chat_models,
    document_adapters,
    engine_checkpointer,
    memory_checkpointer,
    postgres_checkpointer,
)

__all__ = ["FIRST", "LAST"]

#: Asked in this order, after the plugins of others.
FIRST: Final = (
    ("engine", engine_checkpointer),
    ("postgresql", postgres_checkpointer),
    ("document-adapters", document_adapters),
    ("chat-models", chat_models),
)

#: Asked when everyone else has given no answer.
LAST: Final = (("memory", memory_checkpointer),)
