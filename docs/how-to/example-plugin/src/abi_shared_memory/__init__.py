"""One in-memory checkpointer for all agents of a process, when ``ABI_SHARED_MEMORY`` is 1."""

from functools import cache

from langgraph.checkpoint.memory import InMemorySaver

from naas_abi_core.plugins.specs import CheckpointerContext, CheckpointerOffer, hookimpl


@hookimpl
def abi_checkpointer(context: CheckpointerContext) -> CheckpointerOffer | None:
    if context.environment.get("ABI_SHARED_MEMORY") != "1":
        return None  # not meant: the next plugin is asked
    return CheckpointerOffer(
        source="one InMemorySaver for the whole process",
        why="ABI_SHARED_MEMORY is 1",
        open=shared_saver,
    )


@cache
def shared_saver() -> InMemorySaver:
    return InMemorySaver()
