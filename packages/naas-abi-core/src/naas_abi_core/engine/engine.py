"""The engine: the order in which things come and go, and nothing else.

``load``: find modules, load services, serve them in NATS mode, bind agent memory, load modules,
find agents, tell modules.
``shutdown``: unbind agent memory, unload modules in reverse, stop serving, close services.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import RLock
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, final

from naas_abi_core.engine.agents import AgentInfo
from naas_abi_core.engine.configuration import EngineConfiguration
from naas_abi_core.engine.context import (
    AgentMemory,
    clear_default_agent_memory,
    set_default_agent_memory,
)
from naas_abi_core.engine.loading import LoadedAgents, LoadedModules
from naas_abi_core.engine.memory import decide_agent_memory
from naas_abi_core.engine.module_graph import find_modules
from naas_abi_core.engine.modules import BaseModule
from naas_abi_core.engine.services import EngineServices, declared_services
from naas_abi_core.errors import EngineError
from naas_abi_core.plugins.manager import process_plugin_manager
from naas_abi_core.plugins.specs import Checkpointer

if TYPE_CHECKING:
    import pluggy

    from naas_abi_core.services.document.service import DocumentRoot

__all__ = ["Engine"]


@final
class Engine:
    """Modules, their agents, and the services they use. A context manager: it loads and shuts down.

    Args:
        configuration: What to load.
        plugins: Whom to ask for stores and models; the process's plugin manager when None.
        serve: Whether it serves others if the configuration has ``nats``. Without that it works on
            its store alone.
    """

    def __init__(
        self,
        configuration: EngineConfiguration,
        *,
        plugins: pluggy.PluginManager | None = None,
        serve: bool = True,
    ) -> None:
        self.configuration = configuration
        self._serve = serve
        self._plugins = plugins
        self._lock = RLock()
        self._memory: AgentMemory | None = None
        self._services = EngineServices()
        self._modules = LoadedModules(configuration.without_secrets)
        self._agents = LoadedAgents()

    @classmethod
    def from_file(
        cls,
        path: Path | str | None = None,
        *,
        plugins: pluggy.PluginManager | None = None,
        serve: bool = True,
    ) -> Engine:
        """An engine for ``path``, or for the configuration file of the current directory.

        Raises:
            ConfigurationError: there is no such file, or it is wrong.
        """
        return cls(EngineConfiguration.from_file(path), plugins=plugins, serve=serve)

    def load(self, module_names: Iterable[str] | None = None) -> None:
        """Load the enabled modules, or only those named and what they require.

        On any failure what was loaded is shut down, and the failure is raised.

        Raises:
            EngineError: it is loaded already, or something cannot be loaded; see
                :mod:`naas_abi_core.errors`.
        """
        with self._lock:
            if self._memory is not None:
                raise EngineError("the engine is loaded", mend="Call shutdown() first.")
            try:
                self._load(module_names)
            except BaseException as error:
                self._shut_down_after(error)
                raise

    def shutdown(self) -> None:
        """Undo :meth:`load`. Has no effect on an engine that is not loaded.

        Everything is released even if a module's ``on_unloaded`` fails.

        Raises:
            ModuleError: the first such failure, after all was released.
        """
        with self._lock:
            memory, self._memory = self._memory, None
            if memory is not None:
                clear_default_agent_memory(memory)
            self._agents.clear()
            try:
                self._modules.unload()
            finally:
                self._services.close()

    def __enter__(self) -> Engine:
        self.load()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.shutdown()
        else:
            self._shut_down_after(error)

    @property
    def modules(self) -> Mapping[str, BaseModule]:
        """Loaded modules by dotted name, dependencies first."""
        return MappingProxyType(self._modules.by_name)

    @property
    def agents(self) -> Mapping[str, AgentInfo]:
        """Agents of the loaded modules by name."""
        return MappingProxyType(self._agents.by_name)

    def agent(self, name: str | None = None) -> Any:
        """The template of an agent, built once; serve each caller with a ``duplicate()`` of it.

        Args:
            name: Which; ``default_agent`` of the configuration, or the only one, when None.

        Raises:
            AgentNotFound: there is no such agent, or no name and several agents.
            AgentError: its factory failed.
        """
        with self._lock:
            return self._agents.build(
                name or self.configuration.default_agent, self._memory or AgentMemory()
            )

    @property
    def document_root(self) -> DocumentRoot | None:
        """The document service, not bound to a namespace; None unless a module declares it."""
        return self._services.document_root

    @property
    def checkpointer(self) -> Checkpointer | None:
        """The saver bound for agents, or None; :attr:`memory_reason` says why."""
        return self._memory.checkpointer if self._memory else None

    @property
    def memory_reason(self) -> str:
        """Why agents have the memory they have."""
        return self._memory.reason if self._memory else "the engine is not loaded"

    def _load(self, module_names: Iterable[str] | None) -> None:
        plugins = self._plugins or process_plugin_manager()
        found = find_modules(self.configuration, module_names)
        declared = {module.name: declared_services(module) for module in found}
        names = frozenset().union(*declared.values())
        self._services.load(names, self.configuration, plugins, serve=self._serve)
        self._memory = decide_agent_memory(self._services, self.configuration, os.environ)
        set_default_agent_memory(self._memory)
        self._modules.load(found, declared, self._services, self.configuration, plugins)
        self._agents.find(found)
        if module_names is None:
            self._agents.check_configured(self.configuration)
        self._modules.tell_initialized()

    def _shut_down_after(self, error: BaseException) -> None:
        """Shut down without hiding ``error``; what fails meanwhile becomes a note to it."""
        try:
            self.shutdown()
        except (Exception, SystemExit) as second:  # noqa: BLE001 -- told as a note of the first
            error.add_note(f"While shutting down: {type(second).__name__}: {second}")
