"""What a reply says: the response it carries, or the error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from naas_abi_sdk.errors import ABIError, RPCError, error_named

if TYPE_CHECKING:
    from nats.aio.msg import Msg

__all__ = ["read_response"]

R = TypeVar("R")


def read_response(what: str, reply: Msg | bytes, response_type: type[R]) -> R:
    """The response in ``reply``, or the error that is there instead, raised.

    ``what`` names the call in errors that would otherwise say no more than their code.
    """
    from google.protobuf.message import DecodeError

    body = reply
    if not isinstance(reply, bytes):
        body = reply.data
        failure = (reply.headers or {}).get("Nats-Service-Error-Code")
        if failure:
            text = (reply.headers or {}).get("Nats-Service-Error", "")
            raise error_named(failure, f"{what}: {text}")
    try:
        response: Any = response_type.FromString(body)  # type: ignore[attr-defined]  # a message
    except DecodeError as error:
        message = f"{what}: the reply cannot be read: {error}"
        raise RPCError("INTERNAL", message) from error
    if response.HasField("error"):
        raise _named(what, response.error.code, response.error.message)
    return response  # type: ignore[no-any-return]  # protobuf's FromString returns its class


def _named(what: str, code: str, message: str) -> ABIError:
    if message != code:
        return error_named(code, message)
    # Services say no more than the code, lest a store's text leaks; the class knows what it means.
    error = error_named(code, message)
    meaning = message if isinstance(error, RPCError) else (type(error).__doc__ or "").strip()
    return error_named(code, f"{what}: {meaning}")
