"""The ``abi`` command: finds commands, runs one, and turns what goes wrong into one message."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Annotated

import pluggy
import typer

from naas_abi_cli import builtin, output, specs
from naas_abi_cli.errors import FAILED, INTERRUPTED

__all__ = ["build_app", "main", "run"]


def build_app(manager: pluggy.PluginManager) -> typer.Typer:
    """The command with everything that plugins add to it."""
    app = typer.Typer(
        name="abi",
        help="Run, inspect and demonstrate agents whose memory outlives the process.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_abi)
    manager.hook.abi_commands(app=app)
    return app


def main() -> None:
    """Run the command of this process and end it with the command's exit code."""
    output.prepare()
    sys.exit(run(_installed_app))


def run(make_app: Callable[[], typer.Typer], arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what goes wrong is told as one message.

    Args:
        make_app: Makes the command; what goes wrong in it is told the same way.
        arguments: What was written after ``abi``; those of the process when None.
    """
    try:
        try:
            make_app()(args=arguments, prog_name="abi")
        finally:
            # Here, while a closed pipe can still be handled; at exit it would be a traceback.
            sys.stdout.flush()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BrokenPipeError:
        # Whoever read our output has what it wanted; a message would go to nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 -- the one place that turns errors into a message
        return output.fail(error)
    return 0


def _installed_app() -> typer.Typer:
    from naas_abi_core.plugins.manager import create_plugin_manager

    return build_app(
        create_plugin_manager(extra_specs=[specs], extra_plugins=[("commands", builtin)])
    )


def _version(*, value: bool) -> None:
    if value:
        output.print_text(f"naas-abi-cli {version('naas-abi-cli')}")
        raise typer.Exit


def _abi(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    del version
