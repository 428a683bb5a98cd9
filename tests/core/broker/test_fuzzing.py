"""Requests that nobody would send: each is answered with a named code, and the service lives on."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from naas_abi_core.services.document.endpoints import document_operations
from naas_abi_sdk.connecting import BrokerSettings, open_connection
from naas_abi_sdk.document.types import CollectionSpec
from naas_abi_sdk.document.wire_values import to_data
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto
from naas_abi_sdk.proto.transfer.v1 import transfer_pb2
from naas_abi_sdk.subjects import DOCUMENT_PREFIX, OVERFLOW_PREFIX
from naas_abi_sdk.testing import MemoryDocuments
from naas_abi_sdk.tokens import ServiceToken
from tests.support.hosted_documents import SECRET, Brokers, serving

NS = "acme.module"
TOKEN = ServiceToken("engine", SECRET)
ID = "0" * 32 + ":" + "0" * 32

#: Codes that say whose fault it is. INTERNAL says that we did not expect it.
EXPECTED = {
    *("", "INVALID_ARGUMENT", "UNAUTHENTICATED", "COLLECTION_NOT_FOUND", "DOCUMENT_NOT_FOUND"),
    *("VERSION_CONFLICT", "UNIQUE_VIOLATION", "NOT_FOUND", "CONFLICT", "RESOURCE_EXHAUSTED"),
    *("PAYLOAD_TOO_LARGE", "PERMISSION_DENIED", "UNAVAILABLE"),
}

DATA = to_data({"a": 1, "b": [None, {"c": b"\x00", "d": 1.5}], "when": "now"})
WHERE = [proto.Predicate(field="a", operator="in", value={"list_value": {"items": []}})]

#: A valid request of every operation, to be damaged.
REQUESTS: dict[str, Any] = {
    "ensure_collection": proto.EnsureCollectionRequest(namespace=NS, spec={"name": "c"}),
    "drop_collection": proto.DropCollectionRequest(namespace=NS, collection="d"),
    "collections": proto.CollectionsRequest(namespace=NS),
    "collection_spec": proto.CollectionSpecRequest(namespace=NS, collection="c"),
    "namespaces": proto.NamespacesRequest(),
    "put": proto.PutRequest(namespace=NS, collection="c", id="x", data=DATA, if_version=1),
    "get": proto.GetRequest(namespace=NS, collection="c", id="x"),
    "delete": proto.DeleteRequest(namespace=NS, collection="c", id="x", if_version=1),
    "find": proto.FindRequest(
        namespace=NS, collection="c", where=WHERE, limit=3, order_by={"field": "a"}, cursor="x"
    ),
    "count": proto.CountRequest(namespace=NS, collection="c", where=WHERE),
    "groups": proto.GroupsRequest(namespace=NS, collection="c", by="a", where=WHERE, cursor="x"),
    "write": proto.WriteRequest(
        namespace=NS, writes=[{"put": {"collection": "c", "id": "x", "data": DATA}}]
    ),
}

TRANSFERS: dict[str, Any] = {
    "open": transfer_pb2.OpenRequest(operation="request", chunk_bytes=1),
    "write": transfer_pb2.WriteRequest(id=ID, data=b"x"),
    "start": transfer_pb2.StartRequest(id=ID),
    "read": transfer_pb2.ReadRequest(id=ID, sequence=2**63),
    "close": transfer_pb2.CloseRequest(id=ID),
}

TRANSFER_RESPONSES = {
    name: getattr(transfer_pb2, f"{name.capitalize()}Response") for name in TRANSFERS
}

RESPONSES = {
    operation.name: operation.response for operation in document_operations(MemoryDocuments())
}


def damaged(body: bytes, chance: random.Random) -> bytes:
    """``body`` with some bytes changed, taken out, put in, repeated or cut off; or other bytes."""
    if chance.random() < 0.1:
        return chance.randbytes(chance.randrange(200))
    changed = bytearray(body)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(changed) + 1)
        kind = chance.randrange(5)
        if kind == 0 and at < len(changed):
            changed[at] = chance.randrange(256)
        elif kind == 1:
            del changed[at : at + chance.randrange(1, 4)]
        elif kind == 2:
            changed[at:at] = chance.randbytes(chance.randrange(1, 4))
        elif kind == 3:
            changed[at:at] = changed[: chance.randrange(len(changed) + 1)]
        else:
            del changed[at:]
    return bytes(changed[:20_000])


def headers(chance: random.Random) -> dict[str, str]:
    given = {"Nats-Auth-Token": TOKEN.token(), "Abi-Overflow": "1"}
    kind = chance.randrange(20)
    if kind == 0:
        given["Nats-Auth-Token"] = damaged(TOKEN.token().encode(), chance).decode("latin-1")
    elif kind == 1:
        given["Abi-Overflow-Request"] = chance.choice([ID, "", ":", "*:>", "x" * 100])
    elif kind == 2:
        given["Abi-Overflow"] = chance.choice(["", "0", "yes"])
    return {name: value.replace("\r", "").replace("\n", "") for name, value in given.items()}


async def send(url: str, owner: str, count: int, seed: int) -> Counter[str]:
    """The codes of the answers to so many requests."""
    client = await open_connection(BrokerSettings(url), name="fuzzing")
    chance = random.Random(seed)
    slots = asyncio.Semaphore(64)
    codes: Counter[str] = Counter()

    async def ask(subject: str, body: bytes, given: dict[str, str], response: Any) -> None:
        async with slots:
            message = await client.request(subject, body, headers=given, timeout=30)
        assert "Nats-Service-Error" not in (message.headers or {})
        answer = response.FromString(message.data)
        assert message.data or message.headers is None or "Abi-Error-Code" not in message.headers
        codes[answer.error.code if answer.HasField("error") else ""] += 1

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            if number % 5:
                name = chance.choice(list(REQUESTS))
                place, request, response = DOCUMENT_PREFIX, REQUESTS[name], RESPONSES[name]
            else:
                name = chance.choice(list(TRANSFERS))
                place = OVERFLOW_PREFIX if name == "open" else f"{OVERFLOW_PREFIX}{owner}."
                request, response = TRANSFERS[name], TRANSFER_RESPONSES[name]
            body = damaged(request.SerializeToString(), chance)
            group.create_task(ask(f"{place}{name}", body, headers(chance), response))
            if number % 1000 == 0:
                await asyncio.sleep(0)
    await client.close()
    return codes


@pytest.mark.parametrize(
    "count",
    [3_000, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])],
)
def test_every_damaged_request_is_answered(nats_brokers: Brokers, count: int) -> None:
    store = MemoryDocuments()
    store.ensure_collection(NS, CollectionSpec("c"))
    store.put(NS, "c", "x", {"a": 1})
    url = nats_brokers(64 * 1024).url
    with serving(url, store) as host:
        overflow: Any = host._overflow
        codes = asyncio.run(send(url, overflow._owner, count, seed=1))
        assert sum(codes.values()) == count
        assert set(codes) <= EXPECTED, codes
        assert codes["INVALID_ARGUMENT"] > count / 5
        assert codes["UNAUTHENTICATED"] > 0
        assert len(store.collections(NS)) > 0
        overflow.transfers._held.clear()  # else the end waits for who might fetch them
