"""The ``abi`` command: finds commands, runs one, and turns what goes wrong into one message."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Annotated, Final

import pluggy
import typer

from naas_abi_cli import builtin, output, specs
from naas_abi_cli.errors import FAILED, INTERRUPTED, WrongCall

__all__ = ["build_app", "main", "run"]

#: What Typer raises for a call it does not understand; it has no public name for the class.
_USAGE_ERROR: Final[type[Exception]] = typer.BadParameter.__bases__[0]


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
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        try:
            code = _called(make_app, words)
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 -- the one place that turns errors into a message
            code = output.fail(error)
        # Here, while a closed pipe can still be handled; at exit it would be a traceback.
        return output.finish() or code
    except BrokenPipeError:
        # Whoever read our output has what it wanted; a message would go to nobody.
        output.discard_stdout()
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        output.restore_stdout()


def _called(make_app: Callable[[], typer.Typer], words: list[str]) -> int:
    """The exit code of the command that ``words`` call."""
    json = "--json" in words[: words.index("--")] if "--" in words else "--json" in words
    try:
        if not json:
            make_app()(args=words, prog_name="abi")
            return 0
        with output.stdout_set_aside():  # a plugin may print when it is imported
            app = make_app()
        # Typer would tell a wrong call itself, in words only.
        returned = app(args=words, prog_name="abi", standalone_mode=False)
        return returned if isinstance(returned, int) else 0
    except SystemExit as end:
        if isinstance(end.code, str):
            output.warn(end.code)
        return end.code if isinstance(end.code, int) else 0 if end.code is None else FAILED
    except typer.Abort:
        return FAILED
    except _USAGE_ERROR as error:
        output.ask_for_json(wanted=True)
        told = getattr(error, "format_message", error.__str__)()
        mend = "'abi --help', also after a command, shows what can be called."
        return output.fail(WrongCall(told, where="the command line", mend=mend))


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
