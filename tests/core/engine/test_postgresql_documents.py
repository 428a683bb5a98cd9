"""An engine whose documents are in PostgreSQL, by its configuration alone."""

from __future__ import annotations

import pytest

from naas_abi_core.engine.engine import Engine
from naas_abi_core.errors import ConfigurationError, ServiceUnavailable
from tests.support.postgresql_documents import temporary_schema
from tests.support.projects import Project

CONFIGURATION = """
modules:
  - {{module: "@shop", path: .}}
services:
  document:
    document_adapter:
      adapter: postgresql
      config: {{dsn: "${{DOCUMENTS_DSN}}", schema: {schema}, connect_timeout: 1}}
"""


@pytest.fixture
def shop(project: Project) -> Project:
    project.module(
        "shop",
        """
        from naas_abi_sdk.document.types import CollectionSpec

        class ABIModule(BaseModule):
            dependencies = ModuleDependencies(services=["document"])

            def on_load(self):
                documents = self.engine.services.document
                documents.ensure_collection(CollectionSpec("visits"))
                documents.put("visits", f"v{documents.count('visits')}", {})
        """,
    )
    return project


def test_what_one_engine_stores_the_next_one_finds(
    shop: Project, postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCUMENTS_DSN", postgres_server)
    with temporary_schema(postgres_server) as schema:
        file = shop.config(CONFIGURATION.format(schema=schema))
        for visits in (1, 2):
            engine = Engine.from_file(file)
            engine.load()
            assert engine.document_root is not None
            documents = engine.document_root.for_namespace(shop.named("shop"))
            assert documents.count("visits") == visits
            engine.shutdown()


def test_a_database_that_cannot_be_reached_stops_the_engine_and_tells_no_secret(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCUMENTS_DSN", "postgresql://me:s3cret@127.0.0.1:1/shop")
    file = shop.config(CONFIGURATION.format(schema="shop"))
    with pytest.raises(
        ServiceUnavailable, match=r"PostgreSQL at 127.0.0.1:1/shop cannot be"
    ) as caught:
        Engine.from_file(file).load()
    assert "s3cret" not in str(caught.value)


def test_a_setting_that_is_none_is_a_configuration_error(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCUMENTS_DSN", "postgresql://me:s3cret@[x/shop")
    file = shop.config(CONFIGURATION.format(schema="shop"))
    with pytest.raises(ConfigurationError, match=r"dsn must be a connection string") as caught:
        Engine.from_file(file).load()
    assert "s3cret" not in str(caught.value)
