"""Calls through a real broker: what they carry, how they end, and what they survive."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
import time
from typing import Any

import pytest

from naas_abi_sdk.connecting import BrokerSettings
from naas_abi_sdk.errors import (
    DeadlineExceeded,
    DocumentNotFound,
    InvalidArgument,
    NobodyServes,
    PayloadTooLarge,
    PermissionDenied,
    RPCError,
    TransportError,
    Unauthenticated,
    Unavailable,
)
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto
from naas_abi_sdk.subjects import message_size
from naas_abi_sdk.tokens import GivenToken
from naas_abi_sdk.transport import Transport
from tests.support.nats_peers import Transfers, connected, serve
from tests.support.nats_server import nats_server

TOKEN = GivenToken("a-token")
COUNTED = proto.CountResponse(count=7).SerializeToString()


def running(test):
    """Run the coroutine function ``test``, and see that nothing of it is left behind."""

    def run(*arguments, **keywords):
        async def guarded():
            await asyncio.wait_for(test(*arguments, **keywords), 60)
            # Answers that a test did not wait for are its peer's, not the client's.
            left = {task for task in asyncio.all_tasks() if "answered" not in repr(task)}
            left.discard(asyncio.current_task())
            if left:  # what was cancelled needs a moment to end
                _, left = await asyncio.wait(left, timeout=2)
            assert not left, left

        asyncio.run(guarded())

    return functools.wraps(test)(run)


@contextlib.asynccontextmanager
async def transport_to(url, **options):
    transport = Transport(url, token=TOKEN, **options)
    try:
        yield transport
    finally:
        await transport.close()


async def count(transport, subject="svc.count", **options):
    request = proto.CountRequest(namespace=options.pop("namespace", "n"))
    response = await transport.call(subject, request, proto.CountResponse, **options)
    return response.count


class Service:
    """Answers ``svc.count`` and remembers what it was sent."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any]] = []
        self.delay = 0.0
        self.reply: Any = (COUNTED, None)
        self._came = asyncio.Condition()

    async def has_seen(self, requests):
        async with self._came:
            await self._came.wait_for(lambda: len(self.seen) >= requests)

    async def __call__(self, body, headers):
        async with self._came:
            self.seen.append((proto.CountRequest.FromString(body), dict(headers)))
            self._came.notify_all()
        await asyncio.sleep(self.delay)
        return self.reply


@contextlib.asynccontextmanager
async def serving(url, subject="svc.count"):
    service = Service()
    async with connected(url) as client:
        await serve(client, subject, service)
        yield service


@running
async def test_a_call_carries_the_token_a_trace_and_the_deadline(broker):
    async with serving(broker.url) as service, transport_to(broker.url, timeout=3) as transport:
        assert await count(transport) == 7
        assert await count(transport) == 7
    (first, headers), (second, _) = service.seen
    assert headers == {"Nats-Auth-Token": "a-token", "Abi-Overflow": "1"}
    assert first.context.timeout_ms == 3000
    assert len(first.context.trace_id) == 36
    assert first.context.trace_id != second.context.trace_id


@running
async def test_the_error_of_a_response_is_raised_by_its_class(broker):
    async with serving(broker.url) as service, transport_to(broker.url) as transport:
        response = proto.CountResponse()
        response.error.code = response.error.message = "DOCUMENT_NOT_FOUND"
        service.reply = response.SerializeToString(), {"Abi-Error-Code": "DOCUMENT_NOT_FOUND"}
        with pytest.raises(DocumentNotFound, match="people/p1: No document has this id"):
            await count(transport, what="people/p1")
        response.error.code, response.error.message = "INVALID_ARGUMENT", "limit must be an int"
        service.reply = response.SerializeToString(), None
        with pytest.raises(InvalidArgument, match=r"^limit must be an int$"):
            await count(transport)
        response.error.code, response.error.message = "NOT_FOUND", "no such transfer"
        service.reply = response.SerializeToString(), None
        with pytest.raises(RPCError, match="NOT_FOUND: no such transfer") as failure:
            await count(transport)
        assert failure.value.code == "NOT_FOUND"


@running
async def test_a_reply_that_is_no_response_is_an_error(broker):
    async with serving(broker.url) as service, transport_to(broker.url) as transport:
        service.reply = b"\xff\xff\xff", None
        with pytest.raises(RPCError, match=r"svc\.count: the reply cannot be read"):
            await count(transport)
        service.reply = b"", {"Nats-Service-Error-Code": "500", "Nats-Service-Error": "broke"}
        with pytest.raises(RPCError, match=r"500: svc\.count: broke"):
            await count(transport)


@running
async def test_nobody_serving_is_said_after_some_patience_or_at_once(broker):
    async with transport_to(broker.url, timeout=1.0) as transport:
        await transport.open()
        started = time.monotonic()
        with pytest.raises(NobodyServes, match=r"counting: nobody serves svc\.nobody"):
            await count(transport, "svc.nobody", what="counting")
        assert time.monotonic() - started >= 0.5
        transport.timeout = 10
        started = time.monotonic()
        with pytest.raises(NobodyServes):
            await count(transport, "svc.nobody", patient=False)
        assert time.monotonic() - started < 4


@running
async def test_an_engine_that_starts_meanwhile_answers(broker):
    async with transport_to(broker.url) as transport:
        await transport.open()
        call = asyncio.create_task(count(transport, "svc.late"))
        await asyncio.sleep(0.2)
        async with serving(broker.url, "svc.late") as service:
            assert await call == 7
    assert len(service.seen) == 1


@pytest.mark.parametrize(("repeatable", "sent"), [(False, 1), (True, 2)])
def test_silence_ends_at_the_deadline(broker, repeatable, sent):
    @running
    async def scenario():
        async with serving(broker.url) as service:
            service.delay = 5
            async with transport_to(broker.url, timeout=0.6) as transport:
                await transport.open()
                started = time.monotonic()
                with pytest.raises(DeadlineExceeded, match="no answer from svc") as failure:
                    await count(transport, repeatable=repeatable)
                assert 0.55 < time.monotonic() - started < 4
                assert ("unknown" in str(failure.value)) is not repeatable
                assert isinstance(failure.value, TimeoutError)
            assert len(service.seen) == sent

    scenario()


@running
async def test_the_late_reply_to_the_first_of_two_requests_counts(broker):
    async with serving(broker.url) as service, transport_to(broker.url, timeout=4) as transport:
        service.delay = 2.2
        assert await count(transport, repeatable=True) == 7
        assert len(service.seen) == 2


@running
async def test_a_repeatable_call_survives_a_broker_that_is_killed_and_started_again():
    """C096."""
    with nats_server() as server:
        async with serving(server.url) as service, transport_to(server.url) as transport:
            assert await count(transport) == 7
            service.delay, service.reply = 0.1, None
            call = asyncio.create_task(count(transport, repeatable=True))
            await service.has_seen(2)
            server.kill()
            await asyncio.sleep(0.5)
            service.delay, service.reply = 0, (COUNTED, None)
            started = time.monotonic()
            await asyncio.to_thread(server.start)
            assert await call == 7
            assert time.monotonic() - started < 4, "it did not wait for half of its time"
            assert await count(transport) == 7


@running
async def test_a_call_sent_once_ends_with_an_error_that_says_what_is_unknown():
    with nats_server() as server:
        async with serving(server.url) as service:
            async with transport_to(server.url, timeout=1.5) as transport:
                assert await count(transport) == 7
                service.delay = 0.2
                call = asyncio.create_task(count(transport))
                await service.has_seen(2)
                server.kill()
                with pytest.raises(DeadlineExceeded, match="whether it was done is unknown"):
                    await call
                started = time.monotonic()
                with pytest.raises(Unavailable, match="is lost"):
                    await count(transport)
                assert time.monotonic() - started < 6
            assert len(service.seen) == 2


@running
async def test_a_lost_reply_subscription_is_noticed_and_replaced(broker):
    """C103."""
    async with serving(broker.url) as service, transport_to(broker.url, timeout=4) as transport:
        assert await count(transport) == 7
        await drop_replies(transport)
        assert await count(transport, repeatable=True) == 7
        await drop_replies(transport)
        with pytest.raises(Unavailable, match="whether the request was done is unknown"):
            await count(transport)
        assert await count(transport) == 7
        await drop_replies(transport)
        with pytest.raises(Unavailable, match="hands over no replies"):
            await transport.check()
        await transport.check()
    assert len(service.seen) == 5


async def drop_replies(transport):
    """Lose the subscription of replies behind the back of the connection."""
    client = transport._connection._client
    for subscription in list(client._subs.values()):
        await subscription.unsubscribe()
    await client.flush()


@running
async def test_cancelled_calls_harm_no_other(broker):
    """C105."""
    async with serving(broker.url) as service, transport_to(broker.url) as transport:
        chance = random.Random(7)
        service.delay = 0.002
        for _ in range(20):
            calls = [asyncio.create_task(count(transport, namespace="n" * 2000)) for _ in range(20)]
            for call in calls:
                await asyncio.sleep(chance.choice([0, 0, 0.001]))
                if chance.random() < 0.7:
                    call.cancel()
            ends = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(end) for end in ends} <= {int, asyncio.CancelledError}
        assert await count(transport) == 7
        assert transport._connection._expected == {}


@pytest.mark.parametrize("surplus", [-1, 0, 1, 5000, 300_000])
def test_a_request_about_as_large_as_the_broker_takes_arrives(broker, surplus):
    """C102."""

    @running
    async def scenario():
        async with connected(broker.url) as client, transport_to(broker.url) as transport:
            transfers = Transfers(client)
            await transfers.start()
            seen = []

            async def answer(body, headers):
                transfer = headers.get("Abi-Overflow-Request")
                seen.append((bytes(transfers.values[transfer]) if transfer else body, transfer))
                return COUNTED, None

            await serve(client, "svc.big", answer)
            headers = {"Nats-Auth-Token": "a-token", "Abi-Overflow": "1"}
            length = 64 * 1024 + surplus - 2000
            while True:  # the length of the name is in the message too
                request = proto.CountRequest(namespace="n" * length)
                request.context.trace_id, request.context.timeout_ms = "t" * 36, 10_000
                missing = 64 * 1024 + surplus - message_size(request.SerializeToString(), headers)
                if not missing:
                    break
                length += missing
            assert await count(transport, "svc.big", namespace="n" * length) == 7
            ((body, transfer),) = seen
            assert proto.CountRequest.FromString(body).namespace == "n" * length
            assert (transfer is not None) == (surplus > 0)
            assert transfers.values == {}, "transfers are closed"

    scenario()


@running
async def test_a_request_that_nobody_takes_in_pieces_is_refused_and_harms_no_other(broker):
    """C102."""
    async with serving(broker.url) as service:
        async with transport_to(broker.url, timeout=1.5) as transport:
            other = asyncio.create_task(count(transport))
            with pytest.raises(PayloadTooLarge, match="above the 65536"):
                await count(transport, namespace="n" * 100_000)
            assert await other == 7
            assert await count(transport) == 7
        assert len(service.seen) == 2


@running
async def test_a_parked_reply_is_fetched_whole(broker):
    async with serving(broker.url) as service, connected(broker.url) as client:
        transfers = Transfers(client)
        await transfers.start()
        async with transport_to(broker.url) as transport:
            for parked in (b"", COUNTED, proto.CollectionsResponse(collections=["c" * 9000] * 5)):
                body = parked if isinstance(parked, bytes) else parked.SerializeToString()
                service.reply = b"", transfers.park(body)
                transfers.pending = 2
                response = (
                    await transport.call(
                        "svc.count", proto.CountRequest(), proto.CollectionsResponse
                    )
                    if not isinstance(parked, bytes)
                    else await count(transport)
                )
                assert response in (0, 7, parked)
            assert transfers.values == {}
            headers = transfers.park(COUNTED)
            service.reply = b"", {**headers, "Abi-Overflow-Size": "99"}
            with pytest.raises(RPCError, match="99 bytes arrived with 2"):
                await count(transport)


@running
async def test_a_limit_lowered_while_connected_is_met():
    """C102."""
    with nats_server(max_payload=1024 * 1024) as server:
        async with connected(server.url) as client:
            transfers = Transfers(client)
            await transfers.start()
            service = Service()

            async def answer(body, headers):
                transfer = headers.get("Abi-Overflow-Request")
                return await service(
                    bytes(transfers.values[transfer]) if transfer else body, headers
                )

            await serve(client, "svc.count", answer)
            async with transport_to(server.url) as transport:
                assert await count(transport, namespace="n" * 100_000) == 7
                server.reconfigure(max_payload=64 * 1024)
                assert await count(transport, namespace="n" * 100_000) == 7
                assert await transport.max_payload() == 64 * 1024


USERS = {
    "authorization": {
        "users": [
            {"user": "abi", "password": "engine"},
            {
                "user": "module",
                "password": "s3cret",
                "permissions": {
                    "subscribe": {"deny": ["_INBOX.>"]},
                    "publish": {"deny": ["svc.Hidden"]},
                },
            },
        ]
    }
}


@running
async def test_what_the_broker_refuses_is_said_at_once_and_without_the_password():
    with nats_server(**USERS) as server:
        wrong = BrokerSettings(server.url, user="module", password="pa55word")
        async with transport_to(wrong) as transport:
            started = time.monotonic()
            with pytest.raises(Unauthenticated, match="refuses the login") as failure:
                await count(transport)
            assert time.monotonic() - started < 8
            assert "pa55word" not in str(failure.value) + repr(wrong)
        allowed = BrokerSettings(server.url, user="module", password="s3cret")
        async with transport_to(allowed) as transport:
            started = time.monotonic()
            with pytest.raises(PermissionDenied, match=r"publish.*svc\.hidden"):
                await count(transport, "svc.Hidden")
            assert time.monotonic() - started < 8
        async with transport_to(allowed, inbox_prefix="_INBOX") as transport:
            with pytest.raises(PermissionDenied, match="inbox prefix is _INBOX"):
                await count(transport)
        in_url = server.url.replace("//", "//module:s3cret@")
        engine = server.url.replace("//", "//abi:engine@")
        async with serving(engine), transport_to(in_url) as transport:
            assert await count(transport) == 7


@running
async def test_a_broker_that_is_not_there_is_said_within_the_time():
    with nats_server() as server:
        server.kill()
        async with transport_to(server.url, timeout=0.8) as transport:
            started = time.monotonic()
            with pytest.raises((Unavailable, DeadlineExceeded), match=r"127\.0\.0\.1"):
                await count(transport)
            assert time.monotonic() - started < 6
            with pytest.raises((Unavailable, DeadlineExceeded)):
                await transport.check()
            await asyncio.to_thread(server.start)
            async with serving(server.url):
                assert await count(transport) == 7


@running
async def test_a_broker_that_hangs_does_not_hang_a_call():
    with nats_server() as server:
        async with serving(server.url), transport_to(server.url, timeout=1.0) as transport:
            assert await count(transport) == 7
            server.pause()
            try:
                started = time.monotonic()
                calls = [count(transport, repeatable=index % 2 == 0) for index in range(4)]
                ends = await asyncio.gather(*calls, return_exceptions=True)
                assert time.monotonic() - started < 6
                assert all(isinstance(end, TransportError) for end in ends), ends
            finally:
                server.go_on()
            assert await count(transport) == 7


@running
async def test_closing_ends_calls_under_way_and_later_ones(broker):
    async with serving(broker.url) as service, transport_to(broker.url) as transport:
        service.delay = 5
        calls = [asyncio.create_task(count(transport, repeatable=each)) for each in (True, False)]
        await service.has_seen(2)
        await transport.close()
        for call in calls:
            with pytest.raises(Unavailable, match="closed"):
                await call
        await transport.close()
        with pytest.raises(Unavailable, match="closed"):
            await count(transport)
        service.delay = 0
        await transport.open()
        assert await count(transport) == 7


@running
async def test_closing_while_connecting_leaves_nothing():
    with nats_server() as server:
        server.pause()
        transport = Transport(server.url, token=TOKEN)
        call = asyncio.create_task(count(transport))
        await asyncio.sleep(0.2)
        await transport.close()
        server.go_on()
        with pytest.raises(Unavailable, match="closed"):
            await call


def test_it_is_built_without_a_loop_and_used_in_one_after_the_other(broker):
    transport = Transport(broker.url, token=TOKEN)

    @running
    async def use():
        async with serving(broker.url):
            await transport.open()
            assert await count(transport) == 7
            with pytest.raises(RuntimeError, match="another event loop"):
                await asyncio.to_thread(asyncio.run, count(transport))
            await transport.close()

    use()
    use()
