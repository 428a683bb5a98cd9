"""Which tokens are accepted, and what their callers reach."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest

from naas_abi_core.broker import tokens
from naas_abi_core.broker.tokens import FIRST_PARTY, Caller, TokenVerifier
from naas_abi_sdk.errors import PermissionDenied, Unauthenticated
from naas_abi_sdk.tokens import ModuleToken, ServiceToken, module_key, sign

SECRET = "a secret of at least thirty-two characters"
MODULE = "acme.billing"
KEY = module_key(SECRET, MODULE)
VECTORS = json.loads(Path("tests/vectors/interop.json").read_text("utf-8"))["tokens"]


def claims(**changed: Any) -> dict[str, Any]:
    now = int(time.time())
    given = {"sub": MODULE, "iat": now, "exp": now + 3600, **changed}
    return {name: value for name, value in given.items() if value is not None}


def signed(key: str = KEY, kid: str | None = "module", **changed: Any) -> str:
    headers = None if kid is None else {"kid": kid}
    return jwt.encode(claims(**changed), key, algorithm="HS256", headers=headers)


def unsigned() -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims())}."


def test_a_module_and_an_engine_are_known_by_their_tokens() -> None:
    verifier = TokenVerifier(SECRET)
    assert verifier.verify(ModuleToken(MODULE, KEY).token()) == Caller(MODULE)
    for identity in (*FIRST_PARTY, MODULE):
        assert verifier.verify(ServiceToken(identity, SECRET).token()) == Caller(identity)
    # A key id that means nothing here changes nothing.
    assert verifier.verify(signed(SECRET, kid="other")) == Caller(MODULE)


@pytest.mark.parametrize(
    "token",
    {
        "none": None,
        "empty": "",
        "no token": "x.y.z",
        "no text of its alphabet": "é.\ud800.\0",
        "unsigned": unsigned(),
        "expired": signed(iat=1, exp=int(time.time()) - 60),
        "without an end": signed(exp=None),
        "an end that is no number": signed(SECRET, None, exp="soon"),
        "an end that never comes": signed(SECRET, None, exp=float("inf")),
        "issued in the future": signed(iat=int(time.time()) + 600),
        "not valid yet": signed(nbf=int(time.time()) + 600),
        "for an instance": signed(SECRET, None, aud="instance-1"),
        "for an instance of a module": signed(aud=["instance-1"]),
        "by another project": signed("another secret of thirty-two characters!", None),
        "by another module": signed(module_key(SECRET, "acme.other")),
        "by the secret as if by a module": signed(SECRET),
        "by a module as if by the secret": signed(KEY, None),
        "by a module for an engine": signed(module_key(SECRET, "engine"), sub="engine"),
        "for nobody": signed(SECRET, None, sub=""),
        "without a caller": signed(SECRET, None, sub=None),
        "by another algorithm": jwt.encode(claims(), SECRET * 2, algorithm="HS512"),
        "namespaces that are none": signed(abi_namespaces="acme.billing"),
    }.items(),
    ids=lambda case: case[0],
)  # fmt: skip
def test_any_other_token_is_refused_with_one_text(token: tuple[str, str | None]) -> None:
    with pytest.raises(Unauthenticated) as caught:
        TokenVerifier(SECRET).verify(token[1])
    assert str(caught.value).startswith("the service token is missing, invalid or expired")
    assert not token[1] or token[1] not in str(caught.value)


def test_a_token_of_damaged_parts_is_refused_whatever_is_damaged() -> None:
    verifier, good = TokenVerifier(SECRET), signed()
    for position in range(len(good)):
        for character in ".A\n":
            if good[position] != character:
                damaged = good[:position] + character + good[position + 1 :]
                if base64_equal(damaged, good):
                    continue
                with pytest.raises(Unauthenticated):
                    verifier.verify(damaged)


def base64_equal(one: str, other: str) -> bool:
    """Whether only bits differ that base64 ignores: those after the last whole byte."""
    try:
        parts = [
            [base64.urlsafe_b64decode(part + "==") for part in token.split(".")]
            for token in (one, other)
        ]
    except ValueError:
        return False
    return parts[0] == parts[1]


def test_tokens_of_the_published_packages_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    # Their tokens were issued at a fixed time; only the signature can be looked at now.
    for name in ("module_core", "module_sdk"):
        key = module_key(VECTORS["secret"], VECTORS["module_id"])
        assert key == VECTORS["module_key"]
        options = {"verify_exp": False}
        decoded = jwt.decode(VECTORS[name], key, algorithms=["HS256"], options=options)
        assert decoded["sub"] == VECTORS["module_id"]
        with pytest.raises(Unauthenticated):
            TokenVerifier(VECTORS["secret"]).verify(VECTORS[name])  # it has expired


def reach(verifier: TokenVerifier, token: str) -> frozenset[str] | None:
    return verifier.verify(token).namespaces


def test_what_a_token_claims_is_kept_to_and_never_widens_a_module() -> None:
    now = int(time.time())

    def of(identity: str, key: str, namespaces: list[str] | None, kid: str | None = None) -> str:
        return sign(identity, key, issued_at=now, key_id=kid, namespaces=namespaces)

    free, strict = TokenVerifier(SECRET), TokenVerifier(SECRET, own_namespace_only=True)
    cases: list[tuple[str, set[str] | None, set[str] | None]] = [
        (of(MODULE, KEY, None, "module"), None, {MODULE}),
        (of(MODULE, KEY, [MODULE, "x"], "module"), {MODULE, "x"}, {MODULE}),
        (of(MODULE, KEY, ["x"], "module"), {"x"}, set()),
        (of(MODULE, KEY, [], "module"), set(), set()),
        (of(MODULE, SECRET, None), None, {MODULE}),
        (of(MODULE, SECRET, ["x"]), {"x"}, {"x"}),
        (of("engine", SECRET, None), None, None),
        (of("engine", SECRET, ["x"]), {"x"}, {"x"}),
    ]
    for token, freely, strictly in cases:
        assert reach(free, token) == freely
        assert reach(strict, token) == strictly


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Tokens whose signatures were looked at, in order."""
    found: list[str] = []
    decode = jwt.decode

    def noting(token: str, *arguments: Any, **named: Any) -> Any:
        if "options" not in named or named["options"].get("verify_signature", True):
            found.append(token)
        return decode(token, *arguments, **named)

    monkeypatch.setattr(jwt, "decode", noting)
    return found


def test_a_token_is_verified_once_and_another_text_again(decoded: list[str]) -> None:
    verifier = TokenVerifier(SECRET)
    token = ModuleToken(MODULE, KEY).token()
    for _ in range(3):
        assert verifier.verify(token) == Caller(MODULE)
    assert decoded == [token]
    for forged in (f"{token[:-2]}xx", f" {token}", f"{token}A"):
        with pytest.raises(Unauthenticated):
            verifier.verify(forged)
    assert TokenVerifier(SECRET + "x").verify(ServiceToken("api", SECRET + "x").token())
    with pytest.raises(Unauthenticated):
        TokenVerifier(SECRET + "x").verify(token)


def test_a_remembered_token_expires_all_the_same() -> None:
    verifier = TokenVerifier(SECRET)
    expires = int(time.time()) - 8
    token = signed(iat=1, exp=expires)
    assert verifier.verify(token) == verifier.verify(token) == Caller(MODULE)
    end = expires + 10  # as much as clocks may differ by
    while time.time() < end:
        time.sleep(0.01)
    with pytest.raises(Unauthenticated):
        verifier.verify(token)


def test_a_clock_that_is_set_back_has_a_token_verified_again(
    decoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = TokenVerifier(SECRET)
    token = ModuleToken(MODULE, KEY).token()
    verifier.verify(token)
    now = time.time()
    monkeypatch.setattr(tokens, "time", lambda: now - 60)
    verifier.verify(token)
    assert decoded == [token, token]


def test_no_caller_fills_the_memory_with_tokens(
    decoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_REMEMBERED", 2)
    verifier = TokenVerifier(SECRET)
    first, second, third = (signed(jti=name) for name in "abc")
    for token in (first, second, third, third, second, first):
        verifier.verify(token)
    assert decoded == [first, second, third, first]
    large = signed(jti="x" * 5000)
    verifier.verify(large)
    verifier.verify(large)
    assert decoded[-2:] == [large, large]


def test_a_caller_is_told_which_namespace_it_does_not_reach() -> None:
    Caller(MODULE).check_reach("any")
    Caller(MODULE, frozenset((MODULE,))).check_reach(MODULE)
    with pytest.raises(PermissionDenied, match=r"'acme\.billing' does not .* 'other'"):
        Caller(MODULE, frozenset((MODULE,))).check_reach("other")
