"""Offers the saver that the loaded engine bound."""

from __future__ import annotations

from naas_abi_core.plugins.specs import CheckpointerContext, CheckpointerOffer, hookimpl

__all__ = ["abi_checkpointer"]


@hookimpl
def abi_checkpointer(context: CheckpointerContext) -> CheckpointerOffer | None:
    """The engine's own saver, when it bound one."""
    saver = context.engine_checkpointer
    if saver is None:
        return None
    return CheckpointerOffer(
        source=f"the engine's {type(saver).__name__}",
        why=context.engine_reason,
        open=lambda: saver,
    )
