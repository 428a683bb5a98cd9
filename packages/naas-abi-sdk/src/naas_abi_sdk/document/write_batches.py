"""How a batch of writes is cut where it is more than the broker takes in one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from naas_abi_sdk.proto.document.v1 import document_pb2 as proto

__all__ = ["write_batches"]

#: Bytes of a request around its writes: headers with a token, context and namespace. If they are
#: more after all, the request is uploaded in pieces, which costs time but loses nothing.
_AROUND: Final = 2048

#: Bytes around one write: its tag and length.
_AROUND_WRITE: Final = 8


def write_batches(
    writes: Sequence[proto.Write], max_payload: int
) -> Iterator[Sequence[proto.Write]]:
    """``writes`` in order, as many at a time as one message holds; at least one.

    One batch is one transaction of the store, so they are as large as they can be.
    """
    room = max_payload - _AROUND
    start, size = 0, 0
    for index, write in enumerate(writes):
        weight = write.ByteSize() + _AROUND_WRITE
        if index > start and size + weight > room:
            yield writes[start:index]
            start, size = index, 0
        size += weight
    if start < len(writes):
        yield writes[start:]
