"""Finds the packages of the modules to load and puts them in order."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from naas_abi_core.engine.configuration import EngineConfiguration, ModuleSettings
from naas_abi_core.engine.modules import BaseModule, ModuleConfiguration
from naas_abi_core.errors import (
    ConfigurationError,
    ModuleCycle,
    ModuleError,
    ModuleNotFound,
    nearest,
)

__all__ = ["FoundModule", "find_modules"]


@dataclass(frozen=True, slots=True)
class FoundModule:
    """A module that is imported and checked, and not yet loaded."""

    name: str
    package: ModuleType
    kind: type[BaseModule]
    configuration: ModuleConfiguration


def find_modules(
    configuration: EngineConfiguration, names: Iterable[str] | None = None
) -> list[FoundModule]:
    """Import the enabled modules and order them so that dependencies come first.

    Args:
        configuration: What is enabled, and with which settings.
        names: Load only these, and what they require; all that are enabled when None.

    Raises:
        ModuleNotFound: a module, or one it requires, is not enabled or not importable.
        ModuleCycle: modules require each other.
        ModuleError: a module's import failed, or it is no module.
        ConfigurationError: a module's ``config`` does not fit, or it is listed twice.
    """
    enabled = _enabled(configuration)
    waiting = list(enabled if names is None else _known(names, enabled))
    found: dict[str, FoundModule] = {}
    while waiting:
        name = waiting.pop(0)
        if name in found:
            continue
        position, settings = enabled[name]
        found[name] = _find(configuration, position, settings)
        for required in found[name].kind.dependencies.required:
            if required not in enabled:
                raise _not_enabled(name, required, configuration, enabled)
            waiting.append(required)
    return _in_order(found)


def _enabled(configuration: EngineConfiguration) -> dict[str, tuple[int, ModuleSettings]]:
    enabled: dict[str, tuple[int, ModuleSettings]] = {}
    listed: dict[str, int] = {}
    for position, settings in enumerate(configuration.modules):
        if settings.module in listed:
            key = ("modules", position, "module")
            what = f"the module {settings.module!r} is listed twice"
            raise ConfigurationError(configuration.problem(what, key, "Keep one of the two."))
        listed[settings.module] = position
        if settings.enabled:
            enabled[settings.module] = (position, settings)
    return enabled


def _known(names: Iterable[str], enabled: Mapping[str, object]) -> Sequence[str]:
    wanted = list(names)
    for name in wanted:
        if name not in enabled:
            raise ModuleNotFound(
                f"no enabled module has this name{nearest(name, list(enabled))}",
                where=f"module {name}",
                mend=f"Enabled are: {', '.join(enabled) or 'none'}.",
            )
    return wanted


def _not_enabled(
    name: str,
    required: str,
    configuration: EngineConfiguration,
    enabled: Mapping[str, object],
) -> ModuleNotFound:
    listed = any(settings.module == required for settings in configuration.modules)
    what = f"it requires the module {required!r}, which is {'disabled' if listed else 'not listed'}"
    mend = "Enable it." if listed else f"Add '- module: {required}' to modules."
    hint = "" if listed else nearest(required, list(enabled))
    return ModuleNotFound(f"{what}{hint}", where=f"module {name}", mend=mend)


def _find(
    configuration: EngineConfiguration, position: int, settings: ModuleSettings
) -> FoundModule:
    name = settings.module
    key = ("modules", position)
    package = _import(configuration, position, settings)
    kind = getattr(package, "ABIModule", None)
    if not (isinstance(kind, type) and issubclass(kind, BaseModule)):
        raise ModuleError(
            "its package exports no class ABIModule derived from BaseModule",
            where=f"module {name}",
            mend=f"Define or import ABIModule in {package.__file__ or name}.",
        )
    try:
        config = kind.Configuration.model_validate(settings.config)
    except ValidationError as error:
        problems = configuration.problems_of(error, kind.Configuration, (*key, "config"))
        raise ConfigurationError(problems) from None
    return FoundModule(name, package, kind, config)


def _import(
    configuration: EngineConfiguration, position: int, settings: ModuleSettings
) -> ModuleType:
    name = settings.module
    folder = None if settings.path is None else configuration.directory / settings.path
    if folder is not None:
        if not folder.is_dir():
            key = ("modules", position, "path")
            what = f"there is no directory {folder}"
            raise ConfigurationError(
                configuration.problem(what, key, f"It is to hold the package {name!r}.")
            )
        if str(folder) not in sys.path:
            # Last, so that a project's folder hides nothing that is installed; and left there,
            # because a module may import more of itself at any time.
            sys.path.append(str(folder))
            invalidate_caches()
    _check_found(configuration, position, name)
    try:
        package = import_module(name)
    except (Exception, SystemExit) as error:
        raise _import_failed(name, error, configuration) from error
    _check_place(package, name, folder)
    return package


def _check_found(configuration: EngineConfiguration, position: int, name: str) -> None:
    """Tell a module that is not there from one whose import fails."""
    try:
        found = find_spec(name)
    except ModuleNotFoundError as error:
        # An import that fails inside a parent package names something else than a parent.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _import_failed(name, error, configuration) from error
        found = None
    except (Exception, SystemExit) as error:
        raise _import_failed(name, error, configuration) from error
    if found is None:
        problem = configuration.problem(
            f"there is no Python package {name!r}",
            ("modules", position, "module"),
            "Correct the name, install its distribution, or set 'path' to the directory "
            "that holds it.",
        )
        raise ModuleNotFound(problem.what, where=problem.where, mend=problem.mend)


def _import_failed(
    name: str, error: BaseException, configuration: EngineConfiguration
) -> ModuleError:
    told = configuration.without_secrets(f"{type(error).__name__}: {error}")
    mend = "Mend it, or set 'enabled: false'."
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("naas_abi_sdk"):
        mend = "Install the document service: pip install 'naas-abi-core[nats]'."
    return ModuleError(f"its import failed: {told}", where=f"module {name}", mend=mend)


def _check_place(package: ModuleType, name: str, folder: Path | None) -> None:
    """Two projects of one process may have packages of one name; Python imports only the first."""
    if folder is None or package.__file__ is None:
        return
    if not Path(package.__file__).resolve().is_relative_to(folder.resolve()):
        raise ModuleError(
            f"a package of this name was imported from {package.__file__}, "
            f"so the one in {folder} cannot be",
            where=f"module {name}",
            mend="Give one of the two another name.",
        )


def _in_order(found: Mapping[str, FoundModule]) -> list[FoundModule]:
    graph = TopologicalSorter[str]()
    for name, module in found.items():
        needs = module.kind.dependencies
        graph.add(name, *needs.required, *(wish for wish in needs.wished if wish in found))
    try:
        return [found[name] for name in graph.static_order()]
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        raise ModuleCycle(
            f"modules depend on each other in a circle: {circle}",
            mend='Make one of these dependencies soft, "name#soft", and not needed at load.',
        ) from None
