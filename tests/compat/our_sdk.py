"""This repository's SDK; runs in the environment the tests run in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from remote_exchange import AGENT, MODULE, main

from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.langgraph import DocumentCheckpointSaver
from naas_abi_sdk.tokens import ModuleToken


@asynccontextmanager
async def connect(url: str, key: str) -> AsyncIterator[tuple[Any, Any]]:
    """A saver over our client."""
    async with ABIClient(MODULE, url, token=ModuleToken(MODULE, key)) as client:
        yield DocumentCheckpointSaver(client.documents, agent_id=AGENT), client.documents


if __name__ == "__main__":
    main(connect)
