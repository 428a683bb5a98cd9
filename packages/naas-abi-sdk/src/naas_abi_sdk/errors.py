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
    ├── CheckpointError
    │   ├── InvalidCheckpointConfig    (also a ValueError)
    │   ├── ValueNotStorable
    │   ├── NotFaithful                (also a TypeError)
    │   ├── CheckpointConflict
    │   ├── CheckpointDamaged
    │   ├── TypeUnavailable            (also an AttributeError)
    │   ├── RunLeaseConflict
    │   ├── ThreadBusy
    │   └── ThreadDeleted
    └── TransportError
        ├── Unauthenticated
        ├── PermissionDenied           (also a PermissionError)
        ├── PayloadTooLarge
        ├── Unavailable
        │   └── NobodyServes
        ├── DeadlineExceeded           (also a TimeoutError)
        └── RPCError

``code`` is the name an error has on the wire. A class without one of its own is
never sent: it is raised and handled on one side.
"""

from __future__ import annotations

from functools import cache

__all__ = [
    "ABIError",
    "CheckpointConflict",
    "CheckpointDamaged",
    "CheckpointError",
    "CollectionNotFound",
    "DeadlineExceeded",
    "DocumentAdapterError",
    "DocumentError",
    "DocumentNotFound",
    "DocumentStorageError",
    "InvalidArgument",
    "InvalidCheckpointConfig",
    "NobodyServes",
    "NotFaithful",
    "PayloadTooLarge",
    "PermissionDenied",
    "RPCError",
    "RunLeaseConflict",
    "ThreadBusy",
    "ThreadDeleted",
    "TransportError",
    "TypeUnavailable",
    "Unauthenticated",
    "Unavailable",
    "UniqueViolation",
    "ValueNotStorable",
    "VersionConflict",
    "error_named",
]


class ABIError(Exception):
    """The root: catch it to handle anything this distribution raises on purpose."""

    code: str = "INTERNAL"


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
    """A run's ``configurable``, or what names threads and runs, is not usable as it is.

    The message names the key or argument. Pass what it asks for.
    """


class ValueNotStorable(CheckpointError):
    """A channel value cannot be serialized; the message says where it sits. Nothing was stored."""


class NotFaithful(CheckpointError, TypeError):
    """A serializer cannot keep a value as it is. ``path`` leads to it; keep something else there.

    A saver raises :class:`ValueNotStorable` instead, which names thread and channel too.
    """

    def __init__(self, path: str, value: object, why: str) -> None:
        super().__init__(why)
        self.path = path
        self.value = value


class CheckpointConflict(CheckpointError):
    """Another checkpoint is stored where this one was to go. Stored checkpoints never change."""


class CheckpointDamaged(CheckpointError):
    """A stored checkpoint cannot be read back whole; the message names what is missing."""


class TypeUnavailable(CheckpointError, AttributeError):
    """A loaded value's class is missing or not allowed, and it was used. Mend it, load again."""


class ThreadBusy(CheckpointError):
    """A thread was written or deleted by others in the middle of an operation that needs it alone.

    What is stored of it is whole. Stop the others and repeat.
    """


class ThreadDeleted(CheckpointError):
    """The thread was deleted since this run read it; nothing was stored.

    End the run. A new run on the same thread id starts a new conversation.
    """


class RunLeaseConflict(CheckpointError):
    """Another run holds the thread's lease, or took it over; the message names the holder.

    Wait for it to end, or start the turn again from the newest checkpoint.
    """


class TransportError(ABIError):
    """A call to another process was not answered as asked; its classes say why."""


class Unauthenticated(TransportError):
    """A token, login or certificate was refused. Check what the text names, and the clock."""

    code = "UNAUTHENTICATED"


class PermissionDenied(TransportError, PermissionError):
    """The caller is known but may not do this. Use a token or a broker user that may."""

    code = "PERMISSION_DENIED"


class PayloadTooLarge(TransportError):
    """A message is above the limit that the text names. Send less, or raise that limit."""

    code = "PAYLOAD_TOO_LARGE"


class Unavailable(TransportError):
    """Nobody answered or could be reached. Start what the text names, then repeat the call."""

    code = "UNAVAILABLE"


class NobodyServes(Unavailable):
    """No process serves this operation, so nothing was done. Start an engine that serves it."""


class DeadlineExceeded(TransportError, TimeoutError):
    """No answer came in time. Whether a write was done is unknown: read before writing again."""

    code = "DEADLINE_EXCEEDED"


class RPCError(TransportError):
    """A call was refused with a code that has no class here; its ``code`` says what to mend."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def error_named(code: str, message: str) -> ABIError:
    """The error that ``code`` names on the wire."""
    kind = _by_code().get(code)
    return RPCError(code, message) if kind is None else kind(message)


@cache
def _by_code() -> dict[str, type[ABIError]]:
    return {
        kind.code: kind
        for base in (DocumentError, TransportError)
        for kind in base.__subclasses__()
        if "code" in vars(kind) and kind.__module__ == __name__
    }
