"""Everything the commands print. Results go to stdout, all else to stderr.

With ``--json`` stdout holds exactly one JSON document, also when the command fails; what modules
and tools print meanwhile goes to stderr. All text is printed as it is, never as rich markup, and
made safe first.
"""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TextIO, final

from naas_abi_cli.errors import ResultNotWritten, exit_code_of
from naas_abi_cli.safe_text import safe, safe_line

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "DEBUG_VARIABLE",
    "ask_for_json",
    "discard_stdout",
    "fail",
    "fail_at_end",
    "finish",
    "note",
    "prepare",
    "print_json",
    "print_table",
    "print_text",
    "progress",
    "restore_stdout",
    "stderr",
    "stdout",
    "stdout_set_aside",
    "wants_json",
    "warn",
    "writing_result",
]

#: Set to 1 to see where an error comes from.
DEBUG_VARIABLE: Final = "ABI_DEBUG"

#: The descriptor that programs print results to.
STDOUT: Final = 1

#: Columns of output that is no terminal's.
_UNFOLDED: Final = 1000

_json: ContextVar[bool] = ContextVar("json", default=False)


def ask_for_json(*, wanted: bool) -> None:
    """Make JSON the answer of this process: only :func:`print_json` prints to stdout then."""
    _json.set(wanted)
    if wanted:
        _aside.set_aside()


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
    """Print the one JSON document of a command; stdout is as it was again."""
    _aside.restore()
    _aside.answered = True
    with writing_result():
        sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")


def print_text(text: str = "", *, style: str | None = None) -> None:
    """Print a result; long lines are left to the terminal."""
    with writing_result():
        stdout().print(safe(text), style=style, soft_wrap=True)


@contextmanager
def writing_result() -> Iterator[None]:
    """Write to stdout inside; raises :class:`ResultNotWritten` if it does not take it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # whoever read it has what it wanted
    except OSError as error:
        told = f"the result cannot be written: {error.strerror or error}"
        raise ResultNotWritten(told) from error


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
    with writing_result():
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
    if isinstance(error, ResultNotWritten):
        discard_stdout()
    if os.environ.get(DEBUG_VARIABLE) == "1":
        traceback.print_exception(error)
    told = _told(error)
    if wants_json() and not (_aside.answered or isinstance(error, ResultNotWritten)):
        print_json({"error": told})
    console = stderr()
    console.print(f"Error: {safe(told['what'])}", style="bold red", soft_wrap=True)
    for label in ("where", "mend"):
        if told[label]:
            console.print(f"  {label}: {safe(told[label])}", style="red", soft_wrap=True)
    for further in told["further"]:
        console.print(f"  also: {safe(further)}", style="red", soft_wrap=True)
    return exit_code_of(error)


def fail_at_end(error: Exception) -> None:
    """Have ``error`` told once the result is: it came too late to take the result back."""
    _aside.late.append(error)


def finish() -> int:
    """Write out what is still held, and tell what was put off; returns an exit code, 0 if well."""
    restore_stdout()
    code = 0
    late, _aside.late = _aside.late, []
    for error in late:
        code = fail(error)
    try:
        with writing_result():
            pass
    except ResultNotWritten as error:
        code = fail(error)
    return code


def discard_stdout() -> None:
    """Have stdout take everything and keep nothing: what it was takes nothing more."""
    _aside.restore()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def stdout_set_aside() -> Iterator[None]:
    """Send what is printed meanwhile to stderr."""
    _aside.set_aside()
    try:
        yield
    finally:
        _aside.restore()


def restore_stdout() -> None:
    """Print to stdout again, after :func:`ask_for_json`."""
    _aside.restore()


@final
class _Aside:
    """Stdout, while stderr stands in for it: in Python, and for programs that tools start."""

    def __init__(self) -> None:
        self.answered = False
        self.late: list[Exception] = []
        self._stream: TextIO | None = None
        self._descriptor: int | None = None

    def set_aside(self) -> None:
        if self._stream is not None:
            return
        self.answered = False
        sys.stdout.flush()
        self._stream, sys.stdout = sys.stdout, sys.stderr
        # A stream that stands in for stdout, as in a notebook, has no descriptor of its own.
        with suppress(io.UnsupportedOperation):
            if self._stream.fileno() == STDOUT:
                self._descriptor = os.dup(STDOUT)
                os.dup2(sys.stderr.fileno(), STDOUT)

    def restore(self) -> None:
        if self._stream is None:
            return
        sys.stdout, self._stream = self._stream, None
        if self._descriptor is not None:
            os.dup2(self._descriptor, STDOUT)
            os.close(self._descriptor)
            self._descriptor = None


_aside: Final = _Aside()


def _told(error: Exception) -> dict[str, Any]:
    from naas_abi_core.errors import ConfigurationError, EngineError

    further: list[str] = []
    if isinstance(error, ConfigurationError):
        further = [str(problem) for problem in error.problems[1:]]
    further += getattr(error, "__notes__", ())
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

    What the terminal's encoding lacks is printed as ``?``; warnings are printed as ours. A standard
    stream that was closed is empty, or takes everything: its descriptor must not become a file's.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Open for as long as the process: it is the stream now.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 -- as said above
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")

    def show(message: Warning | str, *_: object, **__: object) -> None:
        warn(str(message))

    warnings.showwarning = show
