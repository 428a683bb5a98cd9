from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_sdk.testing import MemoryDocuments


@pytest.fixture(params=["documents", "langgraph"])
def memory(request: pytest.FixtureRequest) -> BaseCheckpointSaver[Any]:
    """The saver agents use, and LangGraph's own, which keeps what is expected of it honest."""
    if request.param == "langgraph":
        return InMemorySaver()
    documents = MemoryDocuments().for_namespace("agents")
    return DocumentCheckpointSaver(documents, agent_id="engine.v1")
