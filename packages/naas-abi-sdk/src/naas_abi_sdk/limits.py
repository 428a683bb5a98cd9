"""Numbers that a document and everyone who handles it must agree on, each with its reason."""

from __future__ import annotations

from typing import Final

__all__ = ["DEFAULT_PAGE_SIZE", "MAX_IN_VALUES", "MAX_PAGE_SIZE", "PAGE_ITEM_OVERHEAD"]

#: Items of a page when the caller names no limit.
DEFAULT_PAGE_SIZE: Final = 100

#: Items of one page at most: bounds what a single call can make a store read.
MAX_PAGE_SIZE: Final = 1000

#: Values of one ``in`` or ``nin`` predicate: half of what the oldest supported SQLite binds.
MAX_IN_VALUES: Final = 500

#: Bytes a document costs in a page beside its data and id: its times and version.
PAGE_ITEM_OVERHEAD: Final = 64
