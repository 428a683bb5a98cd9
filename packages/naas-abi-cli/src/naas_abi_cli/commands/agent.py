"""``abi agent``: which agents a project has."""

from __future__ import annotations

import typer

from naas_abi_cli import output
from naas_abi_cli.options import ConfigOption, JsonOption

__all__ = ["app"]

app = typer.Typer(help="Agents of the project.", no_args_is_help=True)


@app.command("list")
def list_agents(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """List the agents of the project's modules."""
    from naas_abi_cli.project import open_engine

    with open_engine(config) as engine:
        default = engine.configuration.default_agent
        found = [
            {
                "name": info.name,
                "module": info.module,
                "description": info.description,
                "default": info.name == default or (default is None and len(engine.agents) == 1),
            }
            for info in engine.agents.values()
        ]
    if json:
        output.print_json(found)
    elif not found:
        output.print_text("No module of this project has an agent.")
    else:
        rows = [
            (f"{each['name']}{' (default)' if each['default'] else ''}", each["module"],
             each["description"])
            for each in found
        ]  # fmt: skip
        output.print_table(["agent", "module", "description"], rows)
