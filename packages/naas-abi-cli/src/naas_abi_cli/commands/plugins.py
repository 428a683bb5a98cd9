"""``abi plugins``: who answers which hook, in which order, and where memory goes."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from naas_abi_cli import builtin, output, specs
from naas_abi_cli.options import ConfigOption, JsonOption

if TYPE_CHECKING:
    import pluggy

__all__ = ["plugins"]


def plugins(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """List every hook, who answers it in which order, and what memory=None resolves to now."""
    from naas_abi_core.plugins.manager import create_plugin_manager

    manager = create_plugin_manager(extra_specs=[specs], extra_plugins=[("commands", builtin)])
    distributions = {
        id(plugin): f"{distribution.project_name} {distribution.version}"
        for plugin, distribution in manager.list_plugin_distinfo()
    }
    hooks = [_described(manager, name, distributions) for name in _hook_names(manager)]
    memory = _memory(config)
    if json:
        output.print_json({"hooks": hooks, "memory": memory})
        return
    for hook in hooks:
        output.print_text(hook["name"], style="bold")
        output.print_text(f"  {hook['summary']}")
        for place, answer in enumerate(hook["answers"], start=1):
            output.print_text(f"  {place}. {answer['plugin']} ({answer['from']})")
        output.print_text()
    output.print_text("memory=None", style="bold")
    output.print_text(f"  {memory['source']}: {memory['why']}")


def _hook_names(manager: pluggy.PluginManager) -> list[str]:
    return sorted(name for name in vars(manager.hook) if name.startswith("abi_"))


def _described(
    manager: pluggy.PluginManager, name: str, distributions: dict[int, str]
) -> dict[str, Any]:
    caller = getattr(manager.hook, name)
    summary = (caller.spec.function.__doc__ or "").partition("\n")[0].replace("``", "")
    answers = [
        {
            "plugin": each.plugin_name,
            "from": distributions.get(id(each.plugin)) or _ours(each.plugin),
        }
        # pluggy asks the last one first.
        for each in reversed(caller.get_hookimpls())
    ]
    return {
        "name": name,
        "summary": summary,
        "first_answer_wins": bool(caller.spec.opts.get("firstresult")),
        "answers": answers,
    }


def _ours(plugin: Any) -> str:
    name = getattr(plugin, "__name__", type(plugin).__module__)
    distribution = name.partition(".")[0].replace("_", "-")
    return f"{distribution} {version(distribution)}"


def _memory(config: Path | None) -> dict[str, str]:
    """What an agent built in this directory with ``memory=None`` would get; opens no saver."""
    from naas_abi_cli.project import open_engine
    from naas_abi_core.engine.configuration import find_configuration
    from naas_abi_core.errors import ConfigurationError

    if config is None:
        try:
            find_configuration()
        except ConfigurationError:
            return _resolved("no project here")
    with open_engine(config) as engine:
        return _resolved(str(engine.configuration.file))


def _resolved(where: str) -> dict[str, str]:
    from naas_abi_core.services.agent.memory.engine import resolve_checkpointer

    offer = resolve_checkpointer()
    return {"source": offer.source, "why": offer.why, "project": where}
