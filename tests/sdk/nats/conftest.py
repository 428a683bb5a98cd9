"""One broker for all tests of a worker that do not kill or configure it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.nats_server import NatsServer, nats_server


@pytest.fixture(scope="session")
def broker() -> Iterator[NatsServer]:
    with nats_server(max_payload=64 * 1024) as server:
        yield server
