"""The hook of the command line; the engine's are in ``naas_abi_core.plugins.specs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from naas_abi_core.plugins.specs import hookspec

if TYPE_CHECKING:
    import typer

__all__ = ["abi_commands"]


@hookspec
def abi_commands(app: typer.Typer) -> None:
    """Add commands or groups of commands to ``abi``.

    Every plugin is asked, ours first. Called at every start, ``abi --help`` included: import what
    is heavy inside the commands. A plugin that also serves engines outside the command line marks
    its function ``hookimpl(optionalhook=True)``, because this hook does not exist there.
    """
