"""Names on the wire: subjects, queue groups and headers; and what a message weighs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = [
    "DOCUMENT_PREFIX",
    "ERROR_HEADER",
    "OVERFLOW_HEADER",
    "OVERFLOW_OWNERS",
    "OVERFLOW_PREFIX",
    "OVERFLOW_REPLY_HEADER",
    "OVERFLOW_REQUEST_HEADER",
    "OVERFLOW_SIZE_HEADER",
    "TOKEN_HEADER",
    "message_size",
]

#: Subjects of the document service: this and the operation.
DOCUMENT_PREFIX: Final = "abi.svc.document.v1."

#: The service token of every request.
TOKEN_HEADER: Final = "Nats-Auth-Token"  # noqa: S105 -- a header's name

#: The code of an error, for observers; clients read it in the body.
ERROR_HEADER: Final = "Abi-Error-Code"

#: ``1`` on a request whose reply may be parked.
OVERFLOW_HEADER: Final = "Abi-Overflow"

#: On a request without a body: the transfer that holds it.
OVERFLOW_REQUEST_HEADER: Final = "Abi-Overflow-Request"

#: On a reply without a body: the transfer that holds it, and its size in bytes.
OVERFLOW_REPLY_HEADER: Final = "Abi-Overflow-Reply"
OVERFLOW_SIZE_HEADER: Final = "Abi-Overflow-Size"

#: Subjects of transfers: this and ``open``, or this, the owner, a dot and the operation.
OVERFLOW_PREFIX: Final = "abi.rpc.overflow."

#: The queue group that shares ``open``.
OVERFLOW_OWNERS: Final = "abi.rpc.overflow.owners"

_FIRST_LINE: Final = len("NATS/1.0\r\n")
_AROUND_HEADER: Final = len(": \r\n")
_END: Final = len("\r\n")


def message_size(body: bytes, headers: Mapping[str, str] | None) -> int:
    """Bytes of a message that count against the broker's limit: its body and its header block.

    nats-py checks the body alone; the broker closes the connection of who sends more.
    """
    if not headers:
        return len(body)
    lines = (len(f"{key}{value}".encode()) + _AROUND_HEADER for key, value in headers.items())
    return len(body) + _FIRST_LINE + sum(lines) + _END
