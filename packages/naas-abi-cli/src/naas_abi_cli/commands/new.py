"""``abi new``: starting points that work as they are."""

from __future__ import annotations

import keyword
import re
import shlex
import shutil
import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Annotated, Final

import typer

from naas_abi_cli import output
from naas_abi_cli.errors import CommandFailed, WrongCall
from naas_abi_cli.options import JsonOption

__all__ = ["app", "make_project"]

app = typer.Typer(help="Make something new.", no_args_is_help=True)

#: Ends the name of a file in which ``${...}`` is filled in.
_TEMPLATE_SUFFIX: Final = ".template"


@app.callback()
def _new() -> None:
    """Make something new."""


@app.command()
def project(
    name: Annotated[str, typer.Argument(help="Name of the project, and of its folder.")],
    *,
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="Where the folder is made.")
    ] = Path(),
    json: JsonOption = False,
) -> None:
    """Make a project: an agent that remembers, offline as it stands. Overwrites nothing."""
    target = directory / name
    made = make_project(name, target)
    if json:
        output.print_json({"directory": str(target), "files": [str(path) for path in made]})
        return
    output.print_text(f"Made {target} with {len(made)} files. Try it:", style="green")
    output.print_text(f"  cd {shlex.quote(str(target))}")
    output.print_text("  abi chat 'My name is Ada' --thread first")
    output.print_text("  abi chat 'What is my name?' --thread first")


@app.command()
def module(
    name: Annotated[str, typer.Argument(help="Name of the module, and of its folder.")],
    *,
    directory: Annotated[
        Path, typer.Option("--directory", "-d", help="Where the folder is made.")
    ] = Path(),
    json: JsonOption = False,
) -> None:
    """Make a module that runs in a process of its own, and talks to an engine over NATS.

    It needs the SDK and LangGraph alone. Its agent remembers, offline as it stands.
    """
    target = directory / name
    made = _make("module", name, target)
    package = _package_name(name, "module")
    if json:
        files = [str(path) for path in made]
        output.print_json({"directory": str(target), "module": package, "files": files})
        return
    output.print_text(f"Made {target} with {len(made)} files. Where the engine is:", style="green")
    output.print_text(f"  abi module key {package}")
    output.print_text("Then, with its output as ABI_MODULE_KEY and the broker as ABI_NATS_URL:")
    output.print_text(f"  cd {shlex.quote(str(target))}")
    output.print_text(f"  uv run python -m {package}")


def make_project(name: str, target: Path) -> list[Path]:
    """Make the project ``name`` in the new folder ``target``; returns the files.

    Raises:
        WrongCall: this cannot be a project's name.
        CommandFailed: the folder exists, or cannot be made.
    """
    return _make("project", name, target)


def _make(kind: str, name: str, target: Path) -> list[Path]:
    package = _package_name(name, kind)
    try:
        target.mkdir(parents=True, exist_ok=False)
        try:
            return _fill(files("naas_abi_cli") / "templates" / kind, target, name, package)
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise
    except FileExistsError as error:
        raise CommandFailed(
            "it exists already and nothing is overwritten",
            where=str(target),
            mend="Choose another name or --directory.",
        ) from error
    except OSError as error:
        raise CommandFailed(
            f"the {kind} cannot be made: {error.strerror or error}",
            where=str(error.filename or target),
            mend="Choose a --directory you may write to.",
        ) from error


def _package_name(name: str, kind: str) -> str:
    """The Python package: lower case, words joined by underscores.

    It starts with ``project_`` or ``module_`` if it would not be a name otherwise, or be another
    package's.
    """
    package = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if Path(name).name != name or not re.fullmatch(r"[A-Za-z0-9][\w .-]*", name, re.ASCII):
        raise WrongCall(
            f"{name!r} cannot be the name of a {kind}",
            mend="Use letters, digits, spaces and . _ -; say where with --directory.",
        )
    if not package or package[0].isdigit() or keyword.iskeyword(package) or _is_taken(package):
        package = f"{kind}_{package}".rstrip("_")
    return package


def _is_taken(package: str) -> bool:
    """Whether Python would import something else by this name."""
    return package in sys.stdlib_module_names or find_spec(package) is not None


def _fill(source: Traversable, target: Path, name: str, package: str) -> list[Path]:
    made: list[Path] = []
    for entry in sorted(source.iterdir(), key=lambda each: each.name):
        if entry.name == "__pycache__":
            continue
        path = target / _file_name(entry.name, package)
        if entry.is_dir():
            path.mkdir()
            made += _fill(entry, path, name, package)
            continue
        text = entry.read_text(encoding="utf-8")
        filled = Template(text).substitute(name=name, package=package)
        path.write_text(filled, encoding="utf-8")
        made.append(path)
    return made


def _file_name(name: str, package: str) -> str:
    if name == "package":
        return package
    plain = name.removesuffix(_TEMPLATE_SUFFIX)
    return f".{plain.removeprefix('dot.')}" if plain.startswith("dot.") else plain
