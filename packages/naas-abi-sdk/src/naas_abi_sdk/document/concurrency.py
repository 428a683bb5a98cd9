"""Calls that do not depend on each other, made at once but not all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

__all__ = ["all_of"]

R = TypeVar("R")

#: Calls under way at once: enough to hide the way there and back, few enough that one client does
#: not fill the 64 places an engine has.
_AT_ONCE: Final = 16


async def all_of(calls: Sequence[Callable[[], Awaitable[R]]]) -> list[R]:
    """What the calls return, in their order; the first failure ends those still under way."""
    if len(calls) == 1:
        return [await calls[0]()]
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(call: Callable[[], Awaitable[R]]) -> R:
        async with places:
            return await call()

    tasks = [asyncio.ensure_future(one(call)) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        # Only where one failed or this was cancelled is there anything left to end.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
