"""Which checkpointer an agent built with ``memory=None`` gets. Plugins decide; this asks them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pluggy
from langgraph.checkpoint.base import BaseCheckpointSaver

from naas_abi_core.engine.context import get_default_agent_memory
from naas_abi_core.errors import CheckpointerError, EngineError
from naas_abi_core.plugins.manager import process_plugin_manager
from naas_abi_core.plugins.specs import CheckpointerContext, CheckpointerOffer

__all__ = ["create_checkpointer", "resolve_checkpointer"]


def create_checkpointer(
    *,
    plugins: pluggy.PluginManager | None = None,
    environment: Mapping[str, str] | None = None,
) -> BaseCheckpointSaver[Any]:
    """Open what :func:`resolve_checkpointer` answers.

    Raises:
        CheckpointerError: it cannot be opened. Nothing else is tried: a conversation must not move
            to a lesser store because a better one is down.
    """
    offer = resolve_checkpointer(plugins=plugins, environment=environment)
    try:
        return offer.open()
    except (EngineError, Warning):
        raise  # says what is wrong already
    except (Exception, SystemExit) as error:
        raise CheckpointerError(
            f"it cannot be opened: {type(error).__name__}: {error}",
            where=f"checkpointer {offer.source!r}, used because {offer.why}",
            mend="Mend what it needs, or have it not answer; 'abi plugins' shows who does.",
        ) from error


def resolve_checkpointer(
    *,
    plugins: pluggy.PluginManager | None = None,
    environment: Mapping[str, str] | None = None,
) -> CheckpointerOffer:
    """What agents built here and now would use, and why. Opens nothing.

    In this order: other people's plugins, the saver the engine bound, a PostgreSQL saver when
    ``POSTGRES_URL`` is set, memory that ends with the process.

    Args:
        plugins: Whom to ask; the process's plugin manager when None.
        environment: Variables to use, instead of those of the process.

    Raises:
        CheckpointerError: a plugin answered with something else than an offer.
    """
    memory = get_default_agent_memory()
    context = CheckpointerContext(
        engine_checkpointer=memory.checkpointer,
        engine_reason=memory.reason,
        unused=memory.unused,
        environment=dict(os.environ if environment is None else environment),
    )
    manager = process_plugin_manager() if plugins is None else plugins
    offer = manager.hook.abi_checkpointer(context=context)
    if not isinstance(offer, CheckpointerOffer):
        raise CheckpointerError(
            f"a plugin answered abi_checkpointer with a {type(offer).__name__}, "
            "not with a CheckpointerOffer",
            mend="ABI_TRACE_PLUGINS=1 shows who is asked; mend or remove that plugin.",
        )
    return offer
