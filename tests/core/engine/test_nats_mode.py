"""An engine in NATS mode: whom it serves, what its modules use, what its own saver uses."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from naas_abi_core.engine.configuration import EngineConfiguration
from naas_abi_core.engine.engine import Engine
from naas_abi_core.errors import ConfigurationError, ServiceUnavailable
from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_sdk.connecting import BrokerSettings
from naas_abi_sdk.document.types import CollectionSpec
from naas_abi_sdk.errors import DocumentStorageError
from tests.support.hosted_documents import SECRET, Brokers, remote
from tests.support.postgresql_documents import temporary_schema
from tests.support.projects import Project

KIB = 1024

MODULE = """
class ABIModule(BaseModule):
    dependencies = ModuleDependencies(services=["document"])

    def on_load(self):
        from naas_abi_sdk.document.types import CollectionSpec
        self.documents = self.engine.services.document
        self.documents.ensure_collection(CollectionSpec("visits"))
        self.documents.put("visits", "first", {"seen": "at load"})

    def on_unloaded(self):
        self.documents.put("visits", "last", {"seen": "at the end"})
"""

CONFIGURATION = """
modules:
  - {{module: "@shop", path: .}}
services:
  document:
    document_adapter: {adapter}
nats:
  nats_url: {url}
  jwt_secret: {{secret: NATS_JWT_SECRET}}
"""


@pytest.fixture
def url(nats_brokers: Brokers) -> str:
    return nats_brokers(64 * KIB).url


@pytest.fixture
def shop(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("NATS_JWT_SECRET", SECRET)
    project.module("shop", MODULE)
    return project


def configured(project: Project, url: str, adapter: str = "{adapter: sqlite}") -> Path:
    return project.config(CONFIGURATION.format(url=url, adapter=adapter))


def test_others_find_what_its_modules_store_and_the_reverse(shop: Project, url: str) -> None:
    name = shop.named("shop")
    with remote(url, timeout=1.0) as elsewhere:
        with Engine.from_file(configured(shop, url)) as engine:
            assert elsewhere.get(name, "visits", "first").data == {"seen": "at load"}
            elsewhere.put(name, "visits", "theirs", {"n": 2})
            module: Any = engine.modules[name]
            assert module.documents.get("visits", "theirs").data == {"n": 2}
            assert module.documents.namespace == name
            with pytest.raises(PermissionError):
                module.documents.for_namespace("other")
            # Services work until the module is told that it is unloaded, and in that hook.
            root = engine.document_root
            assert root is not None
        with pytest.raises(DocumentStorageError, match="nobody serves"):
            elsewhere.get(name, "visits", "first")
    with Engine.from_file(configured(shop, url), serve=False) as engine:
        assert engine.document_root is not None
        visits = engine.document_root.for_namespace(name).find("visits").items
        assert {visit.id for visit in visits} == {"first", "theirs", "last"}


def test_modules_use_the_broker_and_the_engines_saver_does_not(
    shop: Project, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.from_file(configured(shop, url, "{adapter: memory}")) as engine:
        root: Any = engine.document_root
        store = root._adapter
        store.calls.clear()
        saver = engine.checkpointer
        assert isinstance(saver, DocumentCheckpointSaver)
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        module: Any = engine.modules[shop.named("shop")]
        # With nobody who answers on the broker any more only what does not need it works.
        engine._services._serving._host.close()  # type: ignore[union-attr] # it is serving
        assert saver.get_tuple(config) is None
        monkeypatch.setattr(module.documents._adapter._transport, "timeout", 0.6)
        with pytest.raises(DocumentStorageError, match="nobody serves"):
            module.documents.get("visits", "first")
        monkeypatch.setattr(module, "on_unloaded", lambda: None)


def test_without_serving_an_engine_needs_no_broker(shop: Project) -> None:
    file = configured(shop, "nats://127.0.0.1:1")
    with Engine.from_file(file, serve=False) as engine:
        module: Any = engine.modules[shop.named("shop")]
        assert module.documents.count("visits") == 1


def test_an_engine_without_modules_serves_documents_too(
    shop: Project, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = CONFIGURATION.format(url=url, adapter="{adapter: memory}")
    file = shop.config(text.replace('  - {module: "@shop", path: .}', "  []"))
    with Engine.from_file(file), remote(url) as elsewhere:
        elsewhere.ensure_collection("n", CollectionSpec("c"))
        assert elsewhere.namespaces() == ["n", "naas_abi_core.services.agent"]


def test_an_engine_may_keep_its_documents_at_another_one(shop: Project, url: str) -> None:
    name = shop.named("shop")
    with Engine.from_file(configured(shop, url)) as serving:
        assert serving.document_root is not None
        text = """
        modules:
          - {module: "@shop", path: .}
        services:
          document:
            document_adapter:
              adapter: nats_rpc
              config:
                nats_url: "%s"
                jwt_secret: {secret: NATS_JWT_SECRET}
                service_identity: engine
                timeout_seconds: 5
        """
        with Engine.from_file(shop.config(text % url)) as client:
            saver = client.checkpointer
            assert isinstance(saver, DocumentCheckpointSaver)
            assert list(saver.list(None)) == []
            module: Any = client.modules[name]
            module.documents.put("visits", "from-the-client", {})
            visits = serving.document_root.for_namespace(name)
            assert visits.get("visits", "from-the-client").version == 1


@pytest.mark.parametrize("engines", [2])
def test_several_engines_on_one_postgresql_answer_for_each_other(
    shop: Project, url: str, postgres_server: str, monkeypatch: pytest.MonkeyPatch, engines: int
) -> None:
    monkeypatch.setenv("DOCUMENTS_DSN", postgres_server)
    name = shop.named("shop")
    with temporary_schema(postgres_server) as schema, ExitStack() as stack:
        adapter = (
            f'{{adapter: postgresql, config: {{dsn: "${{DOCUMENTS_DSN}}", schema: {schema}}}}}'
        )
        file = configured(shop, url, adapter)
        running = [stack.enter_context(Engine.from_file(file)) for _ in range(engines)]
        with remote(url) as elsewhere:
            for number in range(40):
                elsewhere.put(name, "visits", f"v{number}", {"n": number})
                if number == 20:
                    running.pop().shutdown()
            assert elsewhere.count(name, "visits") == 42  # with "first", and one engine's "last"


def test_what_is_wrong_with_the_broker_is_said_and_no_secret(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NATS_URL", "nats://me:s3cret@127.0.0.1:1")
    file = configured(shop, "${NATS_URL}\n  client_timeout_seconds: 0.3")
    with pytest.raises(ServiceUnavailable, match=r"127\.0\.0\.1:1 cannot be reached") as caught:
        Engine.from_file(file).load()
    assert "nats.nats_url" in caught.value.mend
    assert "s3cret" not in str(caught.value)
    monkeypatch.setenv("NATS_URL", "http://me:s3cret@example.com")
    with pytest.raises(ConfigurationError, match="must be like nats://") as wrong:
        Engine.from_file(file).load()
    assert "s3cret" not in str(wrong.value)


def test_a_login_that_is_refused_or_lacks_its_file_is_named(shop: Project, url: str) -> None:
    file = configured(shop, f"{url}\n  credentials_file: nothing.creds")
    with pytest.raises(ServiceUnavailable, match=r"nothing\.creds cannot be read"):
        Engine.from_file(file).load()


def test_serving_what_is_got_over_nats_is_refused(shop: Project, url: str) -> None:
    file = configured(shop, url, "{adapter: nats_rpc}")
    with pytest.raises(ConfigurationError, match="cannot get them over NATS"):
        Engine.from_file(file).load()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({}, "needs nats_url"),
        ({"nats_url": 4222}, "needs nats_url"),
        ({"nats_url": "nats://x"}, "needs jwt_secret"),
        ({"nats_url": "nats://x", "jwt_secret": "short"}, "at least 32 characters"),
        ({"nats_url": "x", "jwt_secret": "s" * 32}, "must be like nats://"),
        ({"nats_url": "nats://x", "jwt_secret": "s" * 32, "url": 1}, "has no setting url"),
        ({"nats_url": "nats://x", "jwt_secret": "s" * 32, "timeout_seconds": 0}, "timeout_seconds"),
        ({"nats_url": "nats://x", "jwt_secret": "s" * 32, "service_identity": ""}, "identity"),
    ],
)
def test_settings_of_a_client_engine_are_checked(config: dict[str, Any], told: str) -> None:
    adapter = {"document_adapter": {"adapter": "nats_rpc", "config": config}}
    configuration = EngineConfiguration.model_validate({"services": {"document": adapter}})
    from naas_abi_core.engine.services import EngineServices
    from naas_abi_core.plugins.manager import create_plugin_manager

    with pytest.raises(ConfigurationError, match=told) as caught:
        EngineServices().load(
            {"document"}, configuration, create_plugin_manager(False), serve=False
        )
    assert "short" not in str(caught.value)


def test_a_short_secret_is_refused(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_JWT_SECRET", "s3cret")
    with pytest.raises(ConfigurationError, match="shorter than 32 characters") as caught:
        EngineConfiguration.from_file(configured(shop, "nats://x"))
    assert "s3cret" not in str(caught.value)


def test_the_place_of_a_broker_is_told_without_its_password() -> None:
    settings = BrokerSettings("nats://me:s3cret@one:4333,nats://two")
    assert settings.place == "nats://one:4333,nats://two:4222"
