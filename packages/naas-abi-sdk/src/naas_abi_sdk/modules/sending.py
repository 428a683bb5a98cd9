"""The events of one turn, numbered, on their way to its caller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, final

from naas_abi_sdk.errors import ABIError
from naas_abi_sdk.modules.subjects import ALIVE_SECONDS
from naas_abi_sdk.proto.common.v1.common_pb2 import CallError
from naas_abi_sdk.proto.turns.v1 import turns_pb2 as proto

if TYPE_CHECKING:
    from nats.aio.client import Client

__all__ = ["EventSender"]

_log = logging.getLogger(__name__)

#: Characters of the text of an error that are sent.
_LONGEST_ERROR: Final = 2000

#: Of the broker's limit, the part that the characters of one piece of text may be in number:
#: each has up to four bytes.
_TEXT_PARTS: Final = 8


@final
class EventSender:
    """Sends until the turn ends.

    That an event cannot be sent fails no turn: its caller, if there is one, notices the gap.
    """

    def __init__(self, client: Client, inbox: str) -> None:
        self._client = client
        self._inbox = inbox
        self._sequence = 0
        self._sent_at = asyncio.get_running_loop().time()
        self._one_by_one = asyncio.Lock()

    async def send(self, event: proto.TurnEvent) -> None:
        """Send an event; long text as several."""
        for piece in _pieces(event, self._client.max_payload // _TEXT_PARTS):
            await self._publish(piece)

    async def fail(self, error: ABIError) -> None:
        """Tell the error that ends the turn."""
        text = str(error).removeprefix(f"{error.code}: ")[:_LONGEST_ERROR]
        told = text.encode("utf-8", "backslashreplace").decode("utf-8")
        await self.send(proto.TurnEvent(error=CallError(code=error.code, message=told)))

    async def keep_alive(self) -> None:
        """Say that the turn goes on, if nothing was said for long."""
        if asyncio.get_running_loop().time() - self._sent_at >= ALIVE_SECONDS:
            await self.send(proto.TurnEvent(alive=proto.Alive()))

    async def _publish(self, event: proto.TurnEvent) -> None:
        from nats.errors import Error

        async with self._one_by_one:
            event.sequence = self._sequence
            self._sequence += 1
            self._sent_at = asyncio.get_running_loop().time()
            try:
                await self._client.publish(self._inbox, event.SerializeToString())
            except Error as error:
                _log.warning("an event of a turn could not be sent: %r", error)


def _pieces(event: proto.TurnEvent, characters: int) -> Iterator[proto.TurnEvent]:
    piece = event.piece
    if len(piece.text) <= characters:
        yield event
        return
    for start in range(0, len(piece.text), characters):
        part = piece.text[start : start + characters]
        yield proto.TurnEvent(piece=proto.Piece(message_id=piece.message_id, text=part))
