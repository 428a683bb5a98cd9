"""A TCP proxy in front of a PostgreSQL server that cuts connections where a test wants it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["CuttingProxy", "cutting_proxy"]


class CuttingProxy:
    """Forwards bytes; see the methods for when it does not.

    Attributes:
        dsn: Connection string of the server by way of the proxy.
    """

    def __init__(self, server: str) -> None:
        given: dict[str, Any] = conninfo_to_dict(server)
        self._host = given.get("host") or "localhost"
        self._port = int(given.get("port") or 5432)
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads: list[threading.Thread] = []
        self._cut_replies = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.dsn = make_conninfo(server, host="127.0.0.1", port=self.port, sslmode="disable")
        self._start(self._accept, self._listener)

    def cut_reply(self) -> None:
        """Throw the server's next reply away, and cut the connection it was meant for."""
        self._cut_replies += 1

    def cut_all(self) -> None:
        """Cut every connection."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _cut(*pair)

    def stop_listening(self) -> None:
        """Refuse connections, as a server does that restarts."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def listen_again(self) -> None:
        """Take connections again, at the same port."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._start(self._accept, self._listener)

    def close(self) -> None:
        """Stop everything."""
        with suppress(OSError):
            self.stop_listening()
        self.cut_all()
        for thread in self._threads:
            thread.join()

    def _start(self, target: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = self._connect()
            self._pairs.append((client, server))
            self._start(self._forward, client, server, False)
            self._start(self._forward, server, client, True)

    def _connect(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(Path(self._host) / f".s.PGSQL.{self._port}"))
        return server

    def _forward(self, source: socket.socket, target: socket.socket, is_reply: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if is_reply and self._cut_replies:
                    self._cut_replies -= 1
                    break
                target.sendall(data)
        _cut(source, target)


def _cut(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@contextmanager
def cutting_proxy(server: str) -> Iterator[CuttingProxy]:
    """A proxy in front of ``server``."""
    proxy = CuttingProxy(server)
    try:
        yield proxy
    finally:
        proxy.close()
