"""Offers memory that ends with the process: the last resort, and never a silent one."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

from naas_abi_core.errors import MemoryNotDurableWarning
from naas_abi_core.plugins.specs import CheckpointerContext, CheckpointerOffer, hookimpl

if TYPE_CHECKING:
    from langgraph.checkpoint.memory import InMemorySaver

__all__ = ["abi_checkpointer"]

_log = logging.getLogger(__name__)


@hookimpl(trylast=True)
def abi_checkpointer(context: CheckpointerContext) -> CheckpointerOffer:
    """A new ``InMemorySaver`` for each agent; warns if a store was configured."""

    def open_new() -> InMemorySaver:
        from langgraph.checkpoint.memory import InMemorySaver

        _tell(context)
        return InMemorySaver()

    return CheckpointerOffer(
        source="LangGraph's InMemorySaver",
        why=_why(context),
        open=open_new,
    )


def _why(context: CheckpointerContext) -> str:
    found = "; ".join(context.unused) or context.engine_reason
    return f"{found}; POSTGRES_URL is not set; conversations end with the process"


def _tell(context: CheckpointerContext) -> None:
    if context.unused:
        warnings.warn(
            f"Conversations are kept in memory only and end with the process: {_why(context)}",
            MemoryNotDurableWarning,
            stacklevel=4,
        )
    else:
        _log.info("Conversations are kept in memory only: %s", _why(context))
