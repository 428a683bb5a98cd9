"""The PostgreSQL store passes the contract of the port."""

from __future__ import annotations

import pytest

from tests.contracts.documents import DocumentContract
from tests.support.postgresql_documents import postgresql_documents


class TestPostgreSQLDocuments(DocumentContract):
    @pytest.fixture
    def documents(self, postgres_server):
        with postgresql_documents(postgres_server) as store:
            yield store
