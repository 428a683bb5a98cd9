"""Turns with agents of a module over a real broker, and everything that may go wrong with them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.connecting import BrokerSettings, open_connection
from naas_abi_sdk.errors import (
    DeadlineExceeded,
    InvalidArgument,
    NobodyServes,
    PayloadTooLarge,
    PermissionDenied,
    RPCError,
    Unauthenticated,
    Unavailable,
)
from naas_abi_sdk.langgraph import DocumentCheckpointSaver
from naas_abi_sdk.modules import calling, hosting, sending
from naas_abi_sdk.modules.bound_tokens import bound_token
from naas_abi_sdk.modules.calling import AgentCaller, FoundAgent
from naas_abi_sdk.modules.declaring import AgentDescriptor, BaseModule, ModuleDependencies
from naas_abi_sdk.modules.hosting import HostingLimits
from naas_abi_sdk.modules.running import running_module
from naas_abi_sdk.modules.subjects import turn_subject
from naas_abi_sdk.proto.turns.v1 import turns_pb2 as proto
from naas_abi_sdk.subjects import TOKEN_HEADER
from naas_abi_sdk.testing import MemoryDocuments
from naas_abi_sdk.tokens import ModuleToken, module_key
from tests.support.hosted_documents import SECRET, serving
from tests.support.nats_server import NatsServer, nats_server

MODULE = "acme.support"
FULL_NAME = "acme.support.helper"
MAX_PAYLOAD = 64 * 1024

#: What the node of a running test waits for, and what it tells that it has begun.
go_on = threading.Event()
begun = threading.Event()


async def reply(state: MessagesState) -> dict[str, Any]:
    """Does what the last message says."""
    said = [str(message.text) for message in state["messages"] if message.type == "human"]
    match said[-1].split(maxsplit=1):
        case ["wait"]:
            begun.set()
            while not go_on.is_set():  # noqa: ASYNC110 -- a thread sets it
                await asyncio.sleep(0.01)
            return {"messages": [AIMessage("waited")]}
        case ["fail"]:
            raise ValueError("the password is hunter2")
        case ["long", size]:
            return {"messages": [AIMessage("é" * int(size))]}
        case ["ask", question]:
            return {"messages": [AIMessage(f"you answered {interrupt(question)}")]}
        case ["surrogate"]:
            return {"messages": [AIMessage("\ud800!")]}
        case ["tool"]:
            call = {"id": "c-1", "name": "roll", "args": {"sides": 6}}
            return {
                "messages": [
                    AIMessage("", tool_calls=[call]),
                    ToolMessage("4 of 6", tool_call_id="c-1", name="roll"),
                    AIMessage("a four"),
                ]
            }
        case ["call"]:
            call = {"id": "c-2", "name": "roll", "args": {}}
            return {"messages": [AIMessage("", tool_calls=[call])]}
    roles = " ".join(f"{message.type}:{message.text}" for message in state["messages"])
    return {"messages": [AIMessage(f"heard {roles}")]}


def build(checkpointer: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("reply", reply)
    builder.add_edge(START, "reply")
    return builder.compile(checkpointer=checkpointer)


class Support(BaseModule):
    module_id = MODULE
    dependencies = ModuleDependencies(services=("document",))
    agents = (AgentDescriptor("helper", "Helps.", build),)


class Other(Support):
    module_id = "acme.other"


@pytest.fixture(scope="module")
def broker() -> Iterator[NatsServer]:
    with nats_server(max_payload=MAX_PAYLOAD) as server:
        yield server


@pytest.fixture
def store() -> MemoryDocuments:
    return MemoryDocuments()


Run = Callable[..., Any]


@pytest.fixture
def engine(
    broker: NatsServer, store: MemoryDocuments, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Serves documents; this process has the module's key."""
    monkeypatch.setenv("ABI_MODULE_KEY", module_key(SECRET, MODULE))
    go_on.clear()
    begun.clear()
    with serving(broker.url, store, own_namespace_only=True):
        yield
    go_on.set()


@pytest.fixture
def with_module(broker: NatsServer, engine: None) -> Run:
    """Runs ``test(caller, agent)`` while the module takes turns."""

    def run(
        test: Callable[[AgentCaller, FoundAgent], Awaitable[Any]],
        limits: HostingLimits | None = None,
    ) -> Any:
        async def under_way() -> Any:
            async with (
                running_module(Support, broker.url, limits=limits),
                AgentCaller(BrokerSettings(broker.url), SECRET) as caller,
            ):
                return await test(caller, await caller.find(FULL_NAME))

        return asyncio.run(asyncio.wait_for(under_way(), 60))

    return run


async def events(caller: AgentCaller, agent: FoundAgent, text: str, **more: Any) -> list[Any]:
    more.setdefault("thread_id", "t")
    return [event async for event in caller.turn(agent, text=text, **more)]


async def said(caller: AgentCaller, agent: FoundAgent, text: str, **more: Any) -> str:
    return "".join(event.piece.text for event in await events(caller, agent, text, **more))


async def has_begun() -> None:
    assert await asyncio.to_thread(begun.wait, 30)


def test_an_agent_is_found_by_its_name_and_its_full_name(with_module: Run) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        assert (agent.module_id, agent.name, agent.description) == (MODULE, "helper", "Helps.")
        assert await caller.find("helper") == agent
        for nobody in ("", "acme.other.helper"):
            with pytest.raises(NobodyServes, match=f"has an agent '{nobody}'"):
                await caller.find(nobody)

    with_module(test)


def test_a_thread_goes_on_and_threads_are_apart(with_module: Run) -> None:
    async def first(caller: AgentCaller, agent: FoundAgent) -> None:
        assert await said(caller, agent, "one") == "heard human:one"
        assert await said(caller, agent, "two", thread_id="u") == "heard human:two"

    async def then(caller: AgentCaller, agent: FoundAgent) -> None:
        assert (
            await said(caller, agent, "three") == "heard human:one ai:heard human:one human:three"
        )

    with_module(first)
    with_module(then)


def test_tools_are_told_as_they_happen(with_module: Run) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        told = await events(caller, agent, "tool")
        assert [event.sequence for event in told] == list(range(len(told)))
        (call,) = [event.tool_call for event in told if event.HasField("tool_call")]
        (result,) = [event.tool_result for event in told if event.HasField("tool_result")]
        assert (call.id, call.name, call.arguments) == ("c-1", "roll", '{"sides": 6}')
        assert (result.name, result.text, result.failed) == ("roll", "4 of 6", False)
        assert "".join(event.piece.text for event in told) == "a four"

    with_module(test)


def test_a_question_waits_for_its_answer_and_takes_no_text(with_module: Run) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        (asked,) = await events(caller, agent, "ask colour?")
        assert asked.question.text == "colour?"
        with pytest.raises(RPCError, match=r"QUESTION_OPEN: a question waits .* colour\?"):
            await said(caller, agent, "hello")

    async def later(caller: AgentCaller, agent: FoundAgent) -> None:
        turn = caller.turn(agent, "t", answer="blue")
        assert "".join([event.piece.text async for event in turn]) == "you answered blue"
        with pytest.raises(RPCError, match="CONFLICT: no question waits"):
            _ = [event async for event in caller.turn(agent, "t", answer="red")]

    with_module(test)
    with_module(later)


def test_a_tool_call_that_broke_off_is_answered_before_the_next_text(with_module: Run) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        await said(caller, agent, "call")
        assert "tool:The tool was interrupted" in await said(caller, agent, "hello")

    with_module(test)


@pytest.mark.parametrize("size", [8191, 8192, 8193, 300_000])
def test_a_reply_above_the_brokers_limit_arrives_whole(with_module: Run, size: int) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        assert await said(caller, agent, f"long {size}") == "é" * size

    with_module(test)


def test_text_above_the_brokers_limit_is_refused_before_it_is_sent(with_module: Run) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        with pytest.raises(PayloadTooLarge, match="above the 65536"):
            await said(caller, agent, "x" * MAX_PAYLOAD)
        assert await said(caller, agent, "still there") == "heard human:still there"

    with_module(test)


def test_an_agent_that_fails_ends_the_turn_and_tells_nothing_private(with_module: Run) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        with pytest.raises(RPCError, match="INTERNAL: the agent failed with ValueError") as failure:
            await said(caller, agent, "fail")
        assert "hunter2" not in str(failure.value)
        assert "human:hello" in await said(caller, agent, "hello")

    with_module(test)


def test_text_that_is_not_utf8_is_sent_as_its_escape(with_module: Run) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        assert await said(caller, agent, "surrogate") == "\\ud800!"
        assert await said(caller, agent, "hello", thread_id="u") == "heard human:hello"

    with_module(test)


async def answer_to(agent: FoundAgent, url: str, body: bytes, token: str | None) -> Any:
    """The first event that a request by hand is answered with."""
    client = await open_connection(BrokerSettings(url), name="by hand")
    try:
        headers = None if token is None else {TOKEN_HEADER: token}
        inbox = client.new_inbox()
        replies = await client.subscribe(inbox)
        await client.publish(turn_subject(agent.instance), body, reply=inbox, headers=headers)
        message = await replies.next_msg(timeout=20)
        assert TOKEN_HEADER not in (message.headers or {})
        event: Any = proto.TurnEvent.FromString(message.data)
        return event
    finally:
        await client.close()


def test_only_tokens_for_this_process_are_taken(with_module: Run, broker: NatsServer) -> None:
    key = module_key(SECRET, MODULE)
    request = proto.TurnRequest(agent="helper", thread_id="t", text="hello").SerializeToString()

    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        tokens = {
            "none": None,
            "another module's": ModuleToken("acme.other", module_key(SECRET, "acme.other")).token(),
            "for services": ModuleToken(MODULE, key).token(),
            "for another process": bound_token("engine", key, "f" * 32),
            "another project's": bound_token("engine", module_key("other", MODULE), agent.instance),
        }
        for what, token in tokens.items():
            event = await answer_to(agent, broker.url, request, token)
            assert event.error.code == "UNAUTHENTICATED", what
        good = bound_token("engine", key, agent.instance)
        assert (await answer_to(agent, broker.url, request, good)).piece.text == "heard human:hello"

    with_module(test)


def test_requests_that_nobody_would_send_are_answered(with_module: Run, broker: NatsServer) -> None:
    requests = {
        b"\xff\xff": "no abi.turns.v1.TurnRequest",
        b"": "no agent ''",
        proto.TurnRequest(agent="x", thread_id="t", text="a").SerializeToString(): "no agent 'x'",
        proto.TurnRequest(agent="helper", text="a").SerializeToString(): "needs a thread_id",
        proto.TurnRequest(agent="helper", thread_id="t").SerializeToString(): "a text or an answer",
    }

    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        token = bound_token("engine", module_key(SECRET, MODULE), agent.instance)
        for body, told in requests.items():
            event = await answer_to(agent, broker.url, body, token)
            assert event.error.code == "INVALID_ARGUMENT"
            assert told in event.error.message

    with_module(test)


def test_a_thread_takes_one_turn_at_a_time_and_a_module_so_many(with_module: Run) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        waiting = asyncio.create_task(said(caller, agent, "wait"))
        await has_begun()
        with pytest.raises(RPCError, match="CONFLICT: thread 't' has a turn under way"):
            await said(caller, agent, "hello")
        second = asyncio.create_task(said(caller, agent, "wait", thread_id="u"))
        while len(hosting_busy()) < 2:  # noqa: ASYNC110 -- the module's own loop turns meanwhile
            await asyncio.sleep(0.01)
        with pytest.raises(RPCError, match="RESOURCE_EXHAUSTED: 2 turns are under way"):
            await said(caller, agent, "hello", thread_id="v")
        go_on.set()
        assert [await waiting, await second] == ["waited", "waited"]
        assert (await said(caller, agent, "hello")).startswith("heard human:wait")

    hosts: list[hosting.AgentHost] = []
    start = hosting.AgentHost.start

    async def noted(self: hosting.AgentHost, settings: BrokerSettings) -> None:
        hosts.append(self)
        await start(self, settings)

    def hosting_busy() -> set[tuple[str, str]]:
        return hosts[0]._busy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hosting.AgentHost, "start", noted)
        with_module(test, HostingLimits(max_turns=2))


@pytest.mark.parametrize("who", ["module", "caller"])
def test_a_turn_ends_within_its_time(with_module: Run, who: str) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        timeout = 0.5 if who == "caller" else 0
        with pytest.raises(DeadlineExceeded, match=r"took more than 0\.5 s"):
            await said(caller, agent, "wait", timeout=timeout)
        assert "human:hello" in await said(caller, agent, "hello")

    with_module(test, HostingLimits(turn_seconds=0.5 if who == "module" else 60))


def test_a_slow_turn_says_that_it_goes_on(
    with_module: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (hosting, sending):
        monkeypatch.setattr(module, "ALIVE_SECONDS", 0.1)
    monkeypatch.setattr(calling, "_SILENCE", 2.0)

    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        turn = asyncio.create_task(said(caller, agent, "wait"))
        await has_begun()
        await asyncio.sleep(3)
        go_on.set()
        assert await turn == "waited"

    with_module(test)


def test_a_module_that_is_silent_is_given_up(
    with_module: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "_SILENCE", 0.5)

    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        with pytest.raises(DeadlineExceeded, match=r"acme\.support\.helper has not been heard of"):
            await said(caller, agent, "wait")
        go_on.set()

    with_module(test)


def test_a_turn_whose_caller_has_gone_is_stored(with_module: Run) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        listening = asyncio.create_task(said(caller, agent, "wait"))
        await has_begun()
        listening.cancel()
        await asyncio.wait([listening])
        go_on.set()

    async def later(caller: AgentCaller, agent: FoundAgent) -> None:
        assert await said(caller, agent, "hello") == "heard human:wait ai:waited human:hello"

    with_module(test)
    with_module(later)


@pytest.mark.usefixtures("engine")
def test_a_module_that_stops_ends_its_turns_first(broker: NatsServer) -> None:
    async def test() -> str:
        async with AgentCaller(BrokerSettings(broker.url), SECRET) as caller:
            async with running_module(Support, broker.url):
                agent = await caller.find(FULL_NAME)
                turn = asyncio.create_task(said(caller, agent, "wait"))
                await has_begun()
                asyncio.get_running_loop().call_later(0.3, go_on.set)
            with pytest.raises(NobodyServes, match="has ended; start the module"):
                await said(caller, agent, "hello")
            return await turn

    assert asyncio.run(test()) == "waited"


@pytest.mark.usefixtures("engine")
def test_stopping_waits_so_long_and_says_why_a_turn_ended(broker: NatsServer) -> None:
    limits = HostingLimits(drain_seconds=0.2)

    async def test() -> None:
        async with AgentCaller(BrokerSettings(broker.url), SECRET) as caller:
            async with running_module(Support, broker.url, limits=limits):
                agent = await caller.find(FULL_NAME)
                turn = asyncio.create_task(said(caller, agent, "wait"))
                await has_begun()
            with pytest.raises(Unavailable, match="the module stopped before the turn ended"):
                await turn

    asyncio.run(test())


def test_a_broker_that_was_killed_is_served_again(
    store: MemoryDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABI_MODULE_KEY", module_key(SECRET, MODULE))

    async def once(server: NatsServer, text: str) -> str:
        async with AgentCaller(BrokerSettings(server.url), SECRET) as caller:
            deadline = asyncio.get_running_loop().time() + 30
            while True:
                try:
                    return await said(caller, await caller.find(FULL_NAME), text)
                except NobodyServes:
                    assert asyncio.get_running_loop().time() < deadline

    async def test(server: NatsServer) -> None:
        async with running_module(Support, server.url):
            assert await once(server, "one") == "heard human:one"
            await asyncio.to_thread(server.restart)
            assert (await once(server, "two")).endswith("human:two")

    with nats_server() as server, serving(server.url, store):
        asyncio.run(test(server))


@pytest.mark.parametrize("pause", [0.0, 0.6])
def test_a_module_stops_without_its_broker(monkeypatch: pytest.MonkeyPatch, pause: float) -> None:
    monkeypatch.setenv("ABI_MODULE_KEY", module_key(SECRET, MODULE))

    async def test(server: NatsServer) -> float:
        async with running_module(Support, server.url):
            server.stop()
            await asyncio.sleep(pause)
            started = asyncio.get_running_loop().time()
        return asyncio.get_running_loop().time() - started

    with nats_server() as server:
        assert asyncio.run(test(server)) < 15


def test_events_lost_on_their_way_are_noticed(
    with_module: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = sending.EventSender._publish

    async def losing(self: sending.EventSender, event: Any) -> None:
        if event.HasField("tool_call"):
            self._sequence += 1
            return
        await publish(self, event)

    monkeypatch.setattr(sending.EventSender, "_publish", losing)

    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        with pytest.raises(Unavailable, match="were lost on their way"):
            await said(caller, agent, "tool")

    with_module(test)


def test_who_does_not_hold_the_modules_key_is_not_talked_to(
    with_module: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABI_MODULE_KEY", module_key(SECRET, "acme.other"))
    with pytest.raises(Unauthenticated, match=r"answers as module acme\.support does not hold"):
        with_module(None)


def test_an_answer_that_proves_nothing_does_not_hide_the_module(
    with_module: Run, broker: NatsServer
) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        client = await open_connection(BrokerSettings(broker.url), name="impostor")
        answers = [
            b"\xff\xff",
            proto.FindResponse(module_id=MODULE, agent="helper", instance="i").SerializeToString(),
        ]

        async def pretend(message: Any) -> None:
            for answer in answers:
                await client.publish(message.reply, answer)

        await client.subscribe("abi.agents.v1.find", cb=pretend)
        await client.flush()
        assert await caller.find("helper") == agent
        await client.close()

    with_module(test)


def test_two_modules_with_an_agent_of_one_name_are_told_apart(
    with_module: Run, broker: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        monkeypatch.setenv("ABI_MODULE_KEY", module_key(SECRET, "acme.other"))
        async with running_module(Other, broker.url):
            names = r"acme\.other\.helper or acme\.support\.helper"
            with pytest.raises(InvalidArgument, match=names):
                await caller.find("helper")
            other = await caller.find("acme.other.helper")
            assert await said(caller, agent, "secret") == "heard human:secret"
            assert await said(caller, other, "hello") == "heard human:hello"

    with_module(test)


def test_the_memory_of_a_module_is_out_of_anothers_reach(
    with_module: Run, broker: NatsServer
) -> None:
    async def test(caller: AgentCaller, agent: FoundAgent) -> None:
        await said(caller, agent, "secret")
        thread: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        for identity, found in ((MODULE, True), ("acme.other", False)):
            token = ModuleToken(identity, module_key(SECRET, identity))
            async with ABIClient(MODULE, broker.url, token=token) as client:
                saver = DocumentCheckpointSaver.for_agent(client, "helper")
                if found:
                    assert await saver.aget_tuple(thread) is not None
                    continue
                with pytest.raises(PermissionDenied, match="does not reach namespace"):
                    await saver.aget_tuple(thread)

    with_module(test)


def test_a_graph_without_the_memory_it_was_given_is_refused(with_module: Run) -> None:
    descriptor = AgentDescriptor("helper", "", lambda saver: build(None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Support, "agents", (descriptor,))
        with pytest.raises(InvalidArgument, match="does not use the checkpointer"):
            with_module(None)


def test_a_login_that_may_not_listen_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABI_MODULE_KEY", module_key(SECRET, MODULE))
    user = {"user": "m", "password": "p", "permissions": {"subscribe": {"deny": ["abi.agents.>"]}}}

    async def start(url: str) -> None:
        async with running_module(Support, url):
            pass

    with nats_server(authorization={"users": [user]}) as server:
        url = server.url.replace("//", "//m:p@")
        with pytest.raises(PermissionDenied, match=r"(?i)permissions violation.*abi\.agents"):
            asyncio.run(start(url))
