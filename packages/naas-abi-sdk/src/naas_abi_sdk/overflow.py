"""Messages above the broker's limit: a request is uploaded before its call, a reply read after it.

The other side parks the value under an id, ``<owner>:<digits>``, and every call about it goes to
that owner. Who parked it forgets it when it is closed or a minute idle, so a transfer that breaks
off needs no tidying and starts again from the beginning.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final, Protocol

from naas_abi_sdk.errors import PayloadTooLarge, RPCError, TransportError
from naas_abi_sdk.limits import MAX_TRANSFER_BYTES, MIN_TRANSFER_CHUNK, TRANSFER_CHUNK
from naas_abi_sdk.proto.transfer.v1 import transfer_pb2 as proto
from naas_abi_sdk.subjects import OVERFLOW_PREFIX

__all__ = ["Ask", "close", "download", "upload"]

#: Seconds before a piece that was not there yet is asked for again.
_PENDING: Final = 0.02


class Ask(Protocol):
    """One small call, made within the time of the call whose value is transferred."""

    async def __call__(self, subject: str, request: Any, response_type: type[Any], /) -> Any:
        """The response; raises the error it holds."""


async def upload(ask: Ask, body: bytes, max_payload: int) -> str:
    """Send ``body`` in pieces; returns the id to call with."""
    if len(body) > MAX_TRANSFER_BYTES:
        message = f"a request of {len(body)} bytes is above the {MAX_TRANSFER_BYTES} of a transfer"
        raise PayloadTooLarge(message)
    chunk = max(min(TRANSFER_CHUNK, max_payload // 2), MIN_TRANSFER_CHUNK)
    opening = proto.OpenRequest(operation="request", chunk_bytes=chunk)
    opened = await ask(f"{OVERFLOW_PREFIX}open", opening, proto.OpenResponse)
    chunk = min(chunk, opened.chunk_bytes or chunk)
    for sequence, start in enumerate(range(0, len(body), chunk)):
        piece = proto.WriteRequest(
            id=opened.id, sequence=sequence, data=body[start : start + chunk]
        )
        await ask(_subject(opened.id, "write"), piece, proto.WriteResponse)
    return str(opened.id)


async def download(ask: Ask, id: str, size: int) -> bytes:  # noqa: A002 -- a transfer's own word
    """Read the parked value of ``size`` bytes, and let it go."""
    if size > MAX_TRANSFER_BYTES:
        message = f"a reply of {size} bytes is above the {MAX_TRANSFER_BYTES} of a transfer"
        raise PayloadTooLarge(message)
    body = bytearray()
    sequence = 0
    while True:
        request = proto.ReadRequest(id=id, sequence=sequence)
        piece = await ask(_subject(id, "read"), request, proto.ReadResponse)
        if piece.pending:
            await asyncio.sleep(_PENDING)
            continue
        body += piece.data
        if piece.done or len(body) > size:
            break
        sequence += 1
    await close(ask, id)
    if len(body) != size:
        message = f"a parked reply of {size} bytes arrived with {len(body)}"
        raise RPCError("INTERNAL", message)
    return bytes(body)


async def close(ask: Ask, id: str) -> None:  # noqa: A002 -- as above
    """Let a value go; if that fails it goes by itself."""
    with suppress(TransportError):
        await ask(_subject(id, "close"), proto.CloseRequest(id=id), proto.CloseResponse)


def _subject(id: str, operation: str) -> str:  # noqa: A002 -- as above
    return f"{OVERFLOW_PREFIX}{id.partition(':')[0]}.{operation}"
