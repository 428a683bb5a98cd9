"""Numbers of NATS mode, with their reasons. Imports nothing, so a configuration can use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

__all__ = ["DRAIN_SECONDS", "MAX_CONCURRENT", "SHORTEST_SECRET", "TransferLimits"]

_MIB: Final = 1024 * 1024

#: Characters of the secret that tokens are signed with: what HMAC-SHA256 can make use of.
SHORTEST_SECRET: Final = 32

#: Calls of one service at once, each in a thread: more than a store answers at the same time, so
#: that its own queue stays full, and few enough that their memory is bounded.
MAX_CONCURRENT: Final = 64

#: Seconds in which an engine that ends answers what it accepted: several times a client's patience.
DRAIN_SECONDS: Final = 60.0


@final
@dataclass(frozen=True, slots=True)
class TransferLimits:
    """What one engine holds for others of values larger than the broker's messages.

    Attributes:
        max_value_bytes: One value at most.
        max_parked_bytes: Replies that wait to be fetched, together.
        max_buffered_upload_bytes: Uploads, together.
        chunk_bytes: A piece at most; half of what the broker takes if that is less.
        idle_seconds: After so long without a call a transfer is forgotten.
        max_sessions: Transfers at once.
    """

    max_value_bytes: int = 256 * _MIB
    max_parked_bytes: int = 1024 * _MIB
    max_buffered_upload_bytes: int = 1024 * _MIB
    chunk_bytes: int = _MIB
    idle_seconds: float = 60.0
    max_sessions: int = 64
