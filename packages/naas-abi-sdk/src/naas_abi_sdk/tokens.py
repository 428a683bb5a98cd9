"""Service tokens: who is calling, signed; and where a process gets its own from.

A token is a JSON Web Token with ``HS256`` and the claims ``sub`` (who calls), ``iat`` and ``exp``
(seconds since 1970). It is signed with one of two keys:

- the project's secret, which engines hold and which may name anybody;
- a module's key, derived from the secret and the module's id, which may name that module only.
  Such a token has ``"kid": "module"`` in its header, so that a verifier derives the same key.

``abi_namespaces``, a claim of ours that published peers ignore, narrows a token to the document
namespaces it lists, where the engine is configured to enforce that.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, final

from naas_abi_sdk.errors import Unauthenticated

__all__ = [
    "ALGORITHM",
    "MODULE_KEY_ID",
    "NAMESPACES_CLAIM",
    "TOKEN_LIFETIME",
    "GivenToken",
    "ModuleToken",
    "ServiceToken",
    "TokenSource",
    "module_key",
    "module_key_from_env",
    "sign",
    "token_from_env",
]

#: The only algorithm used and accepted.
ALGORITHM: Final = "HS256"

#: ``kid`` in the header of a token signed with a module's key.
MODULE_KEY_ID: Final = "module"

#: Claim with the namespaces a token is narrowed to.
NAMESPACES_CLAIM: Final = "abi_namespaces"

#: Seconds a token is valid.
TOKEN_LIFETIME: Final = 3600

#: Seconds a new token is dated back, because verifiers refuse one issued in their future and
#: clocks of machines differ.
_CLOCK_SKEW: Final = 30

_MODULE_KEY_CONTEXT: Final = "abi.module-key.v1:"
_MODULE_KEY: Final = "ABI_MODULE_KEY"
_SERVICE_TOKEN: Final = "ABI_SERVICE_TOKEN"  # noqa: S105 -- the variable's name, not a token


class TokenSource(Protocol):
    """Where a client gets the token of its next call."""

    def token(self) -> str:
        """A token that is valid now; called for every request, so it must be quick."""


def module_key(secret: str, module_id: str) -> str:
    """The key of a module: give it to the module instead of the project's secret."""
    context = (_MODULE_KEY_CONTEXT + module_id).encode()
    digest = hmac.new(secret.encode(), context, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def sign(
    identity: str,
    key: str,
    *,
    issued_at: int,
    lifetime: int = TOKEN_LIFETIME,
    key_id: str | None = None,
    namespaces: Sequence[str] | None = None,
    audience: str | None = None,
) -> str:
    """One token for ``identity``.

    Args:
        identity: Who calls: a module's id, or an engine's name.
        key: The project's secret, or with ``key_id`` the module's key.
        issued_at: Seconds since 1970.
        lifetime: Seconds it is valid.
        key_id: ``MODULE_KEY_ID`` for a module's key, None for the secret.
        namespaces: Document namespaces to narrow it to; None for all its signer may use.
        audience: The one receiver it is for; an engine's services take only tokens without.
    """
    # A client that is built but never calls needs no cryptography.
    import jwt

    claims: dict[str, Any] = {"sub": identity, "iat": issued_at, "exp": issued_at + lifetime}
    if namespaces is not None:
        claims[NAMESPACES_CLAIM] = list(namespaces)
    if audience is not None:
        claims["aud"] = audience
    headers = None if key_id is None else {"kid": key_id}
    return jwt.encode(claims, key, algorithm=ALGORITHM, headers=headers)


class _SignedToken:
    """Signs tokens itself, anew when half of one's lifetime is over."""

    _key_id: str | None = None

    def __init__(
        self,
        identity: str,
        key: str,
        *,
        namespaces: Sequence[str] | None = None,
        lifetime: int = TOKEN_LIFETIME,
    ) -> None:
        if not identity or not key:
            message = "a token needs an identity and a key, and one of them is empty"
            raise Unauthenticated(message)
        self.identity = identity
        self._key = key
        self._namespaces = namespaces
        self._lifetime = lifetime
        self._token = ""
        self._sign_again_at = 0.0

    def token(self) -> str:
        """The current token."""
        now = time.time()
        # A clock set back must not keep a token that has become one of the future.
        if not self._sign_again_at - self._lifetime / 2 <= now < self._sign_again_at:
            issued_at = int(now) - _CLOCK_SKEW
            self._token = sign(
                self.identity,
                self._key,
                issued_at=issued_at,
                lifetime=self._lifetime + _CLOCK_SKEW,
                key_id=self._key_id,
                namespaces=self._namespaces,
            )
            self._sign_again_at = now + self._lifetime / 2
        return self._token


@final
class ModuleToken(_SignedToken):
    """Tokens of a module, signed with the module's key; ``identity`` is the module's id."""

    _key_id = MODULE_KEY_ID


@final
class ServiceToken(_SignedToken):
    """Tokens of whoever holds the project's secret, for any identity."""


@final
class GivenToken:
    """A token somebody else signed; it is used until it is refused."""

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        """The token."""
        return self._token


def module_key_from_env(module_id: str, environment: Mapping[str, str] | None = None) -> str:
    """The key of the module in this process, from ``ABI_MODULE_KEY``.

    Raises:
        Unauthenticated: it is not set; a token in ``ABI_SERVICE_TOKEN`` does not replace it.
    """
    environment = os.environ if environment is None else environment
    if key := environment.get(_MODULE_KEY, "").strip():
        return key
    message = (
        f"{_MODULE_KEY} is not set, and who hosts agents verifies callers with it: put the output "
        f"of `abi module key {module_id}` into it"
    )
    raise Unauthenticated(message)


def token_from_env(
    identity: str, environment: Mapping[str, str] | None = None
) -> ModuleToken | GivenToken:
    """The token source of a module's process.

    ``ABI_MODULE_KEY`` holds the key of the module ``identity``; without it ``ABI_SERVICE_TOKEN``
    holds a token.

    Raises:
        Unauthenticated: neither is set.
    """
    environment = os.environ if environment is None else environment
    if key := environment.get(_MODULE_KEY, "").strip():
        return ModuleToken(identity, key)
    if token := environment.get(_SERVICE_TOKEN, "").strip():
        return GivenToken(token)
    message = (
        f"neither {_MODULE_KEY} nor {_SERVICE_TOKEN} is set: put the output of "
        f"`abi module key {identity}` into {_MODULE_KEY}"
    )
    raise Unauthenticated(message)
