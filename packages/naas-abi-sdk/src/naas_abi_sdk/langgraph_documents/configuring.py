"""What a run's ``config`` says about where a checkpoint belongs.

One rule for ids, everywhere: a thread id is text. An ``int`` or a ``UUID`` stands for its text, so
``1`` and ``"1"`` are one thread. Anything else (``None``, ``True``, ``1.5``, bytes, empty text) is
refused, and so is text with NUL or lone surrogates, which no store keeps faithfully.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from naas_abi_sdk.errors import InvalidCheckpointConfig
from naas_abi_sdk.langgraph_documents._langgraph import RunnableConfig

__all__ = ["Address", "address", "configurable", "thread_text"]


@dataclass(frozen=True, slots=True)
class Address:
    """A place in a thread: a checkpoint namespace and, when named, a checkpoint in it."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str | None

    def config(self, checkpoint_id: str) -> RunnableConfig:
        """The config that names ``checkpoint_id`` in this namespace."""
        return {
            "configurable": {
                "thread_id": self.thread_id,
                "checkpoint_ns": self.checkpoint_ns,
                "checkpoint_id": checkpoint_id,
            }
        }


def address(config: Mapping[str, Any]) -> Address:
    """Where ``config`` points, or ``InvalidCheckpointConfig`` naming the key that is wrong."""
    values = configurable(config)
    return Address(
        thread_text(values.get("thread_id")),
        _text("checkpoint_ns", values.get("checkpoint_ns") or ""),
        _checkpoint_id(values.get("checkpoint_id")),
    )


def configurable(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The ``configurable`` part of a config; empty when there is none."""
    values = (config or {}).get("configurable") or {}
    if not isinstance(values, Mapping):
        message = f"config['configurable'] must be a dict, got {type(values).__name__}"
        raise InvalidCheckpointConfig(message)
    return values


def thread_text(thread_id: object) -> str:
    """A thread id as the text it is stored under."""
    if isinstance(thread_id, UUID) or type(thread_id) is int:
        return str(thread_id)
    if thread_id is None or thread_id == "":
        message = (
            "config['configurable']['thread_id'] is missing: a checkpointer keeps state per "
            'thread. Pass e.g. {"configurable": {"thread_id": "conversation-1"}}.'
        )
        raise InvalidCheckpointConfig(message)
    return _text("thread_id", thread_id)


def _checkpoint_id(value: object) -> str | None:
    return _text("checkpoint_id", value) if value else None


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        message = (
            f"config['configurable']['{key}'] must be text, got {type(value).__name__} "
            f"({value!r}). Pass it as a str."
        )
        raise InvalidCheckpointConfig(message)
    surrogate = not value.isascii() and any("\ud800" <= it <= "\udfff" for it in value)
    if surrogate or "\0" in value:
        message = (
            f"config['configurable']['{key}'] holds a NUL or a lone surrogate ({value!r}), which "
            "cannot be stored. Remove it or encode the id, for example as hex."
        )
        raise InvalidCheckpointConfig(message)
    return str(value)
