"""Finds plugins and puts them in order. A function, so that importing loads none of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Final

import pluggy

from naas_abi_core.errors import PluginError
from naas_abi_core.plugins import specs
from naas_abi_core.plugins.tracing import trace_calls

__all__ = ["TRACE_VARIABLE", "create_plugin_manager", "process_plugin_manager"]

#: Set to 1 to have every hook call and its answer printed to stderr.
TRACE_VARIABLE: Final = "ABI_TRACE_PLUGINS"


def create_plugin_manager(
    entry_points: bool = True,  # noqa: FBT001, FBT002 -- published so
    *,
    extra_specs: Iterable[ModuleType] = (),
    extra_plugins: Iterable[tuple[str, object]] = (),
) -> pluggy.PluginManager:
    """A new manager with our plugins and, unless told otherwise, those that are installed.

    Args:
        entry_points: Whether to load what distributions announce in the group ``naas_abi``.
        extra_specs: Hooks of a distribution above this one, such as those of the command line.
        extra_plugins: Names and plugins of such a distribution, asked after others' plugins.

    Raises:
        PluginError: a plugin cannot be imported, or implements a hook that does not exist.
    """
    from naas_abi_core.plugins.builtin import FIRST, LAST

    manager = pluggy.PluginManager(specs.PROJECT)
    for module in (specs, *extra_specs):
        manager.add_hookspecs(module)
    if os.environ.get(TRACE_VARIABLE) == "1":
        trace_calls(manager)
    # The plugin registered last is asked first, so ours come before others' here.
    for name, plugin in (*reversed(FIRST), *extra_plugins):
        manager.register(plugin, name)
    if entry_points:
        for entry_point in _announced():
            _load(manager, entry_point)
    # Registered after everyone else's, because the newest ``trylast`` is the last to be asked.
    for name, plugin in LAST:
        manager.register(plugin, name)
    _refuse_unknown_hooks(manager)
    return manager


@cache
def process_plugin_manager() -> pluggy.PluginManager:
    """The manager this process uses where it is given none: made on first use, then kept."""
    return create_plugin_manager()


def _announced() -> list[EntryPoint]:
    """In an order that does not depend on how the file system lists distributions."""
    return sorted(
        entry_points(group=specs.ENTRY_POINT_GROUP),
        key=lambda entry: (entry.dist.name if entry.dist else "", entry.name),
    )


def _load(manager: pluggy.PluginManager, entry_point: EntryPoint) -> None:
    try:
        manager.register(entry_point.load(), entry_point.name)
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"it cannot be loaded: {type(error).__name__}: {error}",
            where=_describe(entry_point),
            mend=f"Mend it, or remove it: pip uninstall {_distribution(entry_point)}.",
        ) from error


def _refuse_unknown_hooks(manager: pluggy.PluginManager) -> None:
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        hooks = vars(manager.hook).items()
        known = sorted(name for name, hook in hooks if name.startswith("abi_") and hook.has_spec())
        raise PluginError(
            str(error).partition("\n")[0],
            where=f"plugin {manager.get_name(error.plugin) or error.plugin!r}",
            mend=f"The hooks are {', '.join(known)}. Correct the name, or mark a hook of another "
            "distribution with hookimpl(optionalhook=True).",
        ) from error


def _describe(entry_point: EntryPoint) -> str:
    return f"plugin {entry_point.name!r} ({entry_point.value}) of {_distribution(entry_point)}"


def _distribution(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist else "an unknown distribution"
