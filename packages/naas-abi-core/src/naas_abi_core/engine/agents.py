"""Finds the agents of a module: every ``agents/*.py`` of its package.

A file offers agents in one of two ways: classes with a classmethod
``New(agent_shared_state=None, agent_configuration=None)``, or one function ``create_agent`` with
the same parameters, named by the file's ``NAME`` or else by the file. Files that start with ``_``
or end in ``test.py`` are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from inspect import getdoc, ismodule
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from naas_abi_core.errors import ModuleError

if TYPE_CHECKING:
    from naas_abi_core.engine.module_graph import FoundModule

__all__ = ["AgentInfo", "find_agents"]


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """An agent that can be built.

    Attributes:
        name: Its name, unique in an engine.
        module: Dotted name of its module.
        description: What it is for; may be empty.
        factory: Builds one; takes ``agent_shared_state`` and ``agent_configuration``.
    """

    name: str
    module: str
    description: str
    factory: Callable[..., Any] = field(repr=False, compare=False)


def find_agents(module: FoundModule) -> Iterator[AgentInfo]:
    """The agents of ``module``, file by file in the order of their names.

    Raises:
        ModuleError: a file cannot be imported; the error names it.
    """
    for name in _agent_files(module.package):
        try:
            file = import_module(name)
        except (Exception, SystemExit) as error:
            raise ModuleError(
                f"the import of {name} failed: {type(error).__name__}: {error}",
                where=f"module {module.name}",
                mend="Mend it, or start its name with _ if it is no agent.",
            ) from error
        yield from _agents_in(file, module.name)


def _agent_files(package: ModuleType) -> Iterator[str]:
    for folder in getattr(package, "__path__", ()):
        agents = Path(folder) / "agents"
        for found in sorted(iter_modules([str(agents)]), key=lambda each: each.name):
            if not (found.ispkg or found.name.startswith("_") or found.name.endswith("test")):
                yield f"{package.__name__}.agents.{found.name}"


def _agents_in(file: ModuleType, module: str) -> Iterator[AgentInfo]:
    for kind in vars(file).values():
        # Only classes made here: an imported one belongs to the file it comes from.
        if isinstance(kind, type) and kind.__module__ == file.__name__ and _offers_new(kind):
            name = getattr(kind, "name", None)
            yield AgentInfo(
                name=name if isinstance(name, str) else kind.__name__,
                module=module,
                description=_description(kind, "description"),
                factory=kind.New,  # type: ignore[attr-defined]  # _offers_new has looked
            )
    create = vars(file).get("create_agent")
    # LangChain has a function of this name, which an agent's file may well import.
    if isinstance(create, FunctionType) and create.__module__ == file.__name__:
        name = getattr(file, "NAME", None)
        yield AgentInfo(
            name=name if isinstance(name, str) else file.__name__.rpartition(".")[2],
            module=module,
            description=_description(file, "DESCRIPTION"),
            factory=create,
        )


def _offers_new(kind: type) -> bool:
    """Whether the class, or a base other than ``Agent`` itself, defines ``New``."""
    for base in kind.__mro__:
        if "New" in vars(base):
            return not base.__module__.startswith("naas_abi_core.services.agent.")
    return False


def _description(owner: Any, attribute: str) -> str:
    told = getattr(owner, attribute, None)
    if isinstance(told, str):
        return told
    documented = owner.__doc__ if ismodule(owner) else vars(owner).get("__doc__")
    return (getdoc(owner) or "").partition("\n")[0] if documented else ""
