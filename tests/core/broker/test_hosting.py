"""What an engine answers on the wire, and how it stops. The caller here is a bare connection."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from threading import Event, Lock
from typing import Any

import nats.errors
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from naas_abi_core.broker.limits import TransferLimits
from naas_abi_sdk.connecting import BrokerSettings, open_connection
from naas_abi_sdk.document.types import CollectionSpec
from naas_abi_sdk.document.wire_values import to_data
from naas_abi_sdk.errors import DocumentStorageError, Unavailable
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto
from naas_abi_sdk.proto.transfer.v1 import transfer_pb2
from naas_abi_sdk.subjects import DOCUMENT_PREFIX, OVERFLOW_PREFIX
from naas_abi_sdk.testing import MemoryDocuments
from naas_abi_sdk.tokens import ModuleToken, ServiceToken, module_key, sign
from tests.support.hosted_documents import SECRET, Brokers, serving
from tests.support.nats_server import NatsServer

MODULE = "acme.billing"
ENGINE = ServiceToken("engine", SECRET)
KIB = 1024
OPERATIONS = (
    *("ensure_collection", "drop_collection", "collections", "collection_spec", "namespaces"),
    *("put", "get", "delete", "find", "count", "groups", "write"),
)


@pytest.fixture
def broker(nats_brokers: Brokers) -> NatsServer:
    return nats_brokers(64 * KIB)


@pytest.fixture
def documents() -> MemoryDocuments:
    store = MemoryDocuments()
    for namespace in (MODULE, "acme.other"):
        store.ensure_collection(namespace, CollectionSpec("c"))
    return store


class Caller:
    """Asks as bytes and headers, so that what comes back is seen as it is."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(
        self, subject: str, body: bytes, headers: dict[str, str] | None = None, timeout: float = 30
    ) -> Msg:
        given = {"Nats-Auth-Token": ENGINE.token()} if headers is None else headers
        return await self.client.request(subject, body, headers=given, timeout=timeout)

    async def call(self, operation: str, request: Any, **more: Any) -> Any:
        message = await self.ask(DOCUMENT_PREFIX + operation, request.SerializeToString(), **more)
        response = type(request).DESCRIPTOR.name.replace("Request", "Response")
        return getattr(proto, response).FromString(message.data)


@asynccontextmanager
async def calling(server: NatsServer) -> AsyncIterator[Caller]:
    client = await open_connection(BrokerSettings(server.url), name="test")
    try:
        yield Caller(client)
    finally:
        await client.close()


def with_caller(server: NatsServer, test: Callable[[Caller], Awaitable[None]]) -> None:
    async def run() -> None:
        async with calling(server) as caller:
            await asyncio.wait_for(test(caller), 60)

    asyncio.run(run())


def put(id_: str, size: int = 0, namespace: str = MODULE) -> proto.PutRequest:
    data = to_data({"text": "x" * size})
    return proto.PutRequest(namespace=namespace, collection="c", id=id_, data=data)


def get(id_: str, namespace: str = MODULE) -> proto.GetRequest:
    return proto.GetRequest(namespace=namespace, collection="c", id=id_)


def test_a_reply_repeats_no_header_of_the_request(broker: NatsServer, documents: Any) -> None:
    async def test(caller: Caller) -> None:
        token = ENGINE.token()
        asked = {"Nats-Auth-Token": token, "Abi-Overflow": "1", "X-Mine": "mine"}
        stored = await caller.ask(f"{DOCUMENT_PREFIX}put", put("x").SerializeToString(), asked)
        assert stored.headers is None
        absent = await caller.ask(f"{DOCUMENT_PREFIX}get", get("y").SerializeToString(), asked)
        assert absent.headers == {"Abi-Error-Code": "DOCUMENT_NOT_FOUND"}
        for verb in ("PING", "INFO", "STATS"):
            described = await caller.ask(f"$SRV.{verb}.document", b"", asked)
            assert described.headers is None
            assert token.encode() not in described.data

    with serving(broker.url, documents):
        with_caller(broker, test)


def test_it_is_a_micro_service_that_tools_can_describe(broker: NatsServer, documents: Any) -> None:
    async def test(caller: Caller) -> None:
        await caller.call("get", get("absent"))
        ping = json.loads((await caller.ask("$SRV.PING", b"")).data)
        assert (ping["name"], ping["version"]) == ("document", "1.0.0")
        assert ping["type"] == "io.nats.micro.v1.ping_response"
        info = json.loads((await caller.ask("$SRV.INFO.document", b"")).data)
        assert {endpoint["subject"] for endpoint in info["endpoints"]} == {
            f"abi.svc.document.v1.{name}" for name in OPERATIONS
        }
        assert {endpoint["queue_group"] for endpoint in info["endpoints"]} == {"q"}
        stats = json.loads((await caller.ask(f"$SRV.STATS.document.{ping['id']}", b"")).data)
        (of_get,) = (each for each in stats["endpoints"] if each["name"] == "get")
        assert (of_get["num_requests"], of_get["num_errors"]) == (1, 1)
        assert of_get["last_error"] == "DOCUMENT_NOT_FOUND"
        assert of_get["average_processing_time"] > 0

    with serving(broker.url, documents):
        with_caller(broker, test)


def test_every_bad_token_is_one_code_and_nothing_is_done(
    broker: NatsServer, documents: Any
) -> None:
    other = module_key(SECRET, "acme.other")
    now = int(time.time())
    tokens = {
        "none": None,
        "no token": "no-token",
        "expired": sign("engine", SECRET, issued_at=now - 7200),
        "forged": sign(MODULE, other, issued_at=now, key_id="module"),
        "of another project": sign("engine", "x" * 32, issued_at=now),
    }

    async def test(caller: Caller) -> None:
        for token in tokens.values():
            headers = {} if token is None else {"Nats-Auth-Token": token}
            answer = await caller.call("put", put("x"), headers=headers)
            assert answer.error.code == "UNAUTHENTICATED"
            assert not token or token not in answer.error.message
            opened = await caller.ask(f"{OVERFLOW_PREFIX}open", b"", headers)
            response = transfer_pb2.OpenResponse.FromString(opened.data)
            assert response.error.code == "UNAUTHENTICATED"

    with serving(broker.url, documents):
        with_caller(broker, test)
    assert documents.count(MODULE, "c") == 0


def test_what_cannot_be_decoded_is_an_invalid_argument(broker: NatsServer, documents: Any) -> None:
    kindless = proto.PutRequest(namespace=MODULE, collection="c", id="x")
    kindless.data.fields["a"].SetInParent()
    naive = proto.PutRequest(namespace=MODULE, collection="c", id="x")
    naive.data.fields["a"].datetime_value = "2026-01-01T00:00:00"

    async def test(caller: Caller) -> None:
        for body in (b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x12\x02\xff\xfe"):
            message = await caller.ask(f"{DOCUMENT_PREFIX}put", body)
            error = proto.PutResponse.FromString(message.data).error
            assert error.code == "INVALID_ARGUMENT"
            assert "abi.document.v1.PutRequest" in error.message
        for request in (put(""), put("a\0b"), put("x", namespace=""), kindless, naive):
            answer = await caller.call("put", request)
            assert (answer.error.code, bool(answer.error.message)) == ("INVALID_ARGUMENT", True)
        long = await caller.call("count", proto.CountRequest(namespace="n\0" + "n" * 50_000))
        assert len(long.error.message) <= 2000
        empty = await caller.call("write", proto.WriteRequest(namespace=MODULE, writes=[{}]))
        assert empty.error.code == "INVALID_ARGUMENT"

    with serving(broker.url, documents):
        with_caller(broker, test)


def test_only_invalid_arguments_carry_details(
    broker: NatsServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryDocuments()
    expected: dict[Exception, tuple[str, str]] = {
        DocumentStorageError("disk /secret"): ("STORAGE_ERROR", "STORAGE_ERROR"),
        PermissionError("/secret"): ("PERMISSION_DENIED", "PERMISSION_DENIED"),
        KeyError("secret"): ("INTERNAL", "INTERNAL"),
        RecursionError("secret"): ("INTERNAL", "INTERNAL"),
    }
    errors = list(expected)

    def fail(*_: object) -> None:
        raise errors[0]

    monkeypatch.setattr(store, "get", fail)

    async def test(caller: Caller) -> None:
        while errors:
            answer = await caller.call("get", get("x"))
            assert (answer.error.code, answer.error.message) == expected[errors.pop(0)]
            assert not answer.error.retryable

    with serving(broker.url, store):
        with_caller(broker, test)
    # What only the operator may know is in the log.
    assert "KeyError: 'secret'" in caplog.text


def test_namespaces_are_listed_for_engines_only(broker: NatsServer, documents: Any) -> None:
    module = ModuleToken(MODULE, module_key(SECRET, MODULE))
    narrow = ServiceToken("engine", SECRET, namespaces=["acme.other"])

    async def test(caller: Caller) -> None:
        async def listed(token: Any) -> Any:
            headers = {"Nats-Auth-Token": token.token()}
            return await caller.call("namespaces", proto.NamespacesRequest(), headers=headers)

        for engine in (ENGINE, ServiceToken("api", SECRET)):
            assert list((await listed(engine)).namespaces) == [MODULE, "acme.other"]
        assert list((await listed(narrow)).namespaces) == ["acme.other"]
        for other in (module, ServiceToken("dagster", SECRET)):
            assert (await listed(other)).error.code == "PERMISSION_DENIED"

    with serving(broker.url, documents):
        with_caller(broker, test)


@pytest.mark.parametrize("own_only", [False, True])
def test_a_module_reaches_only_its_own_namespace_if_so_configured(
    broker: NatsServer, documents: Any, own_only: bool
) -> None:
    headers = {"Nats-Auth-Token": ModuleToken(MODULE, module_key(SECRET, MODULE)).token()}

    async def test(caller: Caller) -> None:
        requests = {
            "put": put("x", namespace="acme.other"),
            "get": get("x", namespace="acme.other"),
            "find": proto.FindRequest(namespace="acme.other", collection="c"),
            "write": proto.WriteRequest(namespace="acme.other"),
            "collections": proto.CollectionsRequest(namespace="acme.other"),
            "drop_collection": proto.DropCollectionRequest(namespace="acme.other", collection="c"),
        }
        for name, request in requests.items():
            answer = await caller.call(name, request, headers=headers)
            assert (answer.error.code == "PERMISSION_DENIED") is own_only, name
        assert not (await caller.call("put", put("x"), headers=headers)).HasField("error")
        # An engine reaches all in any case.
        engines = await caller.call("put", put("x", namespace="acme.other"))
        assert engines.HasField("error") is not own_only

    with serving(broker.url, documents, own_namespace_only=own_only):
        with_caller(broker, test)


def test_a_page_keeps_to_a_quarter_of_what_the_broker_takes(
    broker: NatsServer, documents: Any
) -> None:
    for number in range(40):
        documents.put(MODULE, "c", f"d{number:02}", {"text": "x" * 1900})

    async def test(caller: Caller) -> None:
        for asked, sizes in (
            ({}, (8, 8)),
            ({"max_bytes": 10**9}, (8, 8)),
            ({"max_bytes": 1}, (1, 1)),
        ):
            request = proto.FindRequest(namespace=MODULE, collection="c", **asked)
            first = await caller.call("find", request)
            request.cursor = first.cursor
            second = await caller.call("find", request)
            assert (len(first.items), len(second.items)) == sizes
            assert second.items[0].id == f"d{sizes[0]:02}"
        refused = proto.FindRequest(namespace=MODULE, collection="c", max_bytes=0)
        assert (await caller.call("find", refused)).error.code == "INVALID_ARGUMENT"

    with serving(broker.url, documents):
        with_caller(broker, test)


class Slow:
    """A store whose ``get`` waits until it is let go on, and counts how many wait at once."""

    def __init__(self, store: MemoryDocuments) -> None:
        self.go_on = Event()
        self.most = self.now = self.done = 0
        self._lock = Lock()
        self._get = store.get

    def get(self, *arguments: Any) -> Any:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        assert self.go_on.wait(30)
        with self._lock:
            self.now -= 1
            self.done += 1
        return self._get(*arguments)


@pytest.fixture
def slow(documents: MemoryDocuments, monkeypatch: pytest.MonkeyPatch) -> Slow:
    documents.put(MODULE, "c", "x", {})
    waiting = Slow(documents)
    monkeypatch.setattr(documents, "get", waiting.get)
    return waiting


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 -- threads change what is looked at
        await asyncio.sleep(0.01)


def test_only_so_many_calls_run_at_once_and_the_others_wait(
    broker: NatsServer, documents: Any, slow: Slow
) -> None:
    async def test(caller: Caller) -> None:
        calls = [asyncio.create_task(caller.call("get", get("x"))) for _ in range(20)]
        await until(lambda: slow.now == 3)
        await caller.ask("$SRV.PING.document", b"")  # it has taken whatever came before this
        assert slow.now == 3
        # Nor are the others taken from where they wait: what that holds is bounded.
        (service,) = host._services
        assert len(service._answering._running) == 3
        slow.go_on.set()
        answers = await asyncio.gather(*calls)
        assert all(answer.document.id == "x" for answer in answers)

    with serving(broker.url, documents, max_concurrent=3) as host:
        with_caller(broker, test)
    assert (slow.most, slow.done) == (3, 20)


async def is_served(caller: Caller) -> bool:
    try:
        await caller.ask(f"{DOCUMENT_PREFIX}count", b"", timeout=0.1)
    except nats.errors.NoRespondersError:
        return False
    except nats.errors.TimeoutError:
        pass  # it was accepted, and waits for the others
    return True


def test_stopping_answers_every_request_that_was_accepted(
    broker: NatsServer, documents: Any, slow: Slow
) -> None:
    async def test(caller: Caller) -> None:
        calls = [asyncio.create_task(caller.call("get", get("x"))) for _ in range(50)]
        await until(lambda: slow.now == 4)
        await caller.ask("$SRV.PING.document", b"")
        closing = asyncio.create_task(asyncio.to_thread(host.close))
        # Its subscriptions end before anything else does.
        while await is_served(caller):
            pass
        assert not closing.done()
        slow.go_on.set()
        answers = await asyncio.gather(*calls)
        assert all(answer.document.id == "x" for answer in answers)
        await closing

    with serving(broker.url, documents, max_concurrent=4) as host:
        with_caller(broker, test)
    assert slow.done == 50


def test_the_end_does_not_wait_for_ever(
    broker: NatsServer, documents: Any, slow: Slow, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(caller: Caller) -> None:
        call = asyncio.create_task(caller.call("get", get("x"), timeout=30))
        await until(lambda: slow.now == 1)
        await asyncio.to_thread(host.close)
        call.cancel()

    with serving(broker.url, documents, drain_seconds=0.2) as host:
        with_caller(broker, test)
    slow.go_on.set()
    assert "still being answered after 0.2 seconds" in caplog.text


def test_a_caller_that_has_gone_changes_nothing_for_others(
    broker: NatsServer, documents: Any, slow: Slow
) -> None:
    async def test(caller: Caller) -> None:
        async with calling(broker) as gone:
            lost = asyncio.create_task(gone.call("get", get("x")))
            await until(lambda: slow.now == 1)
            lost.cancel()
        slow.go_on.set()
        assert (await caller.call("get", get("x"))).document.id == "x"
        # Without a place for the answer nothing is done.
        headers = {"Nats-Auth-Token": ENGINE.token()}
        body = put("unasked").SerializeToString()
        await caller.client.publish(f"{DOCUMENT_PREFIX}put", body, headers=headers)
        await caller.call("get", get("x"))
        assert (await caller.call("get", get("unasked"))).error.code == "DOCUMENT_NOT_FOUND"

    with serving(broker.url, documents, max_concurrent=1):
        with_caller(broker, test)


def test_two_engines_share_the_requests(broker: NatsServer, documents: Any) -> None:
    other = MemoryDocuments()
    other.ensure_collection(MODULE, CollectionSpec("c"))
    other.put(MODULE, "c", "x", {})

    async def test(caller: Caller) -> None:
        request = proto.CountRequest(namespace=MODULE, collection="c")
        calls = [caller.call("count", request) for _ in range(50)]
        # Each request goes to one of the two, whose stores are not the same here.
        assert {answer.count for answer in await asyncio.gather(*calls)} == {0, 1}

    with serving(broker.url, documents), serving(broker.url, other):
        with_caller(broker, test)


def test_a_large_reply_is_parked_for_its_caller_alone(broker: NatsServer, documents: Any) -> None:
    documents.put(MODULE, "c", "large", {"text": "x" * 200 * KIB})
    theirs = {"Nats-Auth-Token": ModuleToken(MODULE, module_key(SECRET, MODULE)).token()}

    async def test(caller: Caller) -> None:
        refused = await caller.call("get", get("large"))
        assert refused.error.code == "PAYLOAD_TOO_LARGE"
        headers = {"Nats-Auth-Token": ENGINE.token(), "Abi-Overflow": "1"}
        subject = f"{DOCUMENT_PREFIX}get"
        parked = await caller.ask(subject, get("large").SerializeToString(), headers)
        assert parked.headers is not None
        assert (parked.data, set(parked.headers)) == (
            b"",
            {"Abi-Overflow-Reply", "Abi-Overflow-Size"},
        )
        id_ = parked.headers["Abi-Overflow-Reply"]

        async def read(number: int, headers: dict[str, str] | None = None) -> Any:
            request = transfer_pb2.ReadRequest(id=id_, sequence=number).SerializeToString()
            # With the owner in the subject, and without.
            subject = f"{OVERFLOW_PREFIX}{id_[:32]}.read" if number % 2 else "abi.rpc.overflow.read"
            message = await caller.ask(subject, request, headers)
            return transfer_pb2.ReadResponse.FromString(message.data)

        assert (await read(0, theirs)).error.code == "PERMISSION_DENIED"
        value, number = b"", 0
        while not (piece := await read(number)).done:
            assert piece.sequence == number
            value += piece.data
            number += 1
        assert len(value) == int(parked.headers["Abi-Overflow-Size"])
        assert proto.GetResponse.FromString(value).document.id == "large"
        assert number > 3
        close = transfer_pb2.CloseRequest(id=id_).SerializeToString()
        await caller.ask("abi.rpc.overflow.close", close)

    with serving(broker.url, documents):
        with_caller(broker, test)


def test_a_large_request_is_fetched_from_whichever_engine_holds_it(
    broker: NatsServer, documents: Any
) -> None:
    async def test(caller: Caller) -> None:
        def transfer(name: str, request: Any) -> Any:
            return caller.ask(
                f"{OVERFLOW_PREFIX}{id_[:32]}.{name}", request.SerializeToString(), headers
            )

        headers = {"Nats-Auth-Token": ENGINE.token(), "Abi-Overflow": "1"}
        body = put("large", 200 * KIB).SerializeToString()
        opening = transfer_pb2.OpenRequest(operation="request", chunk_bytes=16 * KIB)
        opened = await caller.ask(f"{OVERFLOW_PREFIX}open", opening.SerializeToString(), headers)
        id_ = transfer_pb2.OpenResponse.FromString(opened.data).id
        for number, start in enumerate(range(0, len(body), 16 * KIB)):
            data = body[start : start + 16 * KIB]
            await transfer("write", transfer_pb2.WriteRequest(id=id_, sequence=number, data=data))
        # Often enough that each of the two engines gets the call, the one that holds it and not.
        for version in range(1, 21):
            sent_ahead = {**headers, "Abi-Overflow-Request": id_}
            message = await caller.ask(f"{DOCUMENT_PREFIX}put", b"", sent_ahead)
            assert message.headers is not None
            assert "Abi-Overflow-Reply" in message.headers  # the document is echoed
            assert documents.get(MODULE, "c", "large").version == version
            echo = transfer_pb2.CloseRequest(id=message.headers["Abi-Overflow-Reply"])
            owner = echo.id[:32]
            await caller.ask(f"{OVERFLOW_PREFIX}{owner}.close", echo.SerializeToString(), headers)
        await transfer("close", transfer_pb2.CloseRequest(id=id_))
        for wrong, code in (
            (id_, "NOT_FOUND"),
            ("0" * 32 + ":" + "0" * 32, "UNAVAILABLE"),
            ("*:>", "INVALID_ARGUMENT"),
        ):
            sent_ahead = {**headers, "Abi-Overflow-Request": wrong}
            message = await caller.ask(f"{DOCUMENT_PREFIX}put", b"", sent_ahead)
            assert proto.PutResponse.FromString(message.data).error.code == code

    with serving(broker.url, documents), serving(broker.url, documents):
        with_caller(broker, test)


def test_an_engine_may_take_no_large_values(broker: NatsServer, documents: Any) -> None:
    documents.put(MODULE, "c", "large", {"text": "x" * 200 * KIB})

    async def test(caller: Caller) -> None:
        headers = {"Nats-Auth-Token": ENGINE.token(), "Abi-Overflow": "1"}
        answer = await caller.call("get", get("large"), headers=headers)
        assert answer.error.code == "PAYLOAD_TOO_LARGE"
        headers["Abi-Overflow-Request"] = "0" * 32 + ":" + "0" * 32
        answer = await caller.call("put", put("x"), headers=headers)
        assert answer.error.code == "PAYLOAD_TOO_LARGE"
        with pytest.raises(nats.errors.NoRespondersError):
            await caller.ask(f"{OVERFLOW_PREFIX}open", b"", headers)

    with serving(broker.url, documents, overflow=None):
        with_caller(broker, test)


def test_a_reply_there_is_no_room_for_is_an_error(broker: NatsServer, documents: Any) -> None:
    documents.put(MODULE, "c", "large", {"text": "x" * 200 * KIB})

    async def test(caller: Caller) -> None:
        headers = {"Nats-Auth-Token": ENGINE.token(), "Abi-Overflow": "1"}
        answer = await caller.call("get", get("large"), headers=headers)
        assert answer.error.code == "PAYLOAD_TOO_LARGE"

    with serving(broker.url, documents, overflow=TransferLimits(max_value_bytes=100 * KIB)):
        with_caller(broker, test)


def test_an_upload_is_for_requests_and_brings_little_metadata(
    broker: NatsServer, documents: Any
) -> None:
    async def test(caller: Caller) -> None:
        for request in (
            transfer_pb2.OpenRequest(operation="other"),
            transfer_pb2.OpenRequest(operation="request", metadata=b"x" * (16 * KIB + 1)),
        ):
            message = await caller.ask(f"{OVERFLOW_PREFIX}open", request.SerializeToString())
            response = transfer_pb2.OpenResponse.FromString(message.data)
            assert response.error.code == "INVALID_ARGUMENT"

    with serving(broker.url, documents):
        with_caller(broker, test)


def test_a_broker_that_cannot_be_reached_is_named_without_its_password() -> None:
    with (
        pytest.raises(Unavailable, match=r"nats://127\.0\.0\.1:1 cannot be reached") as caught,
        serving("nats://me:s3cret@127.0.0.1:1", MemoryDocuments(), connect_seconds=0.3),
    ):
        pass
    assert "s3cret" not in str(caught.value)
