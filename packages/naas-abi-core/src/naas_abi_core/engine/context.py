"""The checkpointer that agents of this process use by default, as the loaded engine bound it.

One per process, because agents are built by factories that are handed no engine. A context may
override it for what runs inside: the engine does so while it builds one of its own agents, so two
engines in one process do not mix, and tests do so to stay apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock

from naas_abi_core.plugins.specs import Checkpointer

__all__ = [
    "AgentMemory",
    "clear_default_agent_memory",
    "get_default_agent_checkpointer",
    "get_default_agent_memory",
    "override_default_agent_memory",
    "set_default_agent_checkpointer",
    "set_default_agent_memory",
]


@dataclass(frozen=True, slots=True, eq=False)
class AgentMemory:
    """What an engine decided about the memory of its agents. Compared by identity.

    Attributes:
        checkpointer: The saver it bound, or None.
        reason: Why it bound it, or bound none.
        unused: Stores that were configured and cannot be used, each with its mend.
    """

    checkpointer: Checkpointer | None = None
    reason: str = "no engine is loaded in this process"
    unused: tuple[str, ...] = ()


_NO_ENGINE = AgentMemory()
_lock = Lock()
_process_memory = _NO_ENGINE
_override: ContextVar[AgentMemory | None] = ContextVar("agent_memory", default=None)


def get_default_agent_memory() -> AgentMemory:
    """What agents built here with ``memory=None`` are to use, and why."""
    return _override.get() or _process_memory


def set_default_agent_memory(memory: AgentMemory) -> None:
    """Make ``memory`` the default of the whole process."""
    global _process_memory  # noqa: PLW0603 -- one per process is the point
    with _lock:
        _process_memory = memory


def clear_default_agent_memory(memory: AgentMemory) -> bool:
    """Take ``memory`` back if it still is the process's default; say whether it was.

    An engine that shuts down after another has loaded must not unbind the other's saver.
    """
    global _process_memory  # noqa: PLW0603 -- one per process is the point
    with _lock:
        if _process_memory is not memory:
            return False
        _process_memory = _NO_ENGINE
        return True


@contextmanager
def override_default_agent_memory(memory: AgentMemory) -> Iterator[None]:
    """Use ``memory`` in this context only: this thread, or this asyncio task and what it starts."""
    token = _override.set(memory)
    try:
        yield
    finally:
        _override.reset(token)


def get_default_agent_checkpointer() -> Checkpointer | None:
    """The saver bound for agents built here with ``memory=None``, or None."""
    return get_default_agent_memory().checkpointer


def set_default_agent_checkpointer(checkpointer: Checkpointer | None) -> None:
    """Bind ``checkpointer`` for the whole process, or unbind with None."""
    reason = "set by the program" if checkpointer is not None else _NO_ENGINE.reason
    set_default_agent_memory(AgentMemory(checkpointer, reason))
