"""Offers LangGraph's PostgreSQL saver when ``POSTGRES_URL`` is set."""

from __future__ import annotations

from functools import partial
from typing import Final

from naas_abi_core.plugins.specs import CheckpointerContext, CheckpointerOffer, hookimpl

__all__ = ["POSTGRES_VARIABLE", "abi_checkpointer"]

#: Where the database is, in libpq's URL or keyword form.
POSTGRES_VARIABLE: Final = "POSTGRES_URL"


@hookimpl
def abi_checkpointer(context: CheckpointerContext) -> CheckpointerOffer | None:
    """One shared ``PostgresSaver`` for each URL of the process."""
    url = context.environment.get(POSTGRES_VARIABLE)
    if not url:
        return None
    from naas_abi_core.plugins.builtin.postgres_pool import shared_postgres_saver

    return CheckpointerOffer(
        source="LangGraph's PostgresSaver",
        why=f"{POSTGRES_VARIABLE} is set",
        open=partial(shared_postgres_saver, url),
    )
