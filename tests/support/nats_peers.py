"""The other side of the wire for the SDK's tests, which know no engine: services of our own making.

They run in the event loop of the test and answer what the test tells them to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import nats
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from naas_abi_sdk.document import wire, wire_values
from naas_abi_sdk.errors import ABIError, InvalidArgument
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto
from naas_abi_sdk.proto.transfer.v1 import transfer_pb2
from naas_abi_sdk.subjects import DOCUMENT_PREFIX, OVERFLOW_PREFIX, message_size
from naas_abi_sdk.testing import MemoryDocuments

#: A request's body and headers to the reply's; None leaves it without one.
Answer = Callable[
    [bytes, Mapping[str, str]], Awaitable["tuple[bytes, dict[str, str] | None] | None"]
]

OWNER = "0123456789abcdef0123456789abcdef"


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Client]:
    """A bare connection, which opens again when it is lost."""

    async def ignore(_: Exception) -> None:
        """A broker that a test kills is not worth a word."""

    client = await nats.connect(
        url, error_cb=ignore, reconnect_time_wait=0.05, max_reconnect_attempts=-1
    )
    try:
        yield client
    finally:
        # Of a broker that is away when a test ends, nats-py forgets the subscriptions' tasks.
        for subscription in list(client._subs.values()):
            with suppress(nats.errors.Error):
                await subscription.unsubscribe()
        client.options["max_reconnect_attempts"] = 1
        # What it still had to send fails in many ways once the broker is gone.
        with suppress(OSError, TypeError):
            await client.close()


async def serve(client: Client, subject: str, answer: Answer) -> None:
    """Answer ``subject`` with what ``answer`` returns, any number of requests at once."""

    async def answered(message: Msg) -> None:
        reply = await answer(message.data, message.headers or {})
        if reply is not None and not client.is_closed:
            await client.publish(message.reply, reply[0], headers=reply[1])

    answering: set[asyncio.Task[None]] = set()

    async def handle(message: Msg) -> None:
        task = asyncio.create_task(answered(message))
        answering.add(task)
        task.add_done_callback(answering.discard)

    await client.subscribe(subject, queue="q", cb=handle)
    await client.flush()


class Transfers:
    """A host of transfers that keeps what is uploaded and parked."""

    def __init__(self, client: Client) -> None:
        self.values: dict[str, bytearray] = {}
        self.pending = 0
        self._client = client
        self._numbers = 0

    async def start(self) -> None:
        await self._serve("open", transfer_pb2.OpenRequest, self._open)
        await self._serve(f"{OWNER}.write", transfer_pb2.WriteRequest, self._write)
        await self._serve(f"{OWNER}.read", transfer_pb2.ReadRequest, self._read)
        await self._serve(f"{OWNER}.close", transfer_pb2.CloseRequest, self._close)

    def park(self, body: bytes) -> dict[str, str]:
        """Headers of the reply that says where ``body`` is."""
        self._numbers += 1
        id_ = f"{OWNER}:{self._numbers:032x}"
        self.values[id_] = bytearray(body)
        return {"Abi-Overflow-Reply": id_, "Abi-Overflow-Size": str(len(body))}

    async def _serve(self, name: str, request_type: Any, handle: Any) -> None:
        async def answer(body: bytes, _: Mapping[str, str]) -> Any:
            return handle(request_type.FromString(body)).SerializeToString(), None

        await serve(self._client, OVERFLOW_PREFIX + name, answer)

    def _open(self, request: Any) -> Any:
        headers = self.park(b"")
        return transfer_pb2.OpenResponse(
            id=headers["Abi-Overflow-Reply"], chunk_bytes=min(request.chunk_bytes, 4000)
        )

    def _write(self, request: Any) -> Any:
        assert len(self.values[request.id]) == request.sequence * 4000, "out of order"
        self.values[request.id] += request.data
        return transfer_pb2.WriteResponse()

    def _read(self, request: Any) -> Any:
        if self.pending:
            self.pending -= 1
            return transfer_pb2.ReadResponse(sequence=request.sequence, pending=True)
        start = request.sequence * 4000
        value = self.values[request.id]
        return transfer_pb2.ReadResponse(
            data=bytes(value[start : start + 4000]),
            sequence=request.sequence,
            done=start + 4000 >= len(value),
        )

    def _close(self, request: Any) -> Any:
        del self.values[request.id]
        return transfer_pb2.CloseResponse()


class DocumentPeer:
    """A document service in memory; ``batches`` says whether it has our ``write``.

    Without it this is a service of earlier releases, which has neither projection nor groups. The
    next ``unanswered`` calls are done and their replies lost.
    """

    def __init__(self, client: Client, *, batches: bool = True) -> None:
        self.store = MemoryDocuments()
        self.transfers = Transfers(client)
        self.calls: list[str] = []
        self.batches = batches
        self.unanswered = 0
        self._client = client

    async def start(self) -> DocumentPeer:
        await self.transfers.start()
        for name, (request_type, response_type, handle) in _OPERATIONS.items():
            if self.batches or name not in _NEWER:
                await self.serve(name, request_type, response_type, handle)
        return self

    async def serve(self, name: str, request_type: Any, response_type: Any, handle: Any) -> None:
        async def answer(body: bytes, headers: Mapping[str, str]) -> Any:
            self.calls.append(name)
            if transfer := headers.get("Abi-Overflow-Request"):
                body = bytes(self.transfers.values[transfer])
            response = response_type()
            try:
                request = request_type.FromString(body)
                if not self.batches:
                    request.DiscardUnknownFields()
                    if name == "find":
                        request.ClearField("projection")
                handle(self.store, request, response)
            except ABIError as error:
                told = str(error) if isinstance(error, InvalidArgument) else error.code
                response.error.code, response.error.message = error.code, told
            reply = response.SerializeToString()
            if self.unanswered:
                self.unanswered -= 1
                return None
            if message_size(reply, None) > self._client.max_payload:
                return b"", self.transfers.park(reply)
            return reply, None

        await serve(self._client, DOCUMENT_PREFIX + name, answer)


def _put(store: MemoryDocuments, request: Any, response: Any) -> None:
    stored = store.put(
        request.namespace,
        request.collection,
        request.id,
        wire_values.from_data(request.data),
        if_version=request.if_version if request.HasField("if_version") else None,
    )
    response.document.CopyFrom(wire.to_document(stored))


def _find(store: MemoryDocuments, request: Any, response: Any) -> None:
    page = store.find(
        request.namespace,
        request.collection,
        wire.from_predicates(request.where),
        wire.from_order_by(request),
        request.limit if request.HasField("limit") else 100,
        request.cursor if request.HasField("cursor") else None,
        fields=wire.from_projection(request),
        max_bytes=request.max_bytes if request.HasField("max_bytes") else None,
    )
    response.CopyFrom(wire.to_page(page))


def _groups(store: MemoryDocuments, request: Any, response: Any) -> None:
    page = store.groups(
        request.namespace,
        request.collection,
        request.by,
        wire.from_predicates(request.where),
        request.limit if request.HasField("limit") else 100,
        request.cursor if request.HasField("cursor") else None,
    )
    response.CopyFrom(wire.to_group_page(page))


#: What services of earlier releases lack.
_NEWER = ("write", "groups")

_OPERATIONS: dict[str, tuple[Any, Any, Callable[[MemoryDocuments, Any, Any], object]]] = {
    "ensure_collection": (
        proto.EnsureCollectionRequest,
        proto.EnsureCollectionResponse,
        lambda store, asked, _: store.ensure_collection(
            asked.namespace, wire.from_spec(asked.spec)
        ),
    ),
    "drop_collection": (
        proto.DropCollectionRequest,
        proto.DropCollectionResponse,
        lambda store, asked, _: store.drop_collection(asked.namespace, asked.collection),
    ),
    "collections": (
        proto.CollectionsRequest,
        proto.CollectionsResponse,
        lambda store, asked, reply: reply.collections.extend(store.collections(asked.namespace)),
    ),
    "collection_spec": (
        proto.CollectionSpecRequest,
        proto.CollectionSpecResponse,
        lambda store, asked, reply: reply.spec.CopyFrom(
            wire.to_spec(store.collection_spec(asked.namespace, asked.collection))
        ),
    ),
    "namespaces": (
        proto.NamespacesRequest,
        proto.NamespacesResponse,
        lambda store, _, reply: reply.namespaces.extend(store.namespaces()),
    ),
    "put": (proto.PutRequest, proto.PutResponse, _put),
    "get": (
        proto.GetRequest,
        proto.GetResponse,
        lambda store, asked, reply: reply.document.CopyFrom(
            wire.to_document(store.get(asked.namespace, asked.collection, asked.id))
        ),
    ),
    "delete": (
        proto.DeleteRequest,
        proto.DeleteResponse,
        lambda store, asked, _: store.delete(
            asked.namespace,
            asked.collection,
            asked.id,
            if_version=asked.if_version if asked.HasField("if_version") else None,
        ),
    ),
    "groups": (proto.GroupsRequest, proto.GroupsResponse, _groups),
    "find": (proto.FindRequest, proto.FindResponse, _find),
    "count": (
        proto.CountRequest,
        proto.CountResponse,
        lambda store, asked, reply: setattr(
            reply,
            "count",
            store.count(asked.namespace, asked.collection, wire.from_predicates(asked.where)),
        ),
    ),
    "write": (
        proto.WriteRequest,
        proto.WriteResponse,
        lambda store, asked, reply: reply.outcomes.extend(
            wire.to_outcomes(store.write(asked.namespace, wire.from_writes(asked.writes)))
        ),
    ),
}
