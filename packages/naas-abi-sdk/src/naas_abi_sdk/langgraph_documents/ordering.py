"""Which checkpoint of a namespace is the latest.

Checkpoint ids are made from the clock and sort by time, so the latest is the greatest. When the
clock steps back, a new checkpoint's id sorts below its parent's; its *order* then is its parent's
with a count behind it, which sorts after the parent and before any later id. Only such
checkpoints have an order document; for every other the order is its id.
"""

from __future__ import annotations

__all__ = ["order_after"]

_MARK = "~"  # sorts after every character of a checkpoint id


def order_after(parent_order: str | None, checkpoint_id: str) -> str:
    """The order of a checkpoint whose parent has ``parent_order``."""
    if parent_order is None or checkpoint_id > parent_order:
        return checkpoint_id
    base, _, count = parent_order.partition(_MARK)
    return f"{base}{_MARK}{int(count or 0) + 1:08d}"
