"""Values larger than the broker's messages, while they are uploaded or wait to be fetched.

A transfer belongs to whom opened it, and is forgotten when nobody has asked for it for a while.
Everything may be repeated: a piece is known by its number, so a lost answer costs nothing.
No I/O and no clock of its own here; :mod:`naas_abi_core.broker.overflow` serves it over NATS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from time import monotonic
from typing import Final, Literal, final
from uuid import uuid4

from naas_abi_core.broker.limits import TransferLimits
from naas_abi_sdk.errors import InvalidArgument, PermissionDenied, RPCError

__all__ = ["Piece", "Transfers"]

#: Bytes of a piece at least: below, a value would cost more messages than it is worth.
_SMALLEST_PIECE: Final = 1024


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """One answer to a read.

    ``last`` says that the value ends with this piece, ``pending`` that it is not there yet, and
    ``done`` that nothing is left.
    """

    data: bytes = b""
    last: bool = False
    pending: bool = False
    done: bool = False


@final
@dataclass(slots=True)
class _Transfer:
    owner: str
    kind: Literal["upload", "parked"]
    piece_bytes: int
    value: bytearray
    complete: bool
    used: float = 0.0
    pieces: int = 0
    last_piece_at: int = 0


@final
@dataclass(slots=True)
class Transfers:
    """The transfers of one engine, by id. Not for several threads at once."""

    limits: TransferLimits
    clock: Callable[[], float] = monotonic
    _held: dict[str, _Transfer] = field(default_factory=dict, init=False)

    def open(self, owner: str, wanted_bytes: int, broker_limit: int) -> tuple[str, int]:
        """Begin an upload; returns its id and how large a piece may be.

        Raises:
            RPCError: ``RESOURCE_EXHAUSTED``, too many transfers are open.
        """
        piece = self._piece_bytes(wanted_bytes, broker_limit)
        return self._hold(_Transfer(owner, "upload", piece, bytearray(), complete=False)), piece

    def write(self, owner: str, id_: str, number: int, data: bytes) -> None:
        """Append piece ``number``; the one that came last may come again.

        Raises:
            InvalidArgument: it is larger than a piece may be.
            RPCError: ``CONFLICT``, it is not the next one, or the upload is finished;
                ``PAYLOAD_TOO_LARGE`` or ``RESOURCE_EXHAUSTED``, there is no room for it.
        """
        upload = self._find(owner, id_)
        if len(data) > upload.piece_bytes:
            message = f"a piece holds {len(data)} bytes; at most {upload.piece_bytes}"
            raise InvalidArgument(message)
        if number == upload.pieces - 1 and upload.value[upload.last_piece_at :] == data:
            return
        if upload.complete or number != upload.pieces:
            message = f"piece {number} is not the one expected"
            raise RPCError("CONFLICT", message)
        if len(upload.value) + len(data) > self.limits.max_value_bytes:
            message = f"the value is larger than {self.limits.max_value_bytes} bytes"
            raise RPCError("PAYLOAD_TOO_LARGE", message)
        if self._bytes("upload") + len(data) > self.limits.max_buffered_upload_bytes:
            raise RPCError("RESOURCE_EXHAUSTED", "too much is being uploaded; try again later")
        upload.last_piece_at = len(upload.value)
        upload.value += data
        upload.pieces += 1

    def finish(self, owner: str, id_: str) -> None:
        """The upload is whole; from here on it can be read."""
        self._find(owner, id_).complete = True

    def park(self, owner: str, value: bytes, broker_limit: int) -> str:
        """Hold a reply until it is fetched; returns its id.

        Raises:
            RPCError: ``PAYLOAD_TOO_LARGE`` or ``RESOURCE_EXHAUSTED``, there is no room for it.
        """
        self.expire()
        if len(value) > self.limits.max_value_bytes:
            message = f"the reply is larger than {self.limits.max_value_bytes} bytes"
            raise RPCError("PAYLOAD_TOO_LARGE", message)
        if self._bytes("parked") + len(value) > self.limits.max_parked_bytes:
            raise RPCError("RESOURCE_EXHAUSTED", "too many replies wait to be fetched")
        piece = self._piece_bytes(self.limits.chunk_bytes, broker_limit)
        return self._hold(_Transfer(owner, "parked", piece, bytearray(value), complete=True))

    def read(self, owner: str, id_: str, number: int) -> Piece:
        """Piece ``number`` of a value.

        Raises:
            RPCError: ``CONFLICT``, the value ended before.
        """
        transfer = self._find(owner, id_)
        if not transfer.complete:
            return Piece(pending=True)
        pieces = max(1, ceil(len(transfer.value) / transfer.piece_bytes))
        if number > pieces:
            message = f"there is no piece {number}"
            raise RPCError("CONFLICT", message)
        if number == pieces:
            return Piece(done=True)
        start = number * transfer.piece_bytes
        data = bytes(transfer.value[start : start + transfer.piece_bytes])
        return Piece(data, last=number == pieces - 1)

    def value(self, owner: str, id_: str) -> bytes:
        """The whole of a finished value.

        Raises:
            RPCError: ``CONFLICT``, it is not finished.
        """
        self.finish(owner, id_)
        return bytes(self._find(owner, id_).value)

    def close(self, owner: str, id_: str) -> None:
        """Forget a transfer; one that is forgotten already is fine."""
        if id_ in self._held:
            self._find(owner, id_)
            del self._held[id_]

    def in_use(self, within_seconds: float) -> bool:
        """Whether somebody has asked for any of them within this time."""
        self.expire()
        since = self.clock() - within_seconds
        return any(transfer.used >= since for transfer in self._held.values())

    def expire(self) -> None:
        """Forget what nobody has asked for in a while; every other method does so too."""
        since = self.clock() - self.limits.idle_seconds
        for id_ in [id_ for id_, transfer in self._held.items() if transfer.used < since]:
            del self._held[id_]

    def _find(self, owner: str, id_: str) -> _Transfer:
        """A transfer that ``owner`` may use.

        Raises:
            RPCError: ``NOT_FOUND``.
            PermissionDenied: it is somebody else's.
        """
        self.expire()
        transfer = self._held.get(id_)
        if transfer is None:
            raise RPCError("NOT_FOUND", "there is no such transfer; it may have been idle too long")
        if transfer.owner != owner:
            message = "the transfer belongs to another caller"
            raise PermissionDenied(message)
        transfer.used = self.clock()
        return transfer

    def _hold(self, transfer: _Transfer) -> str:
        self.expire()
        if len(self._held) >= self.limits.max_sessions:
            raise RPCError("RESOURCE_EXHAUSTED", "too many transfers are open; try again later")
        id_ = uuid4().hex
        transfer.used = self.clock()
        self._held[id_] = transfer
        return id_

    def _bytes(self, kind: str) -> int:
        return sum(len(each.value) for each in self._held.values() if each.kind == kind)

    def _piece_bytes(self, wanted: int, broker_limit: int) -> int:
        largest = min(self.limits.chunk_bytes, broker_limit // 2)
        return max(_SMALLEST_PIECE, min(wanted or largest, largest))
