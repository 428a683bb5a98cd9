"""The agent of the demonstration: it looks things up and remembers what was asked."""

from __future__ import annotations

from langchain_core.tools import tool

from naas_abi_cli.demo import pausing
from naas_abi_cli.demo.librarian import ABIModule
from naas_abi_cli.demo.script import found_entry
from naas_abi_core.services.agent import Agent, AgentConfiguration, AgentSharedState

__all__ = ["Librarian"]


@tool
def look_up(topic: str) -> str:
    """Look up an entry."""
    pausing.pause_if_asked(topic)
    return found_entry(topic)


class Librarian(Agent):
    """Looks up entries and remembers them."""

    name = "librarian"
    description = "Looks up entries and remembers them."

    @classmethod
    def New(  # noqa: N802 -- the published name of an agent's factory
        cls,
        agent_shared_state: AgentSharedState | None = None,
        agent_configuration: AgentConfiguration | None = None,
    ) -> Agent:
        """Build it on the configured chat model and the engine's memory."""
        return cls(
            name=cls.name,
            description=cls.description,
            chat_model=ABIModule.get_instance().chat_model(cls.name),
            tools=[look_up],
            state=agent_shared_state,
            configuration=agent_configuration
            or AgentConfiguration(system_prompt="You keep a library of numbered entries."),
        )
