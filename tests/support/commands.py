"""Long-running ``abi`` commands in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

__all__ = ["Running", "running"]

ABI = Path(sys.executable).with_name("abi")


@final
class Running:
    """A command that serves; ``said`` is the JSON document it printed when it was ready."""

    def __init__(self, process: subprocess.Popen[str], said: Any) -> None:
        self.process = process
        self.said = said

    def end(self, number: int) -> tuple[int, str]:
        """Send a signal; returns the exit code, and what it said since on standard error."""
        self.process.send_signal(number)
        _, error = self.process.communicate(timeout=60)
        return self.process.returncode, error


@contextmanager
def running(directory: Path, *arguments: str, **variables: str) -> Iterator[Running]:
    """``abi ARGUMENTS --json`` in ``directory``, from when it is ready; killed at the end."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("ENV", "POSTGRES_URL")
    }
    process = subprocess.Popen(
        [ABI, *arguments, "--json"],
        cwd=directory,
        env={**kept, "PYTHONUTF8": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_interruptible,  # noqa: PLW1509 -- it only sets a signal's action
    )
    try:
        yield Running(process, _document(process))
    finally:
        process.kill()
        process.communicate(timeout=60)


def _interruptible() -> None:
    """Ctrl-C works there, also where this process ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _document(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line == "}\n":
            return json.loads(text)
    _, error = process.communicate(timeout=60)
    raise AssertionError(f"it ended: {text}{error}")
