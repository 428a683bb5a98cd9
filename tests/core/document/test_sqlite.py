"""The SQLite store passes the contract of the port."""

from __future__ import annotations

import pytest

from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from tests.contracts.documents import DocumentContract


class TestSQLiteDocuments(DocumentContract):
    @pytest.fixture
    def documents(self, tmp_path):
        store = SQLiteDocuments(tmp_path / "documents.sqlite")
        yield store
        store.close()
