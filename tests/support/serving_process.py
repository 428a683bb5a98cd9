"""A process that serves a SQLite file over NATS as an engine does, for tests that end it.

Run as ``python -m tests.support.serving_process URL FILE``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from naas_abi_cli.stopping import stop_signals
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from tests.support.hosted_documents import serving

__all__ = ["serving_process"]


@contextmanager
def serving_process(url: str, file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """One such process, from when it serves; killed at the end."""
    command = [sys.executable, "-m", "tests.support.serving_process", url, str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def main() -> None:
    """Serve until SIGTERM."""
    url, file = sys.argv[1:]
    with (
        stop_signals() as stop,
        closing(SQLiteDocuments(file)) as documents,
        serving(url, documents, max_concurrent=4),
    ):
        print("ready", flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
