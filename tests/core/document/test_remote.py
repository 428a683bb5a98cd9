"""The store over NATS passes the contract of the port, whatever the broker lets pass at once."""

from __future__ import annotations

import pytest

from tests.contracts.documents import DocumentContract
from tests.support.hosted_documents import hosted


class RemoteContract(DocumentContract):
    max_payload: int

    @pytest.fixture
    def documents(self, nats_brokers):
        with hosted(nats_brokers(self.max_payload)) as (remote, _):
            yield remote


class TestWith64KiB(RemoteContract):
    max_payload = 64 * 1024


@pytest.mark.slow
class TestWith1MiB(RemoteContract):
    max_payload = 1024 * 1024


@pytest.mark.slow
class TestWith8MiB(RemoteContract):
    max_payload = 8 * 1024 * 1024
