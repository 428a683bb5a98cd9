"""A process between ours and a server it starts: however ours ends, the server ends with it.

Run as ``python -m naas_abi_core.broker.guarding FOLDER COMMAND...``. The server ends when standard
input does, which whoever started this holds open; the operating system closes it even after
SIGKILL. Then the folder, which holds the server's files, is removed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from threading import Event, Thread
from typing import Final

__all__ = ["main"]

#: Seconds the server has to end by itself.
_PATIENCE: Final = 5.0


def main() -> int:
    """Run the server until standard input ends, and return its exit code."""
    folder, *command = sys.argv[1:]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603 -- its whole purpose
    left_alone = Event()

    def watch() -> None:
        sys.stdin.buffer.read()
        left_alone.set()
        server.terminate()
        try:
            server.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()

    Thread(target=watch, daemon=True).start()
    status = server.wait()
    if left_alone.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
