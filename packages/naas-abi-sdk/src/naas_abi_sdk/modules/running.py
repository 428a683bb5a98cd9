"""The process of a module: connects, builds its agents, takes turns, and ends in order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.connecting import BrokerSettings
from naas_abi_sdk.errors import ABIError, InvalidArgument
from naas_abi_sdk.modules.declaring import BaseModule, agent_memory_id
from naas_abi_sdk.modules.hosting import AgentHost, HostedAgent, HostingLimits
from naas_abi_sdk.tokens import module_key_from_env, token_from_env

__all__ = ["run_module", "running_module"]

_log = logging.getLogger(__name__)

_URL: Final = "ABI_NATS_URL"


def run_module(
    module: type[BaseModule],
    settings: BrokerSettings | str | None = None,
    *,
    limits: HostingLimits | None = None,
) -> None:
    """Run a module until SIGTERM or Ctrl-C: the ``main`` of its process.

    The turns that were accepted end first; a second signal ends the process at once.

    Args:
        module: Its class.
        settings: Where the broker is; its url from ``ABI_NATS_URL`` when None.
        limits: What bounds its turns.

    Raises:
        SystemExit: it cannot start; the text says why.
    """
    try:
        asyncio.run(_run(module, settings, limits))
    except ABIError as error:
        message = f"the module {module.module_id or module.__name__} cannot run: {error}"
        raise SystemExit(message) from error


async def _run(
    module: type[BaseModule],
    settings: BrokerSettings | str | None,
    limits: HostingLimits | None,
) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def ask() -> None:
        asked.set()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, ask)
    async with running_module(module, settings, limits=limits) as running:
        names = ", ".join(agent.name for agent in running.agents) or "no agents"
        print(f"{running.module_id} is ready: {names}", flush=True)  # noqa: T201 -- whoever started it waits for this
        await asked.wait()


@asynccontextmanager
async def running_module(
    module: type[BaseModule],
    settings: BrokerSettings | str | None = None,
    *,
    limits: HostingLimits | None = None,
) -> AsyncIterator[BaseModule]:
    """The module, taking turns inside; for a process that does other things too.

    Raises:
        InvalidArgument: there is no broker's url, or what the module declares cannot be run.
        Unauthenticated: there is no key of the module, or the broker refuses the login.
        Unavailable: the broker cannot be reached.
    """
    broker = _settings(settings)
    module_id = module.module_id
    if not module_id:
        message = f"{module.__name__}.module_id is not set; give it the module's dotted name"
        raise InvalidArgument(message)
    async with ABIClient(module_id, broker, token=token_from_env(module_id)) as client:
        running = module(client)
        await running.on_initialized()
        try:
            host = _host(running, limits or HostingLimits())
            if host is not None:
                await host.start(broker)
            try:
                yield running
            finally:
                if host is not None:
                    await host.stop()
        finally:
            await running.on_unloaded()


def _host(module: BaseModule, limits: HostingLimits) -> AgentHost | None:
    if not module.agents:
        return None
    from naas_abi_sdk.langgraph import DocumentCheckpointSaver

    hosted: dict[str, HostedAgent] = {}
    for agent in module.agents:
        if agent.name in hosted:
            message = f"the module {module.module_id} declares two agents {agent.name!r}"
            raise InvalidArgument(message)
        memory_id = agent_memory_id(module.module_id, agent.name, agent.memory_version)
        saver = DocumentCheckpointSaver(module.documents, agent_id=memory_id)
        graph = agent.build(saver)
        if getattr(graph, "checkpointer", None) is not saver:
            message = (
                f"the graph of agent {agent.name!r} does not use the checkpointer it was given; "
                "return builder.compile(checkpointer=checkpointer)"
            )
            raise InvalidArgument(message)
        hosted[agent.name] = HostedAgent(agent, graph)
    return AgentHost(module.module_id, module_key_from_env(module.module_id), hosted, limits)


def _settings(settings: BrokerSettings | str | None) -> BrokerSettings:
    if isinstance(settings, BrokerSettings):
        return settings
    url = settings or os.environ.get(_URL, "").strip()
    if not url:
        message = f"{_URL} is not set: put the broker's url into it, such as nats://host:4222"
        raise InvalidArgument(message)
    return BrokerSettings(url)
