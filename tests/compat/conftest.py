"""The published packages, in an environment of their own."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"


@pytest.fixture(scope="session")
def published_python() -> Path:
    """A Python that has the published packages; made once per machine, outside the tree."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "abi-agent-memory"
    cache.mkdir(parents=True, exist_ok=True)
    wanted = f"{sys.version_info[:3]} {REQUIREMENTS.read_text('utf-8')}"
    environment = cache / f"published-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"
    python = environment / "bin" / "python"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (environment / "complete").exists():
            shutil.rmtree(environment, ignore_errors=True)
            _uv("venv", "--no-project", "--python", sys.executable, environment)
            _uv("pip", "install", "--python", python, "--requirement", REQUIREMENTS)
            (environment / "complete").touch()
    return python


def _uv(*arguments: str | Path) -> None:
    uv = shutil.which("uv") or pytest.fail("uv is not on the PATH: pip install uv")
    subprocess.run([uv, *arguments], check=True, capture_output=True)
