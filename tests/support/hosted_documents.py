"""A document service over a real broker: the engine's host, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from naas_abi_core.broker.hosting import BrokerHost, HostedService, HostSettings
from naas_abi_core.services.document.adapters.remote import RemoteDocuments
from naas_abi_core.services.document.endpoints import document_operations
from naas_abi_core.services.document.port import DocumentPort
from naas_abi_sdk.connecting import BrokerSettings
from naas_abi_sdk.subjects import DOCUMENT_PREFIX
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.nats_server import NatsServer, nats_server

__all__ = ["SECRET", "Brokers", "hosted", "nats_brokers", "remote", "serving"]

SECRET = "a secret of at least thirty-two characters"

#: The server of this worker that lets so many bytes pass at once.
Brokers = Callable[[int], NatsServer]


@pytest.fixture(scope="session")
def nats_brokers() -> Iterator[Brokers]:
    """Servers that tests share: one for each limit, started when first asked for."""
    with ExitStack() as stack:
        servers: dict[int, NatsServer] = {}

        def broker(max_payload: int) -> NatsServer:
            if max_payload not in servers:
                servers[max_payload] = stack.enter_context(nats_server(max_payload=max_payload))
            return servers[max_payload]

        yield broker


@contextmanager
def serving(
    url: str, documents: DocumentPort, prefix: str = DOCUMENT_PREFIX, **settings: Any
) -> Iterator[BrokerHost]:
    """Serve ``documents`` as an engine does."""
    service = HostedService("document", "1.0.0", prefix, document_operations(documents))
    settings.setdefault("drain_seconds", 10)
    host = BrokerHost(HostSettings(BrokerSettings(url), SECRET, **settings), [service])
    try:
        yield host
    finally:
        host.close()


@contextmanager
def remote(url: str, **settings: Any) -> Iterator[RemoteDocuments]:
    """A blocking client."""
    client = RemoteDocuments(BrokerSettings(url), SECRET, **settings)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def hosted(
    server: NatsServer, documents: DocumentPort | None = None, **settings: Any
) -> Iterator[tuple[RemoteDocuments, DocumentPort]]:
    """A client of ``documents``, or of an empty store in memory, and that store."""
    store = MemoryDocuments() if documents is None else documents
    with serving(server.url, store, **settings), remote(server.url) as client:
        yield client, store
