"""The wire contract: sources beside what ``make generate`` makes of them.

The messages are built in a descriptor pool of their own. Their names are global in protobuf's
default pool, where another distribution that brings the same contract from files of other names
could not be imported beside this one.
"""

from __future__ import annotations

from functools import cache

from google.protobuf.descriptor_pool import DescriptorPool

__all__ = ["pool"]


@cache
def pool() -> DescriptorPool:
    """The pool every message of the contract lives in."""
    return DescriptorPool()
