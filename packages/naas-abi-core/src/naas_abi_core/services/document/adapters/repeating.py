"""Which writes a store may do again when it cannot know whether they were done."""

from __future__ import annotations

from naas_abi_sdk.document.types import Delete, Put, Write

__all__ = ["is_repeatable"]


def is_repeatable(item: Write) -> bool:
    """Whether doing it twice leaves what doing it once would.

    The answers may differ: a creation that was done is a conflict when it is done again.
    """
    if isinstance(item, Put):
        return item.if_version == 0
    return not isinstance(item, Delete) or item.if_version is None
