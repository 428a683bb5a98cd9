"""What an engine holds once loaded: module objects, and agents built on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, final

from naas_abi_core.engine.agents import AgentInfo, find_agents
from naas_abi_core.engine.configuration import EngineConfiguration
from naas_abi_core.engine.context import AgentMemory, override_default_agent_memory
from naas_abi_core.engine.module_graph import FoundModule
from naas_abi_core.engine.modules import (
    BaseModule,
    EngineProxy,
    register_instance,
    unregister_instance,
)
from naas_abi_core.engine.services import DeclaredServices, EngineServices
from naas_abi_core.errors import (
    AgentError,
    AgentNotFound,
    ConfigurationError,
    EngineError,
    ModuleError,
    ServiceNotDeclared,
    ServiceUnavailable,
    nearest,
)
from naas_abi_core.plugins.specs import ChatModel

if TYPE_CHECKING:
    import pluggy
__all__ = ["LoadedAgents", "LoadedModules"]


@final
class LoadedModules:
    """Module objects by name, in the order in which they were loaded."""

    def __init__(self, without_secrets: Callable[[str], str]) -> None:
        self.by_name: dict[str, BaseModule] = {}
        self._without_secrets = without_secrets

    def load(
        self,
        found: Sequence[FoundModule],
        declared: Mapping[str, frozenset[str]],
        services: EngineServices,
        configuration: EngineConfiguration,
        plugins: pluggy.PluginManager,
    ) -> None:
        """Build each module and call its ``on_load``; a failure names the module."""

        def chat_model(agent: str | None) -> ChatModel:
            from naas_abi_core.services.agent.models import create_chat_model

            wanted = configuration.chat_model_of(agent)
            return create_chat_model(wanted.name, wanted.settings, plugins=plugins)

        for module in found:
            proxy = EngineProxy(
                module=module.name,
                services=DeclaredServices(module.name, declared[module.name], services),
                modules=self._needed_by(module),
                chat_model=chat_model,
            )
            build = partial(module.kind, proxy, module.configuration)
            loaded: BaseModule = self._call(module.name, "__init__", build)
            self.by_name[module.name] = loaded
            register_instance(loaded)
            self._call(module.name, "on_load", loaded.on_load)

    def tell_initialized(self) -> None:
        """Call every module's ``on_initialized``, in order."""
        for name, module in self.by_name.items():
            self._call(name, "on_initialized", module.on_initialized)

    def unload(self) -> None:
        """Unload all, newest first; raise the first failure once all are unloaded."""
        failure: ModuleError | None = None
        while self.by_name:
            name, module = self.by_name.popitem()
            try:
                self._call(name, "on_unloaded", module.on_unloaded)
            except ModuleError as error:
                failure = failure or error
            unregister_instance(module)
        if failure is not None:
            raise failure

    def _call(self, module: str, hook: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (ServiceNotDeclared, ServiceUnavailable):
            raise  # names the module already
        except (Exception, SystemExit) as error:
            told = self._without_secrets(f"{type(error).__name__}: {error}")
            raise ModuleError(
                f"its {hook} failed: {told}",
                where=f"module {module}",
                mend="Mend it, or set 'enabled: false'.",
            ) from error

    def _needed_by(self, module: FoundModule) -> Mapping[str, BaseModule]:
        needs = module.kind.dependencies
        names = (*needs.required, *needs.wished)
        return {name: self.by_name[name] for name in names if name in self.by_name}


@final
class LoadedAgents:
    """Agents by name, and the templates that were built of them."""

    def __init__(self) -> None:
        self.by_name: dict[str, AgentInfo] = {}
        self._templates: dict[str, Any] = {}

    def find(self, found: Sequence[FoundModule]) -> None:
        """Note the agents of every module; two of one name are an error."""
        for module in found:
            for info in find_agents(module):
                other = self.by_name.setdefault(info.name, info)
                if other is not info:
                    raise ModuleError(
                        f"its agent {info.name!r} has the name of an agent of {other.module}",
                        where=f"module {module.name}",
                        mend="Give one of the two another name.",
                    )

    def check_configured(self, configuration: EngineConfiguration) -> None:
        """Refuse a configuration that names an agent no module has."""
        named: list[tuple[tuple[str, ...], str]] = [
            (("agents", name), name) for name in configuration.agents
        ]
        if configuration.default_agent is not None:
            named.append((("default_agent",), configuration.default_agent))
        problems = [
            configuration.problem(
                f"no module has an agent {name!r}{nearest(name, list(self.by_name))}",
                key,
                f"The agents are: {', '.join(self.by_name) or 'none'}.",
            )
            for key, name in named
            if name not in self.by_name
        ]
        if problems:
            raise ConfigurationError(problems)

    def build(self, name: str | None, memory: AgentMemory) -> Any:
        """The template called ``name``, built with ``memory`` as its default the first time."""
        info = self._chosen(name)
        if info.name not in self._templates:
            with override_default_agent_memory(memory):
                self._templates[info.name] = _build(info)
        return self._templates[info.name]

    def clear(self) -> None:
        """Forget all agents."""
        self.by_name.clear()
        self._templates.clear()

    def _chosen(self, name: str | None) -> AgentInfo:
        if name is None and len(self.by_name) == 1:
            return next(iter(self.by_name.values()))
        known = ", ".join(self.by_name) or "none (is the engine loaded?)"
        if name is None:
            what = "no agent was named and the configuration has no default_agent"
            raise AgentNotFound(what, mend=f"The agents are: {known}.")
        if name not in self.by_name:
            what = f"there is no agent {name!r}{nearest(name, list(self.by_name))}"
            raise AgentNotFound(what, mend=f"The agents are: {known}.")
        return self.by_name[name]


def _build(info: AgentInfo) -> Any:
    try:
        return info.factory(agent_shared_state=None, agent_configuration=None)
    except EngineError:
        raise  # says what is wrong already
    except (Exception, SystemExit) as error:
        raise AgentError(
            f"its factory failed: {type(error).__name__}: {error}",
            where=f"agent {info.name!r} of module {info.module}",
            mend="Mend the factory.",
        ) from error
