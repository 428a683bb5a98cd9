"""The engine's services: which there are, when they are loaded, and what a module may see of them.

A service is loaded when a module that is being loaded declares it. There is one today; a service
is one more entry of :data:`SERVICES`, one more loader below and one property of
:class:`DeclaredServices`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NoReturn, final

from naas_abi_core.errors import (
    ConfigurationError,
    ModuleError,
    ServiceNotDeclared,
    ServiceUnavailable,
    nearest,
)

if TYPE_CHECKING:
    import pluggy

    from naas_abi_core.engine.configuration import EngineConfiguration
    from naas_abi_core.engine.module_graph import FoundModule
    from naas_abi_core.engine.serving import Serving
    from naas_abi_core.services.document.port import DocumentPort
    from naas_abi_core.services.document.service import DocumentRoot, DocumentService

__all__ = [
    "SERVICES",
    "DeclaredServices",
    "EngineServices",
    "declared_services",
    "document_adapter",
]

#: Name of each service, and the class by which modules may declare it.
SERVICES: Final = {"document": "naas_abi_core.services.document.service.DocumentService"}

#: Where the configuration says which document store to use.
ADAPTER_KEY: Final = ("services", "document", "document_adapter")

_SDK_MISSING: Final = "the document service needs naas-abi-sdk, which is not installed"
_SDK_MEND: Final = "Install it: pip install 'naas-abi-core[nats]'."


def declared_services(module: FoundModule) -> frozenset[str]:
    """Names of the services that ``module`` declares.

    Raises:
        ModuleError: it declares something that is no service.
    """
    return frozenset(_name(service, module) for service in module.kind.dependencies.services)


def _name(service: type | str, module: FoundModule) -> str:
    if isinstance(service, str):
        if service in SERVICES:
            return service
        shown, hint = repr(service), nearest(service, list(SERVICES))
    else:
        shown, hint = f"{service.__module__}.{service.__qualname__}", ""
        for name, path in SERVICES.items():
            if path == shown:
                return name
    raise ModuleError(
        f"it declares the service {shown}, which does not exist{hint}",
        where=f"module {module.name}",
        mend=f"The services are: {', '.join(SERVICES)}.",
    )


@final
class EngineServices:
    """The services of one engine.

    Attributes:
        document_root: The document service, not bound to a namespace; None if not loaded.
        unavailable: Of each service that was declared and could not be loaded, why, and the mend.
    """

    def __init__(self) -> None:
        self.document_root: DocumentRoot | None = None
        self.unavailable: dict[str, str] = {}
        self._serving: Serving | None = None

    @property
    def module_documents(self) -> DocumentRoot | None:
        """The document service as modules use it: in NATS mode through the broker."""
        return self._serving.module_documents if self._serving else self.document_root

    def load(
        self,
        names: Iterable[str],
        configuration: EngineConfiguration,
        plugins: pluggy.PluginManager,
        *,
        serve: bool,
    ) -> None:
        """Load the services called ``names``, or all to ``serve`` them in NATS mode.

        Without naas-abi-sdk there is no document service, and unless it is to be served that is no
        error yet: the engine warns, and a module that uses the service is told.

        Raises:
            ConfigurationError: no adapter has the configured name, or its ``config`` is wrong.
            ServiceUnavailable: the store cannot be opened, or the service cannot be served.
        """
        serve = serve and configuration.nats is not None
        if "document" not in names and not serve:
            return
        try:
            from naas_abi_core.services.document.service import DocumentService
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("naas_abi_sdk"):
                raise
            if serve:
                raise ServiceUnavailable(_SDK_MISSING, where="nats", mend=_SDK_MEND) from error
            self.unavailable["document"] = f"{_SDK_MISSING}. {_SDK_MEND}"
            return
        if serve:
            from naas_abi_core.engine.serving import Serving, check_servable

            check_servable(configuration)
        documents = _opened(document_adapter(configuration, plugins), configuration)
        self.document_root = DocumentService.for_engine(documents)
        if serve:
            self._serving = Serving(documents, configuration)

    def close(self) -> None:
        """Close what was opened; again has no effect."""
        serving, self._serving = self._serving, None
        root, self.document_root = self.document_root, None
        try:
            if serving is not None:
                serving.close()
        finally:
            if root is not None:
                root.close()


def document_adapter(
    configuration: EngineConfiguration, plugins: pluggy.PluginManager
) -> Callable[[], DocumentPort]:
    """What opens the configured document store; opens nothing itself.

    Raises:
        ConfigurationError: no plugin has an adapter of the configured name, or the one that has
            it does not understand its ``config``.
    """
    name = configuration.services.document.document_adapter.adapter
    config = configuration.document_adapter_config()
    try:
        opener: Callable[[], DocumentPort] | None = plugins.hook.abi_document_adapter(
            name=name, config=config
        )
    except ValueError as error:
        raise _refused(error, configuration) from error
    if opener is None:
        from naas_abi_core.services.document.factory import ADAPTER_NAMES

        what = f"no document adapter is called {name!r}{nearest(name, ADAPTER_NAMES)}"
        mend = f"Use {' or '.join(ADAPTER_NAMES)}, or install the plugin that offers {name!r}."
        raise ConfigurationError(configuration.problem(what, (*ADAPTER_KEY, "adapter"), mend))
    return opener


def _opened(
    open_adapter: Callable[[], DocumentPort], configuration: EngineConfiguration
) -> DocumentPort:
    try:
        return open_adapter()
    except ValueError as error:
        raise _refused(error, configuration) from error
    except (Exception, SystemExit) as error:
        name = configuration.services.document.document_adapter.adapter
        raise ServiceUnavailable(
            f"its store cannot be opened: {configuration.without_secrets(str(error))}",
            where=f"document service (adapter {name!r})",
            mend=f"Check {'.'.join(ADAPTER_KEY)} in the configuration.",
        ) from error


def _refused(error: ValueError, configuration: EngineConfiguration) -> ConfigurationError:
    told = configuration.without_secrets(str(error))
    return ConfigurationError(
        configuration.problem(told, (*ADAPTER_KEY, "config"), "Correct the adapter's config.")
    )


@final
class DeclaredServices:
    """The services as one module sees them: those it declared, bound to its own namespace."""

    def __init__(self, module: str, declared: frozenset[str], services: EngineServices) -> None:
        self._module = module
        self._declared = declared
        self._services = services

    @property
    def document(self) -> DocumentService:
        """The document service, bound to the namespace called as the module.

        Raises:
            ServiceNotDeclared: the module does not declare it.
            ServiceUnavailable: it is not loaded, or no longer.
        """
        self._require("document")
        root = self._services.module_documents
        if root is None:
            reason = self._services.unavailable.get("document", "the engine is shut down")
            raise ServiceUnavailable(reason, where=f"module {self._module}, service 'document'")
        return root.for_namespace(self._module)

    def _require(self, name: str) -> None:
        if name not in self._declared:
            class_name = SERVICES[name].rpartition(".")[2]
            raise ServiceNotDeclared(
                f"it uses the service {name!r} without declaring it",
                where=f"module {self._module}",
                mend=f"Add {class_name} to the services of its ModuleDependencies.",
            )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise ServiceNotDeclared(
            f"there is no service {name!r}{nearest(name, list(SERVICES))}",
            where=f"module {self._module}",
            mend=f"The services are: {', '.join(SERVICES)}.",
        )
