"""A process between ours and a server it starts: however ours ends, the server ends with it.

Run as ``python -m naas_abi_core.broker.guarding COMMAND...``. The server ends when standard input
does, which whoever started this holds open; the operating system closes it even after SIGKILL.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from threading import Thread
from types import FrameType
from typing import Final

__all__ = ["main"]

#: Seconds the server has to end by itself.
_PATIENCE: Final = 5.0


def main() -> int:
    """Run the server until standard input ends, and return its exit code."""
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)  # noqa: S603 -- its whole purpose

    def end(_number: int, _frame: FrameType | None) -> None:
        server.terminate()

    signal.signal(signal.SIGTERM, end)

    def watch() -> None:
        sys.stdin.buffer.read()
        server.terminate()
        try:
            server.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()

    Thread(target=watch, daemon=True).start()
    return server.wait()


if __name__ == "__main__":
    sys.exit(main())
