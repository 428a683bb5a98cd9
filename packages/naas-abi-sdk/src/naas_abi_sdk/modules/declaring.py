"""What a module in a process of its own declares: the services it uses and the agents it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, final

from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.document.client import DocumentClient
from naas_abi_sdk.errors import InvalidArgument

__all__ = ["AgentDescriptor", "BaseModule", "ModuleDependencies", "agent_memory_id"]

_DOCUMENT: Final = "document"
_SERVICES: Final = frozenset((_DOCUMENT,))
_AGENT_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


def agent_memory_id(module_id: str, agent_name: str, version: int = 1) -> str:
    """The scope of an agent's memory within its module's namespace."""
    return f"{module_id}.{agent_name}.v{version}"


@final
@dataclass(frozen=True, slots=True)
class ModuleDependencies:
    """What a module uses; anything else is refused.

    Attributes:
        services: Names of an engine's services; there is ``"document"``.
    """

    services: Sequence[str] = ()

    def __post_init__(self) -> None:
        unknown = sorted(set(self.services) - _SERVICES)
        if unknown:
            message = f"there is no service {unknown[0]!r} for modules; there is {_DOCUMENT!r}"
            raise InvalidArgument(message)


@final
@dataclass(frozen=True, slots=True)
class AgentDescriptor:
    """An agent of a module.

    Attributes:
        name: What callers ask for: letters, digits, ``_`` and ``-``.
        description: What it does, for people.
        build: Called once with the checkpoint saver; returns the compiled LangGraph graph, which
            has a channel ``messages``.
        memory_version: Raise it to begin with an empty memory, and leave the old one where it is.
    """

    name: str
    description: str
    build: Callable[[Any], Any] = field(repr=False)
    memory_version: int = 1

    def __post_init__(self) -> None:
        if not _AGENT_NAME.fullmatch(self.name):
            message = f"{self.name!r} cannot be an agent's name; use letters, digits, _ and -"
            raise InvalidArgument(message)


class BaseModule:
    """A module: subclass it, and give the class to :func:`naas_abi_sdk.run_module`.

    ::

        class ABIModule(BaseModule):
            module_id = "acme.support"
            dependencies = ModuleDependencies(services=("document",))
            agents = (AgentDescriptor("assistant", "Answers.", build),)

    Attributes:
        module_id: Who the module is: its dotted name, its identity in tokens, and its namespace of
            the document service.
        dependencies: The services it uses.
        agents: What it hosts. Read after :meth:`on_initialized`, which may set it.
    """

    module_id: ClassVar[str] = ""
    dependencies: ClassVar[ModuleDependencies] = ModuleDependencies()
    agents: Sequence[AgentDescriptor] = ()

    def __init__(self, client: ABIClient) -> None:
        self._client = client

    @property
    def documents(self) -> DocumentClient:
        """The module's namespace of the document service.

        Raises:
            InvalidArgument: the module does not declare that it uses it.
        """
        if _DOCUMENT not in self.dependencies.services:
            message = (
                f"the module {self.module_id} does not declare the document service; "
                "add ModuleDependencies(services=('document',)), which agents' memory needs too"
            )
            raise InvalidArgument(message)
        return self._client.documents

    async def on_initialized(self) -> None:
        """Called once connected, before the first turn is taken."""

    async def on_unloaded(self) -> None:
        """Called when the last turn has ended, while services still work."""
