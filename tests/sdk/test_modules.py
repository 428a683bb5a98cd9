"""What a module declares, and tokens that are good for one receiver."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.errors import InvalidArgument, Unauthenticated
from naas_abi_sdk.modules.bound_tokens import bound_token, identity_in
from naas_abi_sdk.modules.declaring import (
    AgentDescriptor,
    BaseModule,
    ModuleDependencies,
    agent_memory_id,
)
from naas_abi_sdk.modules.running import run_module
from naas_abi_sdk.tokens import GivenToken, ModuleToken, module_key, sign

SECRET = "a secret of at least thirty-two characters"
KEY = module_key(SECRET, "acme.support")


class Silent(BaseModule):
    module_id = "acme.support"


def test_the_memory_of_an_agent_is_called_as_published_peers_call_it():
    assert agent_memory_id("acme.module", "Bot") == "acme.module.Bot.v1"
    assert agent_memory_id("acme.module", "Bot", 2) == "acme.module.Bot.v2"


def test_a_module_reaches_the_services_it_declares_and_no_others():
    client = ABIClient("acme.support", "nats://127.0.0.1:1", token=GivenToken("t"))
    with pytest.raises(InvalidArgument, match="does not declare the document service"):
        _ = Silent(client).documents
    with pytest.raises(InvalidArgument, match="no service 'mail'"):
        ModuleDependencies(services=("document", "mail"))

    class Remembering(Silent):
        dependencies = ModuleDependencies(services=("document",))

    assert Remembering(client).documents is client.documents


@pytest.mark.parametrize("name", ["", "a.b", "a b", "é", "a" * 129, "a>", "a\n"])
def test_an_agent_has_a_name_that_every_side_can_use(name):
    with pytest.raises(InvalidArgument, match="cannot be an agent's name"):
        AgentDescriptor(name, "", lambda saver: saver)


def test_a_bound_token_names_its_caller_to_its_receiver():
    assert identity_in(bound_token("engine", KEY, "here"), KEY, "here") == "engine"


@pytest.mark.parametrize(
    "token",
    [
        None,
        "",
        "x.y.z",
        bound_token("engine", KEY, "elsewhere"),
        bound_token("engine", module_key(SECRET, "acme.other"), "here"),
        bound_token("engine", SECRET, "here"),
        ModuleToken("acme.support", KEY).token(),
        sign("engine", KEY, issued_at=int(time.time()) - 4000, audience="here"),
        sign("engine", KEY, issued_at=int(time.time()) + 4000, audience="here"),
        sign("", KEY, issued_at=int(time.time()), audience="here"),
    ],
)
def test_any_other_token_is_refused(token):
    with pytest.raises(Unauthenticated, match="token of a turn"):
        identity_in(token, KEY, "here")


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, "ABI_NATS_URL is not set"),
        ({"ABI_NATS_URL": "nats://127.0.0.1:1"}, "neither ABI_MODULE_KEY nor ABI_SERVICE_TOKEN"),
        ({"ABI_NATS_URL": "http://x", "ABI_MODULE_KEY": "k"}, "url must be like"),
    ],
)
def test_a_process_that_cannot_start_says_what_is_missing(variables, told, monkeypatch):
    for name in ("ABI_NATS_URL", "ABI_MODULE_KEY", "ABI_SERVICE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match=told) as ended:
        run_module(Silent)
    assert str(ended.value).startswith("the module acme.support cannot run: ")


def test_the_names_of_a_module_load_neither_the_broker_nor_langgraph():
    script = (
        "import sys; from naas_abi_sdk import AgentDescriptor, BaseModule, run_module\n"
        "print(sorted({'nats', 'jwt', 'langgraph', 'langchain_core'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "[]\n"
