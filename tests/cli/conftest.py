from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import typer

from naas_abi_cli import builtin, output, specs
from naas_abi_cli.commands.new import make_project
from naas_abi_cli.main import build_app, run
from naas_abi_core.plugins.manager import create_plugin_manager

ABI = Path(sys.executable).with_name("abi")

_numbers = count()


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Abi = Callable[..., Ended]


def environment(**variables: str) -> dict[str, str]:
    """The variables of this process without those that change what commands do."""
    ours = ("ABI_", "COLUMNS", "ENV", "NO_COLOR", "POSTGRES_URL")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return {**kept, "PYTHONUTF8": "1", **variables}


@pytest.fixture
def script(tmp_path: Path) -> Abi:
    """Runs the installed console script."""

    def run_script(*arguments: str, said: str = "", cwd: Path = tmp_path, **more: str) -> Ended:
        ended = subprocess.run(
            [ABI, *arguments],
            input=said,
            cwd=cwd,
            env=environment(**more),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run_script


@pytest.fixture
def app() -> typer.Typer:
    """The command with our own plugins only."""
    return build_app(
        create_plugin_manager(False, extra_specs=[specs], extra_plugins=[("commands", builtin)])
    )


@pytest.fixture
def abi(
    app: typer.Typer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Abi]:
    """Runs a command in this process."""
    for variable in ("ENV", "POSTGRES_URL", "ABI_DEBUG"):
        monkeypatch.delenv(variable, raising=False)

    def run_here(*arguments: str) -> Ended:
        output.ask_for_json(wanted=False)
        code = run(lambda: app, list(arguments))
        return Ended(code, *capsys.readouterr())

    yield run_here
    output.ask_for_json(wanted=False)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: a project as generated, whose package has a name of its own."""
    made = tmp_path / f"shop{next(_numbers)}"
    make_project(made.name, made)
    monkeypatch.chdir(made)
    return made


def interruptible() -> None:
    """To run in a new process: Ctrl-C works there, also where this process ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
