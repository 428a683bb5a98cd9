"""Service tokens: the golden ones, when they are signed anew, where they come from."""

from __future__ import annotations

import json
from pathlib import Path

import jwt
import pytest

from naas_abi_sdk import tokens
from naas_abi_sdk.errors import Unauthenticated
from naas_abi_sdk.tokens import (
    MODULE_KEY_ID,
    GivenToken,
    ModuleToken,
    ServiceToken,
    module_key,
    sign,
    token_from_env,
)

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "interop.json").read_text("utf-8"))
GOLDEN = VECTORS["tokens"]
SECRET = GOLDEN["secret"]


def claims(token, key=SECRET):
    return jwt.decode(token, key, algorithms=["HS256"], options={"verify_exp": False})


def test_the_key_of_a_module_is_the_golden_one():
    assert module_key(SECRET, GOLDEN["module_id"]) == GOLDEN["module_key"]


def test_tokens_are_the_golden_ones():
    at = GOLDEN["issued_at"]
    assert sign("engine", SECRET, issued_at=at) == GOLDEN["service_engine"]
    key = GOLDEN["module_key"]
    signed = sign(GOLDEN["module_id"], key, issued_at=at, key_id=MODULE_KEY_ID)
    assert signed == GOLDEN["module_sdk"] == GOLDEN["module_core"]


def test_a_token_is_used_for_half_its_life_and_then_signed_anew(monkeypatch):
    now = [1_000_000.0]
    monkeypatch.setattr(tokens.time, "time", lambda: now[0])
    source = ServiceToken("engine", SECRET)
    first = source.token()
    now[0] += 1799
    assert source.token() == first
    now[0] += 2
    second = source.token()
    assert second != first
    assert claims(second)["exp"] == 1_000_000 + 1801 + 3600
    now[0] -= 10_000
    assert claims(source.token())["iat"] <= now[0], "the clock was set back"


def test_a_token_allows_for_a_verifier_whose_clock_is_behind(monkeypatch):
    monkeypatch.setattr(tokens.time, "time", lambda: 1_000_000.0)
    issued = claims(ServiceToken("engine", SECRET).token())
    assert issued == {"sub": "engine", "iat": 1_000_000 - 30, "exp": 1_000_000 + 3600}


def test_a_token_can_be_narrowed_to_namespaces():
    token = ModuleToken("acme.chat", "k" * 43, namespaces=("acme.chat",)).token()
    assert claims(token, "k" * 43)["abi_namespaces"] == ["acme.chat"]
    assert jwt.get_unverified_header(token)["kid"] == "module"


def test_the_module_key_of_the_environment_wins_over_a_token():
    key = module_key(SECRET, "acme.chat")
    both = {"ABI_MODULE_KEY": key, "ABI_SERVICE_TOKEN": "given"}
    source = token_from_env("acme.chat", both)
    assert isinstance(source, ModuleToken)
    assert claims(source.token(), key)["sub"] == "acme.chat"
    given = token_from_env("acme.chat", {"ABI_SERVICE_TOKEN": " given "})
    assert isinstance(given, GivenToken)
    assert given.token() == "given"
    with pytest.raises(Unauthenticated, match="abi module key acme"):
        token_from_env("acme.chat", {"ABI_MODULE_KEY": ""})


def test_an_identity_and_a_key_are_needed():
    with pytest.raises(Unauthenticated, match="empty"):
        ModuleToken("", "key")
    with pytest.raises(Unauthenticated, match="empty"):
        ServiceToken("engine", "")
