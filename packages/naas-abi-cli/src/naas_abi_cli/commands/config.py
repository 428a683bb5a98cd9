"""``abi config``: whether a configuration can be used, and what it says in full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from naas_abi_cli import output
from naas_abi_cli.errors import WRONG_CALL
from naas_abi_cli.options import ConfigOption, JsonOption

if TYPE_CHECKING:
    from naas_abi_core.engine.configuration import EngineConfiguration

__all__ = ["app"]

app = typer.Typer(help="The project's configuration.", no_args_is_help=True)


@app.command()
def check(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Check the configuration and print every value, defaults included, secrets masked.

    Modules are imported, and neither stores nor models are opened. Exit code 2 if it is wrong.
    """
    from naas_abi_core.errors import EngineError

    try:
        found, modules, agents = _checked(config)
    except EngineError as error:
        output.fail(error)
        raise typer.Exit(WRONG_CALL) from error
    values = found.masked()
    if json:
        output.print_json(
            {"file": str(found.file), "modules": modules, "agents": agents, "values": values}
        )
        return
    output.print_table(["key", "value"], list(_flat(values)))
    output.print_text()
    output.print_text(f"{found.file} is valid.", style="green")


def _checked(config: Path | None) -> tuple[EngineConfiguration, list[str], list[str]]:
    """The configuration, and the modules and agents it means."""
    with output.progress("Checking the configuration…"):
        from naas_abi_core.engine.configuration import EngineConfiguration
        from naas_abi_core.engine.loading import LoadedAgents
        from naas_abi_core.engine.module_graph import find_modules
        from naas_abi_core.engine.services import document_adapter
        from naas_abi_core.plugins.manager import process_plugin_manager

        found = EngineConfiguration.from_file(config)
        document_adapter(found, process_plugin_manager())
        modules = find_modules(found)
        agents = LoadedAgents()
        agents.find(modules)
        agents.check_configured(found)
        _check_chat_models(found)
    return found, [module.name for module in modules], list(agents.by_name)


def _check_chat_models(found: EngineConfiguration) -> None:
    from naas_abi_core.errors import ChatModelError, ConfigurationError
    from naas_abi_core.services.agent.models import check_chat_model_name

    named = {("chat_model", "name"): found.chat_model.name} | {
        ("agents", agent, "chat_model", "name"): settings.chat_model.name
        for agent, settings in found.agents.items()
        if settings.chat_model
    }
    problems = []
    for key, name in named.items():
        try:
            check_chat_model_name(name)
        except ChatModelError as error:
            problems.append(found.problem(error.what, key, error.mend))
    if problems:
        raise ConfigurationError(problems)


def _flat(values: Any, key: str = "") -> list[tuple[str, str]]:
    """Every leaf by its dotted key, in the order of the file."""
    if isinstance(values, dict) and values:
        return [
            row
            for name, value in values.items()
            for row in _flat(value, f"{key}.{name}" if key else str(name))
        ]
    if isinstance(values, list) and values:
        return [row for at, value in enumerate(values) for row in _flat(value, f"{key}[{at}]")]
    return [(key, "" if values is None else str(values))]
