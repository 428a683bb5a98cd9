"""Print the path of a Python of one minor version, or say how to provide it.

Looks at ``PYTHON310`` (for 3.10), then the interpreters uv finds, then pyenv's. Downloads nothing:
an interpreter that appears by itself is one nobody chose.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PythonMissingError", "find_python"]


class PythonMissingError(Exception):
    """No interpreter of the wanted version is installed. Install one or set the variable named."""


def find_python(version: str) -> Path:
    """Return the first interpreter that really is ``version`` (such as ``3.10``)."""
    variable = "PYTHON" + version.replace(".", "")
    if chosen := os.environ.get(variable):
        if _is(Path(chosen), version):
            return Path(chosen)
        message = f"{variable}={chosen} is not a Python {version}: set it to one or unset it"
        raise PythonMissingError(message)
    for candidate in _candidates(version):
        if _is(candidate, version):
            return candidate
    message = f"no Python {version} found: install it, or set {variable} to its path"
    raise PythonMissingError(message)


def _candidates(version: str) -> Iterator[Path]:
    if on_path := shutil.which(f"python{version}"):
        yield Path(on_path)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(root.glob(f"versions/{version}.*/bin/python"), reverse=True)
    if uv := shutil.which("uv"):
        found = subprocess.run(
            [uv, "python", "find", "--no-python-downloads", "--no-project", version],
            capture_output=True,
            text=True,
            check=False,
        )
        if found.returncode == 0:
            yield Path(found.stdout.strip())


def _is(candidate: Path, version: str) -> bool:
    # A version manager's shim exists for versions it then refuses to run: only running it tells.
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [candidate, "-c", script], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version


def main(arguments: list[str]) -> int:
    """Print the path for the one version named; 1 when there is none."""
    try:
        print(find_python(arguments[0]))
    except PythonMissingError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
