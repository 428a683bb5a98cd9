"""Writes that declare the collections they need."""

from __future__ import annotations

from collections.abc import Sequence

from naas_abi_sdk.document.commands import Operation, apply, declare
from naas_abi_sdk.document.types import Outcome, Write
from naas_abi_sdk.errors import CollectionNotFound
from naas_abi_sdk.langgraph_documents.schema import COLLECTIONS

__all__ = ["setup", "store"]


def setup() -> Operation[None]:
    """Declare the collections. Operations that write do it by themselves when it is missing."""
    yield from declare(COLLECTIONS)


def store(stages: Sequence[Sequence[Write]]) -> Operation[list[Outcome]]:
    """Write the stages in order, in one go; one outcome a write."""
    try:
        return (yield from apply(*stages))
    except CollectionNotFound:
        yield from setup()
        return (yield from apply(*stages))
