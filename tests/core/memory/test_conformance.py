"""LangGraph's published conformance suite, all eight capabilities."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.service import DocumentService
from naas_abi_sdk.testing import MemoryDocuments


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_all_eight_capabilities(store: str, tmp_path: Path) -> None:
    @checkpointer_test(name=f"DocumentCheckpointSaver over {store}")
    async def factory() -> AsyncIterator[Any]:
        path = tmp_path / f"{uuid4()}.sqlite"
        adapter = MemoryDocuments() if store == "memory" else SQLiteDocuments(path)
        yield DocumentCheckpointSaver(DocumentService(adapter, "n"), agent_id="engine.v1")
        adapter.close()

    wanted = {capability.value for capability in ALL_CAPABILITIES}
    report = asyncio.run(validate(factory, capabilities=wanted))
    assert len(wanted) == 8
    assert {name: result.failures for name, result in report.results.items()} == {
        name: [] for name in wanted
    }
    assert all(result.passed and result.tests_passed > 0 for result in report.results.values())
