"""Agents: a chat model, tools and a memory that outlives the process. Loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from naas_abi_core.services.agent.agent import Agent
    from naas_abi_core.services.agent.memory.engine import create_checkpointer
    from naas_abi_core.services.agent.models import create_chat_model
    from naas_abi_core.services.agent.state import AgentConfiguration, AgentSharedState

__all__ = [
    "Agent",
    "AgentConfiguration",
    "AgentSharedState",
    "create_chat_model",
    "create_checkpointer",
]

_MODULES = {
    "Agent": "agent",
    "AgentConfiguration": "state",
    "AgentSharedState": "state",
    "create_chat_model": "models",
    "create_checkpointer": "memory.engine",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
