"""What an SDK is asked in the exchange over NATS. Knows neither: a side hands in a connection.

Every command is a process: ``begin``, ``go-on``, ``another NAME``, ``read``, ``bring-in FILE``.
Each ends by writing the documents and a snapshot of the thread.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import conversation
from exchange import read_documents, write_documents, write_snapshot

MODULE = "acme.chat"
AGENT = "acme.chat.assistant.v1"

#: (saver, documents) of one side, for a broker's url and a module's key.
Connect = Callable[[str, str], "AbstractAsyncContextManager[tuple[Any, Any]]"]


async def run(connect: Connect, arguments: list[str]) -> None:
    """Do what one process is asked."""
    url, key, documents_file, snapshot_file, command, *rest = arguments
    async with connect(url, key) as (saver, documents):
        await saver.setup()
        if command == "bring-in":
            for entry in read_documents(Path(rest[0])):
                await documents.put(*entry)
        graph = conversation.build(saver)
        for given in _said(command, rest):
            await graph.ainvoke(given, conversation.CONFIG)
        found = [
            (collection, document.id, document.data)
            for collection in await documents.collections()
            async for document in documents.iterate(collection)
        ]
        write_documents(found, Path(documents_file))
        thread = {"configurable": dict(conversation.CONFIG["configurable"])}
        write_snapshot([entry async for entry in saver.alist(thread)], Path(snapshot_file))


def _said(command: str, rest: list[str]) -> list[Any]:
    if command == "begin":
        return conversation.beginning()
    if command == "go-on":
        return conversation.continuation()
    return conversation.whole_turn(rest[0]) if command == "another" else []


def main(connect: Connect) -> None:
    """Run one command of the command line."""
    asyncio.run(run(connect, sys.argv[1:]))
