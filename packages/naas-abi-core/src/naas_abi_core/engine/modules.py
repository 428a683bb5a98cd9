"""What a module is: a Python package whose top level exports ``ABIModule``.

::

    from naas_abi_core.engine.modules import BaseModule, ModuleConfiguration, ModuleDependencies
    from naas_abi_core.services.document.service import DocumentService

    class ABIModule(BaseModule):
        dependencies = ModuleDependencies(
            modules=["shop.catalogue", "shop.tickets#soft"],
            services=[DocumentService],
        )

        class Configuration(ModuleConfiguration):
            greeting: str = "Hello"

        configuration: Configuration

Agents are found in the package's ``agents`` folder; see :mod:`naas_abi_core.engine.agents`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, final

from pydantic import BaseModel, ConfigDict
from typing_extensions import Self

from naas_abi_core.errors import ModuleError
from naas_abi_core.plugins.specs import ChatModel

if TYPE_CHECKING:
    from naas_abi_core.engine.services import DeclaredServices

__all__ = [
    "SOFT",
    "BaseModule",
    "ChatModels",
    "EngineProxy",
    "ModuleConfiguration",
    "ModuleDependencies",
    "register_instance",
    "unregister_instance",
]

#: Ends the name of a module that is loaded earlier if it is enabled, and not missed otherwise.
SOFT: Final = "#soft"

_instances: dict[type[BaseModule], BaseModule] = {}


class ModuleConfiguration(BaseModel):
    """What a module may be told below ``config``; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


@final
@dataclass(frozen=True, slots=True)
class ModuleDependencies:
    """What a module needs before it is loaded.

    Attributes:
        modules: Dotted names of modules; with ``#soft`` at the end only if they are enabled.
        services: Service classes such as ``DocumentService``, or their names, such as
            ``"document"``, which spare the import.
    """

    modules: Sequence[str] = ()
    services: Sequence[type | str] = ()

    def __post_init__(self) -> None:
        for name in ("modules", "services"):
            if isinstance(getattr(self, name), str):  # a text is a sequence too, of letters
                message = f"ModuleDependencies: {name} is a list, also of one: {name}=[...]"
                raise TypeError(message)

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the modules that must be loaded earlier."""
        return tuple(name for name in self.modules if not name.endswith(SOFT))

    @property
    def wished(self) -> tuple[str, ...]:
        """Names of the modules that are loaded earlier if they are enabled."""
        return tuple(name.removesuffix(SOFT) for name in self.modules if name.endswith(SOFT))


class ChatModels(Protocol):
    """Builds the chat model that the configuration gives an agent."""

    def __call__(self, agent: str | None) -> ChatModel:
        """The model of ``agent``, or the one for all when None."""


@final
@dataclass(frozen=True, slots=True)
class EngineProxy:
    """The engine as one module sees it: what it declared and nothing else.

    Attributes:
        module: The module's dotted name, which is also its document namespace.
        services: Its services by name: ``services.document``.
        modules: The modules it depends on, loaded, by name.
        chat_model: Builds the model that the configuration gives an agent.
    """

    module: str
    services: DeclaredServices
    modules: Mapping[str, BaseModule]
    chat_model: ChatModels = field(repr=False)


class BaseModule:
    """The base of every ``ABIModule``. One object per engine; hooks run in the loading thread."""

    dependencies: ClassVar[ModuleDependencies] = ModuleDependencies()

    class Configuration(ModuleConfiguration):
        """Nothing to configure, unless the module says otherwise."""

    def __init__(self, engine: EngineProxy, configuration: ModuleConfiguration) -> None:
        self.engine = engine
        self.configuration = configuration

    @classmethod
    def get_instance(cls) -> Self:
        """The loaded object of this module, for agent factories, which are handed no engine.

        Raises:
            ModuleError: no engine has loaded the module, or it was unloaded.
        """
        instance = _instances.get(cls)
        if not isinstance(instance, cls):
            raise ModuleError(
                "it is not loaded",
                where=f"module {cls.__module__}",
                mend="Load it: enable it in the configuration and call Engine.load().",
            )
        return instance

    def chat_model(self, agent: str | None = None) -> ChatModel:
        """The chat model that the configuration gives ``agent``; the one for all when None.

        Raises:
            ChatModelError: there is no such model, or it cannot be built.
        """
        return self.engine.chat_model(agent)

    def on_load(self) -> None:
        """Called once the modules this one depends on are loaded."""

    def on_initialized(self) -> None:
        """Called once all modules are loaded and all agents are known."""

    def on_unloaded(self) -> None:
        """Called at shutdown, before the modules this one depends on. Services still work."""


def register_instance(module: BaseModule) -> None:
    """Make ``module`` what ``get_instance`` of its class answers."""
    _instances[type(module)] = module


def unregister_instance(module: BaseModule) -> None:
    """Undo :func:`register_instance`, unless another engine's object took over."""
    if _instances.get(type(module)) is module:
        del _instances[type(module)]
