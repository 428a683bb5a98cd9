"""Who calls: verifies service tokens, and says which namespaces a caller reaches.

A token is a JWT signed with HS256, by one of two keys. The project's secret is held by engines and
may name any caller. A module's key is derived from that secret and the module's id; tokens signed
with it say ``kid: module`` in their header and may name that module only, never one of
:data:`FIRST_PARTY`. So a module can be given its key without being given the others'.

A token for one instance of a module (``aud``) is for that instance and refused here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from time import time
from typing import Any, Final, final

import jwt

from naas_abi_sdk.errors import PermissionDenied, Unauthenticated
from naas_abi_sdk.tokens import ALGORITHM, MODULE_KEY_ID, NAMESPACES_CLAIM, module_key

__all__ = ["FIRST_PARTY", "Caller", "TokenVerifier"]

#: Identities of engines and what belongs to them; no module may have such an id.
FIRST_PARTY: Final = frozenset(("api", "dagster", "engine"))

#: Seconds by which the clocks of two machines may differ.
_LEEWAY: Final = 10

#: Verified tokens that are remembered, and characters of one at most: a client sends the same one
#: for half an hour, and of callers that go on making new ones the memory is bounded.
_REMEMBERED: Final = 1000
_LONGEST_REMEMBERED: Final = 4096

#: One text for every failure: what is wrong with a token is nobody's business who has no right one.
_REFUSED: Final = (
    "the service token is missing, invalid or expired; check ABI_MODULE_KEY, the module id, "
    "and the clock of this machine"
)


@final
@dataclass(frozen=True, slots=True)
class Caller:
    """Whom a token names.

    Attributes:
        identity: A module's id, or one of :data:`FIRST_PARTY`.
        namespaces: The namespaces the caller reaches; None for all.
    """

    identity: str
    namespaces: frozenset[str] | None = None

    def check_reach(self, namespace: str) -> None:
        """Raise ``PermissionDenied`` unless the caller reaches ``namespace``."""
        if self.namespaces is not None and namespace not in self.namespaces:
            message = f"{self.identity!r} does not reach namespace {namespace!r}"
            raise PermissionDenied(message)


@final
@dataclass(frozen=True, slots=True)
class _Verified:
    """What a token was found to be at ``since`` and is until ``end``, seconds since 1970."""

    caller: Caller
    since: float
    end: float

    def holds(self) -> bool:
        # Not either before it was found, as a clock that was set back may make a token too new.
        return self.since <= time() < self.end


@final
class TokenVerifier:
    """Verifies tokens with the project's secret; belongs to one thread.

    A token's claim of namespaces is always kept to. What a token was found to be is remembered, by
    its whole text, until it expires: verifying one costs as much as a small call does.

    Args:
        secret: The project's secret, ``nats.jwt_secret``.
        own_namespace_only: Whether a module reaches the namespace called as its id and no other.
            The claim of a token signed with the project's secret then says which it reaches
            instead.
    """

    def __init__(self, secret: str, *, own_namespace_only: bool = False) -> None:
        self._secret = secret
        self._own_namespace_only = own_namespace_only
        self._verified: dict[str, _Verified] = {}

    def verify(self, token: str | None) -> Caller:
        """Whom ``token`` names.

        Raises:
            Unauthenticated: it is missing, malformed, forged, expired, not valid yet, for one
                instance of a module, or signed by a module for somebody else.
        """
        token = token or ""
        verified = self._verified.get(token)
        if verified is None or not verified.holds():
            self._verified.pop(token, None)
            verified = self._verify(token)
            self._remember(token, verified)
        return verified.caller

    def _verify(self, token: str) -> _Verified:
        now = time()
        try:
            signed_by_module, claims = self._claims(token)
            identity, claimed = claims["sub"], _claimed_namespaces(claims)
            end = int(claims["exp"]) + _LEEWAY
        except Exception as error:
            raise Unauthenticated(_REFUSED) from error
        reach = self._reach(identity, claimed, signed_by_module=signed_by_module)
        return _Verified(Caller(identity, reach), now, end)

    def _remember(self, token: str, verified: _Verified) -> None:
        if len(token) > _LONGEST_REMEMBERED:
            return
        if len(self._verified) >= _REMEMBERED:
            del self._verified[next(iter(self._verified))]
        self._verified[token] = verified

    def _claims(self, token: str) -> tuple[bool, Mapping[str, Any]]:
        signed_by_module = jwt.get_unverified_header(token).get("kid") == MODULE_KEY_ID
        key = self._secret
        if signed_by_module:
            # Not trusted yet: it only chooses the key that it is then verified with.
            claims = jwt.decode(token, options={"verify_signature": False})
            module = claims["sub"]
            if not isinstance(module, str) or module in FIRST_PARTY:
                raise ValueError(module)
            key = module_key(self._secret, module)
        claims = jwt.decode(
            token, key, algorithms=[ALGORITHM], leeway=_LEEWAY, options={"require": ["exp", "sub"]}
        )
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise ValueError(claims["sub"])
        return signed_by_module, claims

    def _reach(
        self, identity: str, claimed: frozenset[str] | None, *, signed_by_module: bool
    ) -> frozenset[str] | None:
        if not self._own_namespace_only or identity in FIRST_PARTY:
            return claimed
        if signed_by_module:
            # A module writes its claims itself, so they may take away and not give.
            return frozenset((identity,)) if claimed is None else claimed & {identity}
        return frozenset((identity,)) if claimed is None else claimed


def _claimed_namespaces(claims: Mapping[str, Any]) -> frozenset[str] | None:
    claimed = claims.get(NAMESPACES_CLAIM)
    if claimed is None:
        return None
    if not isinstance(claimed, Collection) or isinstance(claimed, str):
        raise TypeError(claimed)
    return frozenset(claimed)
