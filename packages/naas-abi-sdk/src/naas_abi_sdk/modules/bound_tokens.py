"""Tokens of turns: signed with the called module's own key, and good for one receiver only.

Whoever holds the project's secret derives the module's key and names itself in a token for the
instance it calls. The module verifies it with the key it has, and nobody else can use it: engines
refuse tokens for an instance, other modules have other keys. Modules hold no key but their own, so
they cannot call each other's agents.
"""

from __future__ import annotations

import time
from typing import Final

from naas_abi_sdk.errors import Unauthenticated
from naas_abi_sdk.tokens import ALGORITHM, MODULE_KEY_ID, sign

__all__ = ["bound_token", "identity_in"]

#: Seconds a token for one receiver is valid: it is used at once.
_LIFETIME: Final = 300

#: Seconds by which the clocks of two machines may differ.
_LEEWAY: Final = 30


def bound_token(identity: str, key: str, receiver: str) -> str:
    """A token that names ``identity`` and is good for ``receiver`` only."""
    return sign(
        identity,
        key,
        issued_at=int(time.time()),
        lifetime=_LIFETIME,
        key_id=MODULE_KEY_ID,
        audience=receiver,
    )


def identity_in(token: str | None, key: str, receiver: str) -> str:
    """Whom a token for ``receiver`` names.

    Raises:
        Unauthenticated: it is missing, forged, expired, or for somebody else.
    """
    import jwt

    try:
        claims = jwt.decode(
            token or "",
            key,
            algorithms=[ALGORITHM],
            audience=receiver,
            leeway=_LEEWAY,
            options={"require": ["aud", "exp", "iat", "sub"]},
        )
        if claims["aud"] != receiver or not isinstance(claims["sub"], str) or not claims["sub"]:
            raise ValueError
    except Exception as error:
        message = (
            "the token of a turn is missing, invalid or expired; check that both sides use the "
            "same nats.jwt_secret and module id, and the clocks"
        )
        raise Unauthenticated(message) from error
    return str(claims["sub"])
