"""The SDK: an engine's services for modules in other processes.

The names below are loaded when first used, so that importing the package costs next to nothing.
LangGraph's saver is :class:`naas_abi_sdk.langgraph.DocumentCheckpointSaver`, with the extra
``[langgraph]``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from naas_abi_sdk.client import ABIClient
    from naas_abi_sdk.connecting import BrokerSettings
    from naas_abi_sdk.document.client import DocumentClient
    from naas_abi_sdk.modules.declaring import (
        AgentDescriptor,
        BaseModule,
        ModuleDependencies,
        agent_memory_id,
    )
    from naas_abi_sdk.modules.hosting import HostingLimits
    from naas_abi_sdk.modules.running import run_module
    from naas_abi_sdk.tokens import ModuleToken, token_from_env
    from naas_abi_sdk.transport import Transport

__all__ = [
    "ABIClient",
    "AgentDescriptor",
    "BaseModule",
    "BrokerSettings",
    "DocumentClient",
    "HostingLimits",
    "ModuleDependencies",
    "ModuleToken",
    "Transport",
    "agent_memory_id",
    "run_module",
    "token_from_env",
]

_MODULES = {
    "ABIClient": "client",
    "AgentDescriptor": "modules.declaring",
    "BaseModule": "modules.declaring",
    "BrokerSettings": "connecting",
    "DocumentClient": "document.client",
    "HostingLimits": "modules.hosting",
    "ModuleDependencies": "modules.declaring",
    "ModuleToken": "tokens",
    "Transport": "transport",
    "agent_memory_id": "modules.declaring",
    "run_module": "modules.running",
    "token_from_env": "tokens",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
