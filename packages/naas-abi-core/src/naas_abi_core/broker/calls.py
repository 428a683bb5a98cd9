"""A typed call: one protobuf message in, one out, and every failure as an error in the answer.

An answer's ``error`` says what happened by a code. Its text goes into detail only where the text
is ours: what a storage backend said stays here, in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, final

from google.protobuf.message import DecodeError, Message

from naas_abi_core.broker.answering import Reply
from naas_abi_core.broker.tokens import Caller
from naas_abi_sdk.errors import ABIError, InvalidArgument, RPCError, TransportError
from naas_abi_sdk.proto.common.v1.common_pb2 import CallError
from naas_abi_sdk.subjects import ERROR_HEADER

__all__ = ["Call", "Operation", "failure", "perform"]

_log = logging.getLogger(__name__)

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)

#: Characters of an error's text that travel: names in it may be of any length.
_LONGEST_TEXT: Final = 2000


@final
@dataclass(frozen=True, slots=True)
class Call(Generic[Q]):
    """A decoded request.

    Attributes:
        caller: Whom its token names.
        request: What it asks.
        broker_limit: Bytes that one message of the broker holds, headers included.
    """

    caller: Caller
    request: Q
    broker_limit: int


@final
@dataclass(frozen=True, slots=True)
class Operation(Generic[Q, R]):
    """One operation of a service: its messages, and what answers it, in any thread.

    ``response`` has a field ``error`` of type ``CallError``.
    """

    name: str
    request: type[Q]
    response: type[R]
    perform: Callable[[Call[Q]], R]


def perform(operation: Operation[Any, Any], caller: Caller, body: bytes, limit: int) -> Reply:
    """Answer a call; what goes wrong is the answer then."""
    try:
        try:
            request = operation.request.FromString(body)
        except DecodeError as error:
            message = f"the body is no {operation.request.DESCRIPTOR.full_name}"
            raise InvalidArgument(message) from error
        response: Message = operation.perform(Call(caller, request, limit))
        return Reply(response.SerializeToString())
    except Exception as error:  # noqa: BLE001 -- every failure is told to the caller
        return failure(operation.response, error)


def failure(response: type[Message], error: Exception) -> Reply:
    """The answer that tells ``error``; one that nobody expected is logged."""
    code, text = _told(error)
    told = text[:_LONGEST_TEXT].encode("utf-8", "backslashreplace").decode("utf-8")
    body = response(error=CallError(code=code, message=told)).SerializeToString()
    return Reply(body, {ERROR_HEADER: code}, code)


def _told(error: Exception) -> tuple[str, str]:
    if isinstance(error, RPCError):
        return error.code, error.message
    if isinstance(error, (InvalidArgument, TransportError)):
        return error.code, str(error)
    if isinstance(error, ABIError):
        if error.code == ABIError.code:
            _log.error("a call failed", exc_info=error)
        else:
            _log.info("a call was answered with %s", error.code, exc_info=error)
        return error.code, error.code
    if isinstance(error, PermissionError):
        return "PERMISSION_DENIED", "PERMISSION_DENIED"
    _log.error("a call failed", exc_info=error)
    return ABIError.code, ABIError.code
