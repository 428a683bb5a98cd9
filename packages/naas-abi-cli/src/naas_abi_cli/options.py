"""Options that several commands share, so that each means the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from naas_abi_cli.output import ask_for_json

__all__ = ["AgentOption", "ConfigOption", "JsonOption", "ThreadArgument"]


def _remember(*, value: bool) -> bool:
    ask_for_json(wanted=value)
    return value


JsonOption: TypeAlias = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document for a program.", callback=_remember),
]

ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        help="Configuration file; by default config.yaml of this directory.",
        show_default=False,
    ),
]

AgentOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--agent", "-a", help="Agent by name; by default the project's default agent."),
]

ThreadArgument: TypeAlias = Annotated[str, typer.Argument(help="Thread by id.")]
