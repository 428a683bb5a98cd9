"""The asynchronous saver over a real broker: LangGraph's contract, and where it may be called."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections import Counter
from uuid import uuid4

import pytest

from naas_abi_sdk import langgraph
from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.errors import DocumentStorageError, RunLeaseConflict, Unavailable
from naas_abi_sdk.langgraph import DocumentCheckpointSaver
from naas_abi_sdk.langgraph_documents import LEASES, TOMBSTONES
from naas_abi_sdk.tokens import GivenToken
from tests.contracts.savers import STEP, SaverContract, Sync, numbers
from tests.support.checkpoints import checkpoint_id, config, make_checkpoint
from tests.support.loop_thread import InLoop, LoopThread
from tests.support.nats_peers import DocumentPeer, connected
from tests.support.nats_server import nats_server

TOKEN = GivenToken("t")


class Home:
    """A loop in a thread of its own, with a service and a client of it in the loop."""

    def __init__(self, url):
        self._url = url
        self._thread = LoopThread()
        self._connection = connected(url)

    def __enter__(self):
        self._thread.__enter__()
        self.run = self._thread.run
        self.client = ABIClient("acme.chat", self._url, token=TOKEN)
        self.peer = self.run(DocumentPeer(self.run(self._connection.__aenter__())).start())
        return self

    def __exit__(self, *_):
        self.run(self.client.close())
        self.run(self._connection.__aexit__(None, None, None))
        self._thread.__exit__()

    def calls(self, saver):
        return InLoop(saver, self._thread)


@pytest.fixture
def home(broker):
    with Home(broker.url) as home:
        yield home


@pytest.fixture(scope="module")
def shared():
    """A service for many tests, on its own broker: else it would answer for ``home``'s."""
    with nats_server(max_payload=64 * 1024) as server, Home(server.url) as home:
        yield home


class TestSaver(SaverContract):
    @pytest.fixture
    def saver(self, shared):
        saver = DocumentCheckpointSaver.for_agent(shared.client, uuid4().hex)
        shared.run(saver.setup())
        return saver

    @pytest.fixture(params=["other-thread", "in-loop"])
    def calls(self, request, saver, shared):
        return Sync(saver) if request.param == "other-thread" else shared.calls(saver)


def test_agents_and_modules_do_not_see_each_other(home):
    first = DocumentCheckpointSaver.for_agent(home.client, "first")
    second = DocumentCheckpointSaver.for_agent(home.client, "second")
    home.calls(first).put(config(), make_checkpoint(1, {"a": 1}))
    assert home.calls(second).get_tuple(config()) is None
    assert home.run(first.athread_ids()) == ["t-1"]
    assert home.run(first.acontains(config()))
    assert not home.run(second.acontains(config()))
    assert len(home.run(first.alineage(config()))) == 1
    (stored,) = home.peer.store.snapshot()["acme.chat"]["langgraph_checkpoints_v2"].values()
    assert '"agent_id":"acme.chat.first.v1"' in stored


def test_a_turn_costs_few_round_trips(home, monkeypatch):
    trips = Counter()
    perform = langgraph.aperform

    async def counted(documents, command):
        trips[type(command).__name__] += 1
        return await perform(documents, command)

    monkeypatch.setattr(langgraph, "aperform", counted)
    saver = DocumentCheckpointSaver.for_agent(home.client, "support")
    home.run(saver.setup())
    calls = home.calls(saver)
    messages = [f"message {number} " * 200 for number in range(100)]
    at = calls.put(config(), make_checkpoint(1, {"messages": messages}))
    trips.clear()
    home.peer.calls.clear()
    calls.put(at, make_checkpoint(2, {"messages": [*messages, "one more" * 200]}))
    assert sum(trips.values()) <= 2
    assert len(home.peer.calls) <= 2, home.peer.calls
    fresh = home.calls(DocumentCheckpointSaver.for_agent(home.client, "support"))
    trips.clear()
    assert len(fresh.get_tuple(config()).checkpoint["channel_values"]["messages"]) == 101
    assert sum(trips.values()) <= 5


SYNC_CALLS = {
    "put": lambda saver: saver.put(config(), make_checkpoint(1, {}), STEP, {}),
    "put_writes": lambda saver: saver.put_writes(config(number=1), [("c", 1)], "task"),
    "get_tuple": lambda saver: saver.get_tuple(config()),
    "get": lambda saver: saver.get(config()),
    "list": lambda saver: saver.list(config()),
    "delete_thread": lambda saver: saver.delete_thread("t-1"),
    "get_delta_channel_history": lambda saver: saver.get_delta_channel_history(
        config=config(), channels=["c"]
    ),
}


@pytest.mark.parametrize("name", SYNC_CALLS)
def test_a_sync_call_in_the_loop_is_refused_and_names_the_async_one(home, name):
    """C094."""
    saver = DocumentCheckpointSaver.for_agent(home.client, "support")

    async def call():
        SYNC_CALLS[name](saver)

    named = "aget_tuple" if name == "get" else f"a{name}"
    with pytest.raises(asyncio.InvalidStateError, match=rf"await {named}\(\)"):
        home.run(call())


def test_a_sync_call_before_any_loop_says_what_is_missing(home):
    saver = DocumentCheckpointSaver.for_agent(home.client, "support")
    with pytest.raises(RuntimeError, match=r"await setup\(\)"):
        saver.get_tuple(config())


def test_a_sync_call_after_its_loop_ended_does_not_hang(broker):
    with Home(broker.url) as home:
        saver = DocumentCheckpointSaver.for_agent(home.client, "support")
        home.run(saver.setup())
        assert saver.get_tuple(config()) is None
    with pytest.raises(RuntimeError, match="has ended"):
        saver.get_tuple(config())


def test_failures_of_the_service_propagate(home):
    saver = DocumentCheckpointSaver.for_agent(home.client, "support")
    calls = home.calls(saver)
    calls.put(config(), make_checkpoint(1, {"a": 1}))
    home.peer.store.fail_after(0)
    with pytest.raises(DocumentStorageError):
        calls.put(config(number=1), make_checkpoint(2, {"a": 2}))
    home.peer.store.fail_after(None)
    assert calls.get_tuple(config()).checkpoint["id"].endswith("0001")
    home.run(home.client.close())
    with pytest.raises(Unavailable, match="closed"):
        calls.put(config(number=1), make_checkpoint(2, {"a": 2}))


def test_a_save_whose_reply_was_lost_is_repeated_with_the_same_end(home):
    """C107."""
    saver = DocumentCheckpointSaver.for_agent(home.client, "support")
    home.run(saver.setup())
    calls = home.calls(saver)
    home.client.transport.timeout = 1.0
    calls.put(config(), make_checkpoint(1, {"a": "x" * 3000}))
    home.peer.unanswered = 1
    at = calls.put(config(number=1), make_checkpoint(2, {"a": ["y" * 3000] * 3}))
    home.peer.unanswered = 1
    calls.put_writes(at, [("a", "z" * 3000), ("__interrupt__", 1)], "task")
    written = home.peer.store.snapshot()
    assert home.peer.calls.count("write") >= 5
    loaded = calls.get_tuple(config())
    assert loaded.checkpoint["channel_values"] == {"a": ["y" * 3000] * 3}
    assert sorted(loaded.pending_writes) == [
        ("task", "__interrupt__", 1),
        ("task", "a", "z" * 3000),
    ]
    home.peer.unanswered = 1
    calls.delete_thread("t-1")
    assert calls.get_tuple(config()) is None
    left = home.peer.store.snapshot()["acme.chat"]
    assert [name for name, documents in left.items() if documents] == [TOMBSTONES]
    assert written != home.peer.store.snapshot()


def test_cancelled_saves_lose_nothing_that_was_acknowledged(home):
    """C099."""
    saver = DocumentCheckpointSaver.for_agent(home.client, "support")
    home.run(saver.setup())
    chance = random.Random(11)

    async def turns():
        saved = set()
        for number in range(1, 60):
            checkpoint = make_checkpoint(number, {"n": [number] * 500})
            save = asyncio.create_task(saver.aput(config(), checkpoint, STEP, {}))
            await asyncio.sleep(chance.choice([0, 0.001, 0.003, 0.01]))
            if chance.random() < 0.5:
                save.cancel()
            try:
                await asyncio.wait_for(save, 20)
                saved.add(checkpoint["id"])
            except asyncio.CancelledError:
                pass
        await asyncio.wait_for(saver.aput(config(), make_checkpoint(99, {}), STEP, {}), 20)
        found = [item.checkpoint["id"] async for item in saver.alist(config())]
        return saved, set(found)

    saved, found = home.run(turns())
    assert saved <= found
    assert len(saved) < 59, "some were cancelled"


#: Built and compiled where there is no loop, then used in two, one after the other.
BUILT_EARLY = """
import asyncio, sys
from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.langgraph import DocumentCheckpointSaver
from naas_abi_sdk.tokens import GivenToken
client = ABIClient("acme.chat", "nats://127.0.0.1:1", token=GivenToken("t"), timeout=0.3)
saver = DocumentCheckpointSaver.for_agent(client, "support")
async def use():
    try:
        await client.transport.open()
    except Exception as error:
        print(type(error).__name__)
    try:
        await saver.aget_tuple({"configurable": {"thread_id": "t"}})
    except Exception as error:
        print(type(error).__name__)
    await client.close()
asyncio.run(use())
asyncio.run(use())
"""


def test_it_is_built_without_a_loop_and_without_a_broker():
    """C095."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", BUILT_EARLY],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert set(ran.stdout.split()) <= {"Unavailable", "DeadlineExceeded"}
    assert len(ran.stdout.split()) == 4
    assert ran.stderr == ""


@pytest.mark.parametrize("method", ["prune", "copy_thread", "delete_for_runs"])
def test_what_deletes_and_copies_can_be_called_from_another_thread(home, method):
    saver = DocumentCheckpointSaver.for_agent(home.client, "support")
    calls = home.calls(saver)
    metadata = {**STEP, "run_id": "run-1"}
    calls.put(calls.put(config(), make_checkpoint(1, {"n": 1})), make_checkpoint(2, {}), metadata)
    if method == "copy_thread":
        saver.copy_thread("t-1", "copy")
    else:
        getattr(saver, method)(["t-1"] if method == "prune" else ["run-1"])
    left = {"prune": [2], "delete_for_runs": [1], "copy_thread": [2, 1]}[method]
    assert numbers(calls.list(config())) == left
    assert bool(calls.get_tuple(config("copy"))) == (method == "copy_thread")


async def until(holds):
    deadline = asyncio.get_running_loop().time() + 30
    for _ in iter(holds, True):
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.005)


def test_a_lease_fences_turns_over_the_broker(home, caplog):
    first = DocumentCheckpointSaver.for_agent(home.client, "support")
    second = DocumentCheckpointSaver.for_agent(home.client, "support")

    async def scenario():
        async with first.arun_lease("t-1", ttl=0.03, holder="first") as lease:
            with pytest.raises(RunLeaseConflict, match="held by 'first'"):
                async with second.arun_lease("t-1"):
                    pass
            at = config()
            at["configurable"] |= lease.config["configurable"]
            stored = await first.aput(at, make_checkpoint(1, {"n": 1}), STEP, {})
            assert stored == config(number=1)
            held = home.peer.store.for_namespace("acme.chat")
            await until(lambda: held.find(LEASES).items[0].version >= 4)
            home.peer.store.fail_after(0)
            await until(lambda: "could not be renewed" in caplog.text)
            home.peer.store.fail_after(None)
            (found,) = held.find(LEASES).items
            taken_over = found.data | {"token": "other", "holder": "second"}
            held.put(LEASES, found.id, taken_over)
            at["configurable"]["checkpoint_id"] = checkpoint_id(1)
            with pytest.raises(RunLeaseConflict, match=r"'first' lost its run lease .* 'second'"):
                await first.aput(at, make_checkpoint(2, {"n": 2}), STEP, {})
        assert held.find(LEASES).items[0].data["holder"] == "second"

    home.run(scenario())
