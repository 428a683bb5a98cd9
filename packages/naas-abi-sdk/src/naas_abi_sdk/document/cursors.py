"""Cursors: where a page ended, and of which query.

A cursor is URL-safe base64 of ``{"key":[...],"q":"<fingerprint>","v":1}``. ``key`` is the place of
the last item: its id, or what it sorts by and its id, or the value of a group. The fingerprint is
that of the query, limit and budget left out, so that those may change from page to page. A cursor
means the same to every store, and still works when the item it was taken at is deleted.
"""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any, Final, TypeVar

from naas_abi_sdk.document.encoding import canonical_json, tagged
from naas_abi_sdk.document.types import Predicate
from naas_abi_sdk.errors import InvalidArgument

__all__ = ["fingerprint_of", "read_cursor", "write_cursor"]

_VERSION: Final = 1

P = TypeVar("P")


def fingerprint_of(
    namespace: str, collection: str, where: Iterable[Predicate], arrangement: Any
) -> str:
    """What tells cursors of a query from those of others, in hexadecimal.

    ``arrangement`` is how the documents are ordered or grouped, as JSON values.
    """
    conditions = [[item.field, item.operator, tagged(item.value)] for item in where]
    conditions.sort(key=canonical_json)
    text = canonical_json([namespace, collection, conditions, arrangement])
    return sha256(text.encode("ascii")).hexdigest()


def write_cursor(key: list[Any], fingerprint: str) -> str:
    """The cursor of a page that ended at ``key``."""
    text = canonical_json({"key": key, "q": fingerprint, "v": _VERSION})
    return urlsafe_b64encode(text.encode("ascii")).decode("ascii")


def read_cursor(cursor: Any, fingerprint: str, read_key: Callable[[list[Any]], P]) -> P:
    """The place at which the previous page ended; ``read_key`` refuses what is none.

    Raises:
        InvalidArgument: the cursor is malformed, or belongs to another query.
    """
    try:
        content = json.loads(b64decode(cursor, altchars=b"-_", validate=True))
        key, of_query, version = content["key"], content["q"], content["v"]
        if type(version) is not int or version != _VERSION or not isinstance(key, list):
            raise ValueError(cursor)
        if of_query == fingerprint:
            return read_key(key)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        message = f"cursor {cursor!r:.80} is malformed; pass one that a page had, unchanged"
        raise InvalidArgument(message) from error
    message = (
        "the cursor belongs to another query; namespace, collection, where, and what orders or "
        "groups must stay the same from page to page"
    )
    raise InvalidArgument(message)
