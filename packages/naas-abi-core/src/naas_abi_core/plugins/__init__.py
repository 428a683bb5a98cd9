"""What others may add to the engine: the hooks, the plugins we ship, and how they are found."""

from __future__ import annotations

from naas_abi_core.plugins.manager import create_plugin_manager, process_plugin_manager
from naas_abi_core.plugins.specs import CheckpointerContext, CheckpointerOffer, hookimpl

__all__ = [
    "CheckpointerContext",
    "CheckpointerOffer",
    "create_plugin_manager",
    "hookimpl",
    "process_plugin_manager",
]
