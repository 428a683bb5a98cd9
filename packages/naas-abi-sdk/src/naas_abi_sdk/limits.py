"""Numbers that a document and everyone who handles it must agree on, each with its reason."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CALL_TIMEOUT",
    "DEFAULT_PAGE_SIZE",
    "MAX_IN_VALUES",
    "MAX_PAGE_SIZE",
    "MAX_TRANSFER_BYTES",
    "MAX_TRANSFER_METADATA",
    "MIN_TRANSFER_CHUNK",
    "PAGE_ITEM_OVERHEAD",
    "TRANSFER_CHUNK",
]

#: Items of a page when the caller names no limit.
DEFAULT_PAGE_SIZE: Final = 100

#: Items of one page at most: bounds what a single call can make a store read.
MAX_PAGE_SIZE: Final = 1000

#: Values of one ``in`` or ``nin`` predicate: half of what the oldest supported SQLite binds.
MAX_IN_VALUES: Final = 500

#: Bytes a document costs in a page beside its data and id: its times and version.
PAGE_ITEM_OVERHEAD: Final = 64

#: Seconds a call may take, connecting and everything else included: a save that takes longer has
#: lost its broker or its engine.
CALL_TIMEOUT: Final = 10.0

#: Bytes of a value sent in pieces at most: a bound on what one call can make the other side hold.
MAX_TRANSFER_BYTES: Final = 256 * 1024 * 1024

#: Bytes of a piece, and how small pieces may become under a broker that takes only small messages.
TRANSFER_CHUNK: Final = 1024 * 1024
MIN_TRANSFER_CHUNK: Final = 1024

#: Bytes a transfer may say about itself.
MAX_TRANSFER_METADATA: Final = 16 * 1024
