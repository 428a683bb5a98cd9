"""Our own commands, added through the same hook as everyone's."""

from __future__ import annotations

import typer

from naas_abi_cli.commands import (
    agent,
    chat,
    config,
    demo,
    dev,
    engine,
    module,
    new,
    plugins,
    thread,
)
from naas_abi_core.plugins.specs import hookimpl

__all__ = ["abi_commands"]


@hookimpl
def abi_commands(app: typer.Typer) -> None:
    """Add the commands of this distribution."""
    app.command("demo")(demo.demo)
    app.command("chat")(chat.chat)
    app.command("dev")(dev.dev)
    app.command("plugins")(plugins.plugins)
    app.add_typer(thread.app, name="thread")
    app.add_typer(agent.app, name="agent")
    app.add_typer(engine.app, name="engine")
    app.add_typer(module.app, name="module")
    app.add_typer(new.app, name="new")
    app.add_typer(config.app, name="config")
