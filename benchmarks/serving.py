"""A SQLite file behind a broker: nats-server and an engine's document service, a process each.

Run as ``python -m benchmarks.serving FILE`` it is that service: it reads the broker's url from
standard input, and ends when that does, as it does however its parent ends.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final, final

from benchmarks.stores import SQLiteStore
from naas_abi_core.broker.embedded import EmbeddedBroker
from naas_abi_core.broker.hosting import BrokerHost, HostedService, HostSettings
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.endpoints import document_operations
from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.connecting import BrokerSettings
from naas_abi_sdk.subjects import DOCUMENT_PREFIX
from naas_abi_sdk.tokens import ModuleToken, module_key

__all__ = ["ServedStore", "main"]

MODULE: Final = "acme.chat"
SECRET: Final = "the benchmarks' broker is on loopback, and has passwords of its own"
READY: Final = b"ready\n"
#: Seconds the service has to answer what it accepted.
PATIENCE: Final = 20.0


@final
class ServedStore:
    """One SQLite file in a folder of its own, and the two processes that serve it."""

    def __init__(self, folder: Path | None) -> None:
        with ExitStack() as exits:
            self._file = SQLiteStore(folder)
            exits.callback(self._file.close)
            broker = exits.enter_context(EmbeddedBroker())
            exits.enter_context(_engine(broker.engine.url(broker.port), self._file.path))
            self._url = broker.module.url(broker.port)
            self._exits = exits.pop_all()

    def client(self) -> ABIClient:
        """A new client, as a module in another process has it."""
        token = ModuleToken(MODULE, module_key(SECRET, MODULE))
        return ABIClient(MODULE, self._url, token=token)

    def size(self) -> int | None:
        return self._file.size()

    def log_position(self) -> int | None:
        return None

    def close(self) -> None:
        self._exits.close()


@contextmanager
def _engine(url: str, file: Path) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.serving", file],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # Not as an argument, which every user of the machine sees: it holds a password.
        process.stdin.write(f"{url}\n".encode())
        process.stdin.flush()
        if process.stdout.readline() != READY:
            message = "the process that serves documents did not start; what it wrote says why"
            raise RuntimeError(message)
        yield
    finally:
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.stdout.close()
            process.wait()


def main() -> None:
    """Serve until standard input ends."""
    (file,) = sys.argv[1:]
    url = sys.stdin.readline().strip()
    with closing(SQLiteDocuments(Path(file))) as documents:
        service = HostedService(
            "document", "1.0.0", DOCUMENT_PREFIX, document_operations(documents)
        )
        with closing(BrokerHost(HostSettings(BrokerSettings(url), SECRET), [service])):
            sys.stdout.buffer.write(READY)
            sys.stdout.buffer.flush()
            sys.stdin.read()


if __name__ == "__main__":
    main()
