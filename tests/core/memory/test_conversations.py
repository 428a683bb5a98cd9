"""LangGraph runs give the same with our saver, rebuilt before every step, as with LangGraph's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.service import DocumentService
from naas_abi_sdk.testing import MemoryDocuments
from tests.contracts.conversations import SCENARIOS


@pytest.fixture(params=["memory", "sqlite"])
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryDocuments()
        return
    adapter = SQLiteDocuments(tmp_path / "documents.sqlite")
    yield adapter
    adapter.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_graph_cannot_tell_the_savers_apart(name: str, adapter: Any) -> None:
    reference = InMemorySaver()

    def fresh() -> DocumentCheckpointSaver:
        return DocumentCheckpointSaver(DocumentService(adapter, "n"), agent_id="engine.v1")

    expected = SCENARIOS[name](lambda: reference)
    assert SCENARIOS[name](fresh) == expected
