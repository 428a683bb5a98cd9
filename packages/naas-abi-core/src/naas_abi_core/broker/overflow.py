"""Serves values larger than the broker's messages: requests sent ahead, replies fetched after.

Uploads are opened with any engine; all else is asked of the engine that owns the transfer, whose
id begins with the engine's. The engine that gets the call reads the upload from its owner, with
the caller's own token.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Any, Final, TypeVar, final
from uuid import uuid4

import nats.errors
from google.protobuf.message import Message
from nats.aio.client import Client

from naas_abi_core.broker.answering import Answering, Endpoint, Reply, Request
from naas_abi_core.broker.calls import Call, Operation, failure, perform
from naas_abi_core.broker.limits import TransferLimits
from naas_abi_core.broker.tokens import Caller, TokenVerifier
from naas_abi_core.broker.transfers import Transfers
from naas_abi_sdk.errors import InvalidArgument, PayloadTooLarge, RPCError
from naas_abi_sdk.proto.transfer.v1 import transfer_pb2 as proto
from naas_abi_sdk.subjects import (
    OVERFLOW_OWNERS,
    OVERFLOW_PREFIX,
    OVERFLOW_REPLY_HEADER,
    OVERFLOW_SIZE_HEADER,
    TOKEN_HEADER,
)

__all__ = ["OverflowHost"]

R = TypeVar("R", bound=Message)

_ID: Final = re.compile(r"([0-9a-f]{32}):([0-9a-f]{32})")

#: Bytes of metadata an upload may bring, which nothing here reads.
_MAX_METADATA: Final = 16 * 1024

#: Seconds another engine has to hand over one piece of an upload.
_PIECE_TIMEOUT: Final = 5.0

#: Calls about transfers at once. Each only copies a piece, so this bounds memory, not work.
_MAX_CONCURRENT: Final = 16


@final
class OverflowHost:
    """The transfers of one engine, served from :meth:`start` to :meth:`stop`."""

    def __init__(self, client: Client, verifier: TokenVerifier, limits: TransferLimits) -> None:
        self._client = client
        self._verifier = verifier
        self._owner = uuid4().hex
        self._sweeping: asyncio.Task[None] | None = None
        self.transfers = Transfers(limits)
        opening = Operation("open", proto.OpenRequest, proto.OpenResponse, self._open)
        about = (
            Operation("write", proto.WriteRequest, proto.WriteResponse, self._write),
            Operation("start", proto.StartRequest, proto.StartResponse, self._start),
            Operation("read", proto.ReadRequest, proto.ReadResponse, self._read),
            Operation("close", proto.CloseRequest, proto.CloseResponse, self._close),
        )
        self._opening = self._answering(
            Endpoint("open", f"{OVERFLOW_PREFIX}open", OVERFLOW_OWNERS, self._handler(opening))
        )
        self._about = self._answering(
            *(
                Endpoint(each.name, f"{OVERFLOW_PREFIX}{place}{each.name}", "", handler)
                for each in about
                for place, handler in (
                    (f"{self._owner}.", self._handler(each)),
                    # Without an owner every engine hears it, and the owner alone answers.
                    ("", self._handler(each, only_own=True)),
                )
            )
        )

    async def start(self) -> None:
        """Serve transfers from here on."""
        await self._about.start()
        await self._opening.start()
        self._sweeping = asyncio.create_task(self._sweep())

    async def stop_opening(self) -> None:
        """Open no more uploads; those that are open go on."""
        await self._opening.stop()

    async def stop(self) -> None:
        """Serve no more."""
        await self._about.stop()
        if self._sweeping is not None:
            self._sweeping.cancel()

    async def fetch(self, transfer: str, caller: Caller, token: str) -> bytes:
        """The request that was sent ahead under this id.

        Raises:
            InvalidArgument: this is no id.
            ABIError: the transfer cannot be read; the code says why.
        """
        owner, id_ = _parse(transfer)
        if owner == self._owner:
            return self.transfers.value(caller.identity, id_)
        return await self._fetch(owner, transfer, token)

    def park(self, caller: Caller, reply: Reply) -> Reply:
        """Hold ``reply``; returns the one that says where.

        Raises:
            PayloadTooLarge: there is no room for it.
        """
        size = str(len(reply.body))
        try:
            id_ = self.transfers.park(caller.identity, reply.body, self._client.max_payload)
        except RPCError as error:
            message = f"the reply of {size} bytes cannot be parked: {error}"
            raise PayloadTooLarge(message) from error
        headers = {OVERFLOW_REPLY_HEADER: f"{self._owner}:{id_}", OVERFLOW_SIZE_HEADER: size}
        return Reply(headers=headers, error=reply.error)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self.transfers.limits.idle_seconds)
            self.transfers.expire()

    async def _fetch(self, owner: str, transfer: str, token: str) -> bytes:
        """An upload that another engine holds."""
        ask = partial(self._ask, f"{OVERFLOW_PREFIX}{owner}.", token)
        await ask("start", proto.StartRequest(id=transfer), proto.StartResponse)
        value, number = bytearray(), 0
        while len(value) <= self.transfers.limits.max_value_bytes:
            request = proto.ReadRequest(id=transfer, sequence=number)
            piece = await ask("read", request, proto.ReadResponse)
            value += piece.data
            if piece.done:
                return bytes(value)
            number += 1
        message = "the request is larger than this engine takes"
        raise PayloadTooLarge(message)

    async def _ask(
        self, prefix: str, token: str, name: str, request: Message, response: type[R]
    ) -> Any:
        try:
            message = await self._client.request(
                f"{prefix}{name}",
                request.SerializeToString(),
                timeout=_PIECE_TIMEOUT,
                headers={TOKEN_HEADER: token},
            )
        except nats.errors.NoRespondersError as error:
            raise RPCError("UNAVAILABLE", "the engine that holds the upload is gone") from error
        except nats.errors.TimeoutError as error:
            told = "the engine that holds the upload does not answer"
            raise RPCError("DEADLINE_EXCEEDED", told) from error
        answer: Any = response.FromString(message.data)
        if answer.HasField("error"):
            raise RPCError(answer.error.code, answer.error.message)
        return answer

    def _answering(self, *endpoints: Endpoint) -> Answering:
        return Answering(self._client, endpoints, max_concurrent=_MAX_CONCURRENT)

    def _handler(self, operation: Operation[Any, Any], *, only_own: bool = False) -> Any:
        async def answer(request: Request) -> Reply | None:
            if only_own and not self._is_own(operation, request.body):
                return None
            try:
                caller = self._verifier.verify(request.headers.get(TOKEN_HEADER))
            except Exception as error:  # noqa: BLE001 -- every failure is told to the caller
                return failure(operation.response, error)
            return perform(operation, caller, request.body, self._client.max_payload)

        return answer

    def _is_own(self, operation: Operation[Any, Any], body: bytes) -> bool:
        try:
            return str(operation.request.FromString(body).id).startswith(f"{self._owner}:")
        except ValueError:
            return False

    def _open(self, call: Call[proto.OpenRequest]) -> proto.OpenResponse:
        request = call.request
        if request.operation != "request":
            message = f"an upload is for a 'request', not for {request.operation!r}"
            raise InvalidArgument(message)
        if len(request.metadata) > _MAX_METADATA:
            message = f"metadata is larger than {_MAX_METADATA} bytes"
            raise InvalidArgument(message)
        id_, piece = self.transfers.open(
            call.caller.identity, request.chunk_bytes, call.broker_limit
        )
        return proto.OpenResponse(id=f"{self._owner}:{id_}", chunk_bytes=piece)

    def _write(self, call: Call[proto.WriteRequest]) -> proto.WriteResponse:
        request = call.request
        id_ = self._own(request.id)
        self.transfers.write(call.caller.identity, id_, request.sequence, request.data)
        return proto.WriteResponse()

    def _start(self, call: Call[proto.StartRequest]) -> proto.StartResponse:
        self.transfers.finish(call.caller.identity, self._own(call.request.id))
        return proto.StartResponse()

    def _read(self, call: Call[proto.ReadRequest]) -> proto.ReadResponse:
        number = call.request.sequence
        piece = self.transfers.read(call.caller.identity, self._own(call.request.id), number)
        return proto.ReadResponse(
            data=piece.data,
            sequence=number,
            frame_end=piece.last,
            pending=piece.pending,
            done=piece.done,
        )

    def _close(self, call: Call[proto.CloseRequest]) -> proto.CloseResponse:
        self.transfers.close(call.caller.identity, self._own(call.request.id))
        return proto.CloseResponse()

    def _own(self, transfer: str) -> str:
        owner, id_ = _parse(transfer)
        if owner != self._owner:
            raise RPCError("NOT_FOUND", "the transfer is another engine's, or of one that is gone")
        return id_


def _parse(transfer: str) -> tuple[str, str]:
    found = _ID.fullmatch(transfer)
    if found is None:
        message = "the transfer id is none"
        raise InvalidArgument(message)
    return found[1], found[2]
