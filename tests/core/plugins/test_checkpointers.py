"""What ``memory=None`` resolves to, in which order, and what is said about it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from naas_abi_core.engine.context import AgentMemory, override_default_agent_memory
from naas_abi_core.errors import CheckpointerError, MemoryNotDurableWarning
from naas_abi_core.plugins.manager import create_plugin_manager
from naas_abi_core.plugins.specs import CheckpointerOffer, hookimpl
from naas_abi_core.services.agent.memory.engine import create_checkpointer, resolve_checkpointer

PLUGINS = create_plugin_manager(entry_points=False)
POSTGRES = {"POSTGRES_URL": "postgresql://user:s3cret@host/db"}
NOTHING_CONFIGURED = (
    "no engine is loaded in this process; POSTGRES_URL is not set; "
    "conversations end with the process"
)


def resolve(memory: AgentMemory, environment: Mapping[str, str]) -> CheckpointerOffer:
    with override_default_agent_memory(memory):
        return resolve_checkpointer(plugins=PLUGINS, environment=environment)


def test_the_engines_saver_comes_first() -> None:
    saver = InMemorySaver()
    offer = resolve(AgentMemory(saver, "the engine has documents"), POSTGRES)
    assert (offer.source, offer.why) == ("the engine's InMemorySaver", "the engine has documents")
    assert offer.open() is saver


def test_postgresql_comes_second_and_is_not_opened_to_be_named() -> None:
    offer = resolve(AgentMemory(), POSTGRES)
    assert (offer.source, offer.why) == ("LangGraph's PostgresSaver", "POSTGRES_URL is set")


@pytest.mark.parametrize("environment", [{}, {"POSTGRES_URL": ""}])
def test_memory_comes_last(environment: Mapping[str, str]) -> None:
    offer = resolve(AgentMemory(), environment)
    assert (offer.source, offer.why) == (
        "LangGraph's InMemorySaver",
        NOTHING_CONFIGURED,
    )


def test_each_agent_gets_its_own_memory_without_a_warning() -> None:
    offer = resolve(AgentMemory(), {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert offer.open() is not offer.open()


def test_a_configured_store_that_is_not_used_is_warned_of() -> None:
    memory = AgentMemory(reason="r", unused=("documents need naas-abi-sdk: install it",))
    with (
        override_default_agent_memory(memory),
        pytest.warns(MemoryNotDurableWarning) as caught,
    ):
        create_checkpointer(plugins=PLUGINS, environment={})
    assert str(caught[0].message) == (
        "Conversations are kept in memory only and end with the process: documents need "
        "naas-abi-sdk: install it; POSTGRES_URL is not set; conversations end with the process"
    )


def test_the_environment_of_the_process_is_read_when_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POSTGRES_URL", POSTGRES["POSTGRES_URL"])
    assert resolve_checkpointer(plugins=PLUGINS).why == "POSTGRES_URL is set"
    monkeypatch.delenv("POSTGRES_URL")
    assert resolve_checkpointer(plugins=PLUGINS).source == "LangGraph's InMemorySaver"


def test_an_offer_shows_no_secret() -> None:
    assert "s3cret" not in f"{resolve(AgentMemory(), POSTGRES).source}"


def test_another_answer_than_an_offer_is_refused() -> None:
    class Wrong:
        @hookimpl
        def abi_checkpointer(self) -> InMemorySaver:
            return InMemorySaver()

    plugins = create_plugin_manager(entry_points=False)
    plugins.register(Wrong())
    with pytest.raises(CheckpointerError) as caught:
        resolve_checkpointer(plugins=plugins, environment={})
    assert str(caught.value) == (
        "a plugin answered abi_checkpointer with a InMemorySaver, not with a CheckpointerOffer. "
        "ABI_TRACE_PLUGINS=1 shows who is asked; mend or remove that plugin."
    )


def test_an_offer_that_cannot_be_opened_is_named_and_nothing_takes_its_place() -> None:
    def refuse() -> InMemorySaver:
        raise ZeroDivisionError("division by zero")

    class Failing:
        @hookimpl
        def abi_checkpointer(self) -> CheckpointerOffer:
            return CheckpointerOffer(source="a vault", why="VAULT is set", open=refuse)

    plugins = create_plugin_manager(entry_points=False)
    plugins.register(Failing())
    with pytest.raises(CheckpointerError) as caught:
        create_checkpointer(plugins=plugins, environment=POSTGRES)
    assert str(caught.value) == (
        "checkpointer 'a vault', used because VAULT is set: it cannot be opened: "
        "ZeroDivisionError: division by zero. "
        "Mend what it needs, or have it not answer; 'abi plugins' shows who does."
    )
