"""``abi dev`` and ``abi engine run`` serve modules elsewhere, and end in every way they may."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.document.types import CollectionSpec
from naas_abi_sdk.tokens import ModuleToken, module_key
from tests.cli.conftest import Abi
from tests.support.commands import Running, running
from tests.support.nats_server import NatsServer, nats_server

MODULE = "acme.billing"
SECRET = "a secret of at least thirty-two characters"


async def stored_and_read(url: str, key: str) -> Any:
    token = ModuleToken(MODULE, key)
    async with ABIClient(MODULE, url, token=token) as client:
        await client.documents.ensure_collection(CollectionSpec("notes"))
        await client.documents.put("notes", "n", {"text": "x" * 100})
        return (await client.documents.get("notes", "n")).data


def check_serves(variables: dict[str, str]) -> None:
    found = asyncio.run(stored_and_read(variables["ABI_NATS_URL"], variables["ABI_MODULE_KEY"]))
    assert found == {"text": "x" * 100}


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.fixture
def dev(project: Path) -> Iterator[Running]:
    with running(project, "dev", "--module", MODULE) as command:
        yield command


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_dev_serves_a_module_and_ends_with_its_broker(dev: Running, number: int) -> None:
    children = family(dev.process)
    assert "nats-server" in [child.name() for child in children]
    check_serves(dev.said["modules"][MODULE])
    code, said = dev.end(number)
    assert (code, said) == (0, "Stopping: what was accepted is answered first.\n")
    assert all(has_ended(child) for child in children)


#: Waits to be asked to end by the end of its parent, and says who it is.
WAITING = """
import os
from naas_abi_cli.stopping import stop_signals
with stop_signals() as stop:
    print(os.getpid(), flush=True)
    stop.wait(with_parent=True)
"""

#: Starts that, and ends when it has begun.
STARTING = """
import subprocess, sys
process = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
print(process.stdout.readline().decode())
"""


def test_dev_ends_with_the_process_that_started_it() -> None:
    command = [sys.executable, "-c", STARTING, WAITING]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    pid = int(answer.stdout)
    until(lambda: not psutil.pid_exists(pid) or has_ended(psutil.Process(pid)))


@pytest.fixture
def broker() -> Iterator[NatsServer]:
    with nats_server() as server:
        yield server


def add_nats(project: Path, url: str) -> None:
    with (project / "config.yaml").open("a") as file:
        file.write(f"nats:\n  nats_url: {url}\n  jwt_secret: {{secret: NATS_JWT_SECRET}}\n")


def test_an_engine_serves_at_the_configured_broker(project: Path, broker: NatsServer) -> None:
    add_nats(project, broker.url)
    variables = {"ABI_NATS_URL": broker.url, "ABI_MODULE_KEY": module_key(SECRET, MODULE)}
    with running(project, "engine", "run", NATS_JWT_SECRET=SECRET) as command:
        assert command.said == {"broker": broker.url}
        check_serves(variables)
        code, said = command.end(signal.SIGTERM)
        assert (code, said) == (0, "Stopping: what was accepted is answered first.\n")


@pytest.mark.slow
def test_dev_starts_no_broker_where_one_is_configured(project: Path, broker: NatsServer) -> None:
    add_nats(project, broker.url)
    variables = {"ABI_NATS_URL": broker.url, "ABI_MODULE_KEY": module_key(SECRET, MODULE)}
    with running(project, "dev", "--module", MODULE, NATS_JWT_SECRET=SECRET) as command:
        assert command.said == {"broker": broker.url, "modules": {MODULE: variables}}
        assert family(command.process) == []
        assert command.end(signal.SIGINT)[0] == 0


def test_other_commands_need_no_broker(
    project: Path, abi: Abi, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_nats(project, "nats://127.0.0.1:1")
    monkeypatch.setenv("NATS_JWT_SECRET", SECRET)
    assert abi("chat", "Hello", "--thread", "t").code == 0
    assert abi("thread", "list", "--json").json[0]["thread_id"] == "t"


def test_an_engine_without_a_broker_says_what_to_do(project: Path, abi: Abi) -> None:
    ended = abi("engine", "run")
    assert ended.code == 2
    assert "'nats' is not configured" in ended.err
    assert "abi dev" in ended.err


def test_a_broker_that_cannot_be_reached_ends_the_command(
    project: Path, abi: Abi, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_nats(project, "nats://127.0.0.1:1\n  client_timeout_seconds: 0.3")
    monkeypatch.setenv("NATS_JWT_SECRET", SECRET)
    ended = abi("engine", "run", "--json")
    assert ended.code == 1
    assert "127.0.0.1:1 cannot be reached" in json.loads(ended.out)["error"]["what"]


def test_the_key_of_a_module(project: Path, abi: Abi, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = abi("module", "key", MODULE)
    assert ended.code == 2
    assert "no nats.jwt_secret" in ended.err
    add_nats(project, "nats://127.0.0.1:1")
    monkeypatch.setenv("NATS_JWT_SECRET", SECRET)
    assert abi("module", "key", MODULE).out == module_key(SECRET, MODULE) + "\n"
    found = abi("module", "key", MODULE, "--json").json
    assert found == {"module": MODULE, "key": module_key(SECRET, MODULE)}
    for wrong in ("", "engine", "api", "\udcff"):
        ended = abi("module", "key", wrong)
        assert ended.code == 2, wrong
        assert SECRET not in ended.err
