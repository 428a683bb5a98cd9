"""The published SDK; runs in the environment that holds it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from remote_exchange import AGENT, MODULE, main

from naas_abi_sdk.document import DocumentClient
from naas_abi_sdk.langgraph import DocumentCheckpointSaver
from naas_abi_sdk.service_token import ModuleToken
from naas_abi_sdk.services import DocumentService
from naas_abi_sdk.transport import Transport


@asynccontextmanager
async def connect(url: str, key: str) -> AsyncIterator[tuple[Any, Any]]:
    """A saver over the published client."""
    transport = Transport(url, ModuleToken(MODULE, key))
    try:
        documents = DocumentService(DocumentClient(transport, MODULE))
        yield DocumentCheckpointSaver(documents, agent_id=AGENT), documents
    finally:
        await transport.close()


if __name__ == "__main__":
    main(connect)
