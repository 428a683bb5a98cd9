"""The process's default memory, and contexts that override it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from naas_abi_core.engine.context import (
    AgentMemory,
    clear_default_agent_memory,
    get_default_agent_checkpointer,
    get_default_agent_memory,
    override_default_agent_memory,
    set_default_agent_checkpointer,
    set_default_agent_memory,
)


@pytest.fixture(autouse=True)
def _unset() -> Iterator[None]:
    yield
    set_default_agent_checkpointer(None)


def test_nothing_is_bound_at_first() -> None:
    memory = get_default_agent_memory()
    assert memory.checkpointer is None
    assert memory.reason == "no engine is loaded in this process"
    assert get_default_agent_checkpointer() is None


def test_what_is_set_is_seen_by_other_threads() -> None:
    saver = InMemorySaver()
    set_default_agent_checkpointer(saver)
    with ThreadPoolExecutor() as pool:
        assert pool.submit(get_default_agent_checkpointer).result() is saver
    assert get_default_agent_memory().reason == "set by the program"


def test_only_the_owner_clears() -> None:
    mine, other = AgentMemory(InMemorySaver(), "mine"), AgentMemory(InMemorySaver(), "other")
    set_default_agent_memory(mine)
    set_default_agent_memory(other)
    assert clear_default_agent_memory(mine) is False
    assert get_default_agent_memory() is other
    assert clear_default_agent_memory(other) is True
    assert get_default_agent_memory().checkpointer is None


def test_an_override_ends_with_its_block_and_stays_in_its_context() -> None:
    bound = AgentMemory(InMemorySaver(), "bound")
    set_default_agent_memory(bound)
    local = AgentMemory(InMemorySaver(), "local")
    with override_default_agent_memory(local), ThreadPoolExecutor() as pool:
        assert get_default_agent_memory() is local
        assert pool.submit(get_default_agent_memory).result() is bound
    assert get_default_agent_memory() is bound


def test_tasks_of_one_loop_do_not_see_each_others_override() -> None:
    async def overriding(memory: AgentMemory, both: asyncio.Barrier) -> AgentMemory:
        with override_default_agent_memory(memory):
            await both.wait()
            return get_default_agent_memory()

    async def main() -> None:
        both = asyncio.Barrier(2)
        first, second = AgentMemory(), AgentMemory()
        found = await asyncio.gather(overriding(first, both), overriding(second, both))
        assert found[0] is first
        assert found[1] is second

    asyncio.run(main())


def test_an_override_with_none_bound_hides_the_process_default() -> None:
    set_default_agent_checkpointer(InMemorySaver())
    with override_default_agent_memory(AgentMemory()):
        assert get_default_agent_checkpointer() is None
