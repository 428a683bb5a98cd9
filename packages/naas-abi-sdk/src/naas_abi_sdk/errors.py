"""Every error this distribution raises on purpose.

::

    ABIError
    ├── DocumentError
    │   ├── InvalidArgument            (also a ValueError)
    │   ├── DocumentNotFound
    │   ├── CollectionNotFound
    │   ├── VersionConflict
    │   ├── UniqueViolation
    │   ├── DocumentStorageError
    │   └── DocumentAdapterError
    └── CheckpointError
        ├── InvalidCheckpointConfig    (also a ValueError)
        ├── ValueNotStorable
        ├── CheckpointConflict
        ├── CheckpointDamaged
        └── ThreadBusy

``code`` is the name an error has on the wire. A class without one of its own is
never sent: it is raised and handled on one side.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "ABIError",
    "CheckpointConflict",
    "CheckpointDamaged",
    "CheckpointError",
    "CollectionNotFound",
    "DocumentAdapterError",
    "DocumentError",
    "DocumentNotFound",
    "DocumentStorageError",
    "InvalidArgument",
    "InvalidCheckpointConfig",
    "ThreadBusy",
    "UniqueViolation",
    "ValueNotStorable",
    "VersionConflict",
]


class ABIError(Exception):
    """The root: catch it to handle anything this distribution raises on purpose."""

    code: ClassVar[str] = "INTERNAL"


class DocumentError(ABIError):
    """The document service could not do what was asked."""


class InvalidArgument(DocumentError, ValueError):
    """A name, value or query is not portable; the message names it. Change the call."""

    code = "INVALID_ARGUMENT"


class DocumentNotFound(DocumentError):
    """No document has this id in the collection. Check the id, or put the document first."""

    code = "DOCUMENT_NOT_FOUND"


class CollectionNotFound(DocumentError):
    """The collection was never declared. Call ``ensure_collection`` first."""

    code = "COLLECTION_NOT_FOUND"


class VersionConflict(DocumentError):
    """The document is not at the version the write asked for. Read it and decide again."""

    code = "VERSION_CONFLICT"


class UniqueViolation(DocumentError):
    """Another document already holds a value declared unique. Use another value."""

    code = "UNIQUE_VIOLATION"


class DocumentStorageError(DocumentError):
    """The store could not be read or written now; the same call may succeed later."""

    code = "STORAGE_ERROR"


class DocumentAdapterError(DocumentError):
    """The store refused what an adapter asked of it. A defect: repeating will not help."""

    code = "ADAPTER_ERROR"


class CheckpointError(ABIError):
    """A checkpoint could not be stored or read."""


class InvalidCheckpointConfig(CheckpointError, ValueError):
    """The run's ``configurable`` lacks a key or holds another type. Pass what the message names."""


class ValueNotStorable(CheckpointError):
    """A channel value cannot be serialized; the message says where it sits. Nothing was stored."""


class CheckpointConflict(CheckpointError):
    """A different checkpoint is already stored under this id. Checkpoints never change."""


class CheckpointDamaged(CheckpointError):
    """A stored checkpoint cannot be read back whole; the message names what is missing."""


class ThreadBusy(CheckpointError):
    """A thread kept being written while it was being deleted. Stop its writers and repeat."""
