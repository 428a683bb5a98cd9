"""Build the three distributions and try them the way a user meets them.

``python -m tools.check_wheels [--out-dir DIR]`` builds sdist and wheel of each, looks into the
wheels, installs them into fresh environments and runs the command. What it leaves in ``DIR`` is
what was tried, so a release publishes those very files.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from tools.releases import DISTRIBUTIONS, ROOT, Distribution

__all__ = ["build", "inspect_wheel"]

#: What a plain import must not need: the extras stay extras.
_IMPORTS: Final = {
    "naas-abi-sdk": "import naas_abi_sdk, naas_abi_sdk.document.types",
    "naas-abi-core": "import naas_abi_core, naas_abi_core.engine, naas_abi_core.services.agent",
}


def build(out_dir: Path) -> dict[str, Path]:
    """Build every distribution into ``out_dir``; returns the wheel of each by name."""
    wheels = {}
    for distribution in DISTRIBUTIONS:
        _run("uv", "build", "--quiet", "--package", distribution.name, "--out-dir", out_dir)
        stem = distribution.name.replace("-", "_")
        (wheels[distribution.name],) = out_dir.glob(f"{stem}-{distribution.version}-*.whl")
    return wheels


def inspect_wheel(distribution: Distribution, wheel: Path) -> Iterator[str]:
    """Yield what is wrong with the contents of a wheel."""
    package = distribution.name.replace("-", "_")
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata_name,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(metadata_name).decode("utf-8"))
    information = metadata_name.removesuffix("METADATA")
    for name in names:
        if not name.startswith((f"{package}/", information)):
            yield f"{name}: outside the package"
        if "test" in Path(name).stem.split("_") or "/tests/" in name:
            yield f"{name}: tests do not ship"
    for needed in (f"{package}/py.typed", f"{information}licenses/LICENSE"):
        if needed not in names:
            yield f"{needed}: missing"
    yield from _inspect_metadata(distribution, metadata)


def _inspect_metadata(distribution: Distribution, metadata: Message) -> Iterator[str]:
    expected = {
        "Name": distribution.name,
        "Version": distribution.version,
        "License-Expression": "MIT",
        "Description-Content-Type": "text/markdown",
    }
    for key, value in expected.items():
        if metadata[key] != value:
            yield f"{key} is {metadata[key]!r}, not {value!r}"
    for key in ("Summary", "Requires-Python"):
        if not metadata[key]:
            yield f"{key} is missing"
    # Shorter than any page that helps somebody.
    if len(str(metadata.get_payload()).split()) < 50:
        yield "the README says nothing"


def _run(*command: str | Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    subprocess.run(command, cwd=ROOT, check=True, env=environment)


def _environment(work: Path, name: str, *requirements: str) -> Path:
    directory = work / name
    _run("uv", "venv", "--quiet", "--no-project", "--python", sys.executable, directory)
    binaries = directory / "bin"
    _run("uv", "pip", "install", "--quiet", "--python", binaries / "python", *requirements)
    return binaries


def _try(work: Path, wheels: dict[str, Path]) -> None:
    sdk, core, cli = (str(wheels[distribution.name]) for distribution in DISTRIBUTIONS)
    for name, wheel in (("naas-abi-sdk", sdk), ("naas-abi-core", core)):
        binaries = _environment(work, name, wheel)
        _run(binaries / "python", "-W", "error", "-c", _IMPORTS[name])
    binaries = _environment(work, "all", f"{core}[nats]", cli, f"{sdk}[langgraph]")
    _run(binaries / "abi", "--help")
    _run(binaries / "abi", "demo", "--turns", "4")


def main() -> int:
    """Build, inspect, install, run; 1 when a wheel holds what it should not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out-dir", type=Path, help="keep the built files here")
    chosen = parser.parse_args().out_dir
    with tempfile.TemporaryDirectory(prefix="abi-wheels-") as scratch:
        work = Path(scratch)
        wheels = build(chosen.resolve() if chosen else work / "dist")
        complaints = [
            f"{wheels[distribution.name].name}: {complaint}"
            for distribution in DISTRIBUTIONS
            for complaint in inspect_wheel(distribution, wheels[distribution.name])
        ]
        for complaint in complaints:
            print(complaint, file=sys.stderr)
        if not complaints:
            _try(work, wheels)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
