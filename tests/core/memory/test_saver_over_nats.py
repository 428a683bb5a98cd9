"""The SDK's saver over the engine's own service: threads move between it and the engine's saver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver

from naas_abi_core.services.agent.memory.saver import (
    ENGINE_AGENT_ID,
    ENGINE_NAMESPACE,
    DocumentCheckpointSaver,
)
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.port import DocumentPort
from naas_abi_core.services.document.service import DocumentRoot, DocumentService
from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.document.client import DocumentClient
from naas_abi_sdk.langgraph import DocumentCheckpointSaver as RemoteSaver
from naas_abi_sdk.tokens import ModuleToken, ServiceToken, module_key
from naas_abi_sdk.transport import Transport
from tests.contracts.conversations import SCENARIOS
from tests.contracts.savers import Sync
from tests.support.checkpoints import config, make_checkpoint
from tests.support.hosted_documents import SECRET, serving
from tests.support.loop_thread import InLoop, LoopThread
from tests.support.nats_server import NatsServer, nats_server
from tests.support.postgresql_documents import postgresql_documents

Opened = Callable[[], AbstractContextManager[DocumentPort]]


@pytest.fixture(scope="module")
def broker() -> Iterator[NatsServer]:
    with nats_server(max_payload=1024 * 1024) as server:
        yield server


@pytest.fixture(scope="module")
def loop() -> Iterator[LoopThread]:
    with LoopThread() as thread:
        yield thread


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DocumentPort]:
    if request.param == "sqlite":
        adapter = SQLiteDocuments(tmp_path / "documents.sqlite")
        yield adapter
        adapter.close()
        return
    with postgresql_documents(request.getfixturevalue("postgres_server")) as documents:
        yield documents


@contextmanager
def remote_engine_saver(url: str, loop: LoopThread) -> Iterator[RemoteSaver]:
    """The SDK's saver in the scope of the engine's."""
    transport = Transport(url, token=ServiceToken("engine", SECRET))
    documents = DocumentClient(transport, ENGINE_NAMESPACE)
    yield RemoteSaver(documents, agent_id=ENGINE_AGENT_ID)
    loop.run(transport.close())


def turn(saver: Sync, number: int) -> None:
    """One checkpoint and its pending writes; lists that grow, and a value that is large."""
    messages = [f"message {each} " * 40 for each in range(number * 12)]
    values = {"messages": messages, "large": "x" * 300_000, "step": number}
    parent = config(number=number - 1) if number > 1 else config()
    at = saver.put(parent, make_checkpoint(number, values), {"step": number, "parents": {}})
    saver.put_writes(at, [("messages", [f"reply {number}"]), ("__interrupt__", number)], "task")


def stored(store: DocumentPort) -> dict[tuple[str, str], Any]:
    """Every document of the engine's scope, without what each write of it changes."""
    service = DocumentService(store, ENGINE_NAMESPACE)
    return {
        (name, document.id): document.data
        for name in service.collections()
        for document in service.iterate(name)
    }


def test_a_thread_moves_between_the_savers_and_leaves_the_same_documents(
    store: DocumentPort, broker: NatsServer, loop: LoopThread, tmp_path: Path
) -> None:
    def engine_saver(documents: DocumentPort) -> Sync:
        return Sync(DocumentCheckpointSaver.for_engine(DocumentRoot(documents)))

    with serving(broker.url, store), remote_engine_saver(broker.url, loop) as saver:
        remote = InLoop(saver, loop)
        turn(engine_saver(store), 1)
        turn(remote, 2)
        turn(engine_saver(store), 3)
        turn(remote, 4)
        turn(remote, 5)
        loaded = [each.get_tuple(config()) for each in (engine_saver(store), remote)]
        assert loaded[0] == loaded[1]
        assert len(loaded[0].checkpoint["channel_values"]["messages"]) == 60
        lists = [each.list(config()) for each in (engine_saver(store), remote)]
        assert lists[0] == lists[1]
        assert len(lists[0]) == 5
    alone = SQLiteDocuments(tmp_path / "alone.sqlite")
    for number in range(1, 6):
        turn(engine_saver(alone), number)
    assert stored(store) == stored(alone)
    alone.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_graph_cannot_tell_the_savers_apart(
    name: str, broker: NatsServer, loop: LoopThread, tmp_path: Path
) -> None:
    reference = InMemorySaver()
    expected = SCENARIOS[name](lambda: reference)
    adapter = SQLiteDocuments(tmp_path / "documents.sqlite")
    token = ModuleToken("acme.chat", module_key(SECRET, "acme.chat"))
    with serving(broker.url, adapter):
        client = ABIClient("acme.chat", broker.url, token=token)

        def saver() -> RemoteSaver:
            fresh = RemoteSaver.for_agent(client, "support")
            loop.run(fresh.setup())
            return fresh

        assert SCENARIOS[name](saver) == expected
        loop.run(client.close())
    adapter.close()


def test_all_eight_capabilities(store: DocumentPort, broker: NatsServer) -> None:
    """LangGraph's published suite."""

    @checkpointer_test(name="DocumentCheckpointSaver over NATS")
    async def factory() -> AsyncIterator[Any]:
        transport = Transport(broker.url, token=ServiceToken("engine", SECRET))
        yield RemoteSaver(DocumentClient(transport, "n"), agent_id=uuid4().hex)
        await transport.close()

    with serving(broker.url, store):
        report = asyncio.run(validate(factory))
    assert len(report.results) == 8
    assert {name: result.failures for name, result in report.results.items()} == {
        name: [] for name in report.results
    }
    assert all(result.passed and result.tests_passed > 0 for result in report.results.values())
