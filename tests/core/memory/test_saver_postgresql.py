"""The saver over PostgreSQL: the contract, LangGraph's suite, and whole conversations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.checkpoint.memory import InMemorySaver

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments
from naas_abi_core.services.document.service import DocumentService
from tests.contracts.conversations import SCENARIOS
from tests.contracts.savers import SaverContract
from tests.support.postgresql_documents import postgresql_documents


@pytest.fixture
def adapter(postgres_server: str) -> Iterator[PostgreSQLDocuments]:
    with postgresql_documents(postgres_server) as adapter:
        yield adapter


def saver_over(adapter: PostgreSQLDocuments) -> DocumentCheckpointSaver:
    return DocumentCheckpointSaver(DocumentService(adapter, "n"), agent_id="engine.v1")


class TestOverPostgreSQL(SaverContract):
    @pytest.fixture
    def saver(self, adapter: PostgreSQLDocuments) -> DocumentCheckpointSaver:
        return saver_over(adapter)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_graph_cannot_tell_the_savers_apart(name: str, adapter: PostgreSQLDocuments) -> None:
    reference = InMemorySaver()
    expected = SCENARIOS[name](lambda: reference)
    assert SCENARIOS[name](lambda: saver_over(adapter)) == expected


def test_all_eight_capabilities(postgres_server: str) -> None:
    @checkpointer_test(name="DocumentCheckpointSaver over PostgreSQL")
    async def factory() -> AsyncIterator[Any]:
        with postgresql_documents(postgres_server) as adapter:
            yield saver_over(adapter)

    wanted = {capability.value for capability in ALL_CAPABILITIES}
    report = asyncio.run(validate(factory, capabilities=wanted))
    assert len(wanted) == 8
    assert {name: result.failures for name, result in report.results.items()} == {
        name: [] for name in wanted
    }
    assert all(result.passed and result.tests_passed > 0 for result in report.results.values())
