"""Everything the commands print. Results go to stdout, all else to stderr.

With ``--json`` stdout holds exactly one JSON document, also when the command fails. All text is
printed as it is, never as rich markup, and made safe first.
"""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from naas_abi_cli.errors import exit_code_of
from naas_abi_cli.safe_text import safe, safe_line

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "DEBUG_VARIABLE",
    "ask_for_json",
    "fail",
    "note",
    "prepare",
    "print_json",
    "print_table",
    "print_text",
    "progress",
    "stderr",
    "stdout",
    "wants_json",
    "warn",
]

#: Set to 1 to see where an error comes from.
DEBUG_VARIABLE: Final = "ABI_DEBUG"

#: Columns of output that is no terminal's.
_UNFOLDED: Final = 1000

_json: ContextVar[bool] = ContextVar("json", default=False)


def ask_for_json(*, wanted: bool) -> None:
    """Make JSON the answer of this process."""
    _json.set(wanted)


def wants_json() -> bool:
    """Whether stdout is read by a program."""
    return _json.get()


def stdout() -> Console:
    """The console for results."""
    return _console(stderr=False)


def stderr() -> Console:
    """The console for everything that is no result."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        # Nothing is to be folded for a program or a file.
        console.width = _UNFOLDED
    return console


def print_json(document: Any) -> None:
    """Print the one JSON document of a command."""
    sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")


def print_text(text: str = "", *, style: str | None = None) -> None:
    """Print a result; long lines are left to the terminal."""
    stdout().print(safe(text), style=style, soft_wrap=True)


def note(text: str) -> None:
    """Say something beside the result."""
    stderr().print(safe(text), style="dim", soft_wrap=True)


def warn(text: str) -> None:
    """Say something that should be acted on."""
    stderr().print(f"Warning: {safe(text)}", style="yellow", soft_wrap=True)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; a column whose name starts with ``#`` holds numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        numbers = column.startswith("#")
        table.add_column(
            column.lstrip("#"),
            justify="right" if numbers else "left",
            no_wrap=numbers,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(safe_line(str(cell))) for cell in row))
    stdout().print(table)


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show on a terminal that something is going on."""
    console = stderr()
    if not console.is_terminal:
        yield
        return
    with console.status(safe(doing)):
        yield


def fail(error: Exception) -> int:
    """Tell what went wrong, where and how to mend it; returns the exit code."""
    if os.environ.get(DEBUG_VARIABLE) == "1":
        traceback.print_exception(error)
    told = _told(error)
    if wants_json():
        print_json({"error": told})
    console = stderr()
    console.print(f"Error: {safe(told['what'])}", style="bold red", soft_wrap=True)
    for label in ("where", "mend"):
        if told[label]:
            console.print(f"  {label}: {safe(told[label])}", style="red", soft_wrap=True)
    for further in told["further"]:
        console.print(f"  also: {safe(further)}", style="red", soft_wrap=True)
    return exit_code_of(error)


def _told(error: Exception) -> dict[str, Any]:
    from naas_abi_core.errors import ConfigurationError, EngineError

    further: list[str] = []
    if isinstance(error, ConfigurationError):
        further = [str(problem) for problem in error.problems[1:]]
    if isinstance(error, EngineError):
        return {
            "kind": type(error).__name__,
            "what": error.what,
            "where": error.where,
            "mend": error.mend,
            "further": further,
        }
    known = type(error).__module__.startswith("naas_abi_")
    return {
        "kind": type(error).__name__,
        "what": str(error) if known else f"{type(error).__name__}: {error}",
        "where": "",
        "mend": "" if known else f"This was not expected; {DEBUG_VARIABLE}=1 shows where it arose.",
        "further": further,
    }


def prepare() -> None:
    """Set this process up for printing: call once, at its start.

    What the terminal's encoding lacks is printed as ``?``; warnings are printed as ours.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

    def show(message: Warning | str, *_: object, **__: object) -> None:
        warn(str(message))

    warnings.showwarning = show
