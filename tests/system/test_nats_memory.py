"""An engine that serves for long holds no more than one that has just begun."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_sdk.connecting import BrokerSettings, open_connection
from naas_abi_sdk.document.types import CollectionSpec
from naas_abi_sdk.document.wire_values import to_data
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto
from naas_abi_sdk.subjects import DOCUMENT_PREFIX
from naas_abi_sdk.tokens import ServiceToken
from tests.support.hosted_documents import SECRET
from tests.support.nats_server import nats_server
from tests.support.serving_process import serving_process

NS = "acme.module"
REQUESTS = 200_000
MIB = 1024 * 1024

PUT = proto.PutRequest(
    namespace=NS, collection="c", id="x", data=to_data({"text": "x" * 500})
).SerializeToString()
GET = proto.GetRequest(namespace=NS, collection="c", id="x").SerializeToString()
WRONG = b"\xff"


async def send(url: str, count: int) -> None:
    """Ask so many times, mostly to read, sometimes to write, sometimes wrongly."""
    client = await open_connection(BrokerSettings(url), name="test")
    headers = {"Nats-Auth-Token": ServiceToken("engine", SECRET).token()}
    numbers = iter(range(count))

    async def ask() -> None:
        for number in numbers:
            name, body = ("get", GET) if number % 20 else ("put", PUT)
            body = WRONG if number % 20 == 1 else body
            subject = f"{DOCUMENT_PREFIX}{name}"
            answer: Any = await client.request(subject, body, timeout=30, headers=headers)
            assert answer.data

    await asyncio.gather(*(ask() for _ in range(32)))
    await client.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_stays_flat_over_many_requests(tmp_path: Path) -> None:
    file = tmp_path / "documents.sqlite"
    with closing(SQLiteDocuments(file)) as documents:
        documents.ensure_collection(NS, CollectionSpec("c"))
    with nats_server() as server, serving_process(server.url, file) as process:
        serving = psutil.Process(process.pid)
        asyncio.run(send(server.url, REQUESTS // 4))
        before = serving.memory_info().rss
        asyncio.run(send(server.url, REQUESTS - REQUESTS // 4))
        after = serving.memory_info().rss
        assert after - before < 4 * MIB, f"{before / MIB:.1f} MiB became {after / MIB:.1f}"
