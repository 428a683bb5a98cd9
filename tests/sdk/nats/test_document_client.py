"""The document client over a real broker: plain values in and out, batches, older services."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import datetime, timezone

import pytest

from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.document.client import namespaces
from naas_abi_sdk.document.commands import Apply, Declare, Emit, Find, Get, Together
from naas_abi_sdk.document.performing import aperform
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Delete,
    FieldSpec,
    Keep,
    OrderBy,
    Outcome,
    Predicate,
    Put,
    Require,
)
from naas_abi_sdk.errors import (
    CollectionNotFound,
    DocumentNotFound,
    InvalidArgument,
    NobodyServes,
    Unauthenticated,
    UniqueViolation,
    VersionConflict,
)
from naas_abi_sdk.tokens import GivenToken
from tests.support.nats_peers import DocumentPeer, connected

NOTES = CollectionSpec("notes", [FieldSpec("rank", "int", indexed=True)])
VALUES = {
    "int": 2**63 - 1,
    "float": 1.0,
    "bytes": b"\x00\xff",
    "when": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc),
    "nested": {"list": [None, True, {"a": []}], "": "x"},
}


@asynccontextmanager
async def documents_of(broker, **options):
    """A client's documents and the service that has them, its ``notes`` declared."""
    async with connected(broker.url) as connection:
        peer = await DocumentPeer(connection, **options).start()
        async with ABIClient("acme.chat", broker.url, token=GivenToken("t")) as client:
            await client.documents.ensure_collection(NOTES)
            peer.calls.clear()
            yield client.documents, peer


def in_loop(test):
    """Run the test, a coroutine function, in a loop of its own."""

    def run(broker):
        asyncio.run(asyncio.wait_for(test(broker), 60))

    run.__name__ = test.__name__
    return run


@in_loop
async def test_every_operation_has_the_answer_of_the_store(broker):
    async with documents_of(broker) as (documents, peer):
        stored = await documents.put("notes", "n-1", VALUES)
        assert (stored.data, stored.version) == (VALUES, 1)
        assert await documents.get("notes", "n-1") == stored
        assert stored == peer.store.get("acme.chat", "notes", "n-1")
        assert (await documents.put("notes", "n-1", {"rank": 1}, if_version=1)).version == 2
        with pytest.raises(VersionConflict, match="put 'n-1' in 'notes'"):
            await documents.put("notes", "n-1", {}, if_version=0)
        await documents.put_many("notes", {"n-2": {"rank": 3}, "n-3": {"rank": 2}})
        ranked = await documents.find("notes", order_by=OrderBy("rank", "desc"), limit=2)
        assert [item.id for item in ranked.items] == ["n-2", "n-3"]
        rest = await documents.find("notes", (), OrderBy("rank", "desc"), 2, ranked.cursor)
        assert ([item.id for item in rest.items], rest.cursor) == (["n-1"], None)
        assert await documents.count("notes", [Predicate("rank", "gte", 2)]) == 2
        (first,) = [await documents.find_one("notes", [Predicate("rank", "eq", 3)])]
        assert first is not None
        assert first.id == "n-2"
        assert await documents.find_one("notes", [Predicate("rank", "eq", 9)]) is None
        assert [item.id async for item in documents.iterate("notes")] == ["n-1", "n-2", "n-3"]
        await documents.delete("notes", "n-2", if_version=1)
        await documents.delete_many("notes", ["n-2", "n-3"])
        assert await documents.exists("notes", "n-1")
        assert not await documents.exists("notes", "n-2")
        with pytest.raises(DocumentNotFound, match="get 'n-2' in 'notes'"):
            await documents.get("notes", "n-2")
        assert await documents.collections() == ["notes"]
        assert await documents.collection_spec("notes") == CollectionSpec(
            "notes", (FieldSpec("rank", "int", indexed=True),), ()
        )
        assert await namespaces(documents.transport) == ["acme.chat"]
        await documents.drop_collection("notes")
        with pytest.raises(CollectionNotFound, match="in 'notes'"):
            await documents.find("notes")


@in_loop
async def test_wrong_arguments_are_refused_before_anything_is_sent(broker):
    async with documents_of(broker) as (documents, peer):
        for wrong in (
            documents.put("notes", "\ud800", {}),
            documents.put("notes", "a", {"x": "\0"}),
            documents.put("notes", "a", {}, if_version=-1),
            documents.get("", "a"),
            documents.find("notes", limit=0),
            documents.find("notes", max_bytes=0),
            documents.find("notes", cursor=7),
            documents.find("notes", [Predicate("a", "like", 1)]),
            documents.find("notes", order_by="rank"),
            documents.find("notes", fields="rank"),
            documents.write(["x"]),
            documents.ensure_collection("notes"),
        ):
            with pytest.raises(InvalidArgument):
                await wrong
        assert peer.calls == []
        assert await documents.write([]) == []
        assert peer.calls == []


BATCH = [
    Put("notes", "a", {"rank": 1}),
    Put("notes", "a", {"rank": 2}, if_version=0),
    Keep("notes", "k", {"rank": 3}),
    Keep("notes", "k", {"rank": 3}),
    Delete("notes", "none"),
    Delete("notes", "none", if_version=4),
    Require("notes", "a"),
    Put("notes", "b", {"rank": 4}),
    Require("notes", "none"),
    Put("notes", "c", {}),
    Keep("notes", "d", {}),
]
ENDS = [
    Outcome("done", 1),
    Outcome("conflict"),
    Outcome("done", 1),
    Outcome("done", 2),
    Outcome("done"),
    Outcome("conflict"),
    Outcome("done"),
    Outcome("done", 1),
    Outcome("conflict"),
    Outcome("skipped"),
    Outcome("skipped"),
]


@in_loop
async def test_a_batch_is_one_request(broker):
    async with documents_of(broker) as (documents, peer):
        assert await documents.write(BATCH) == ENDS
        assert peer.calls == ["write"]
        assert sorted(peer.store.snapshot()["acme.chat"]["notes"]) == ["a", "b", "k"]


@in_loop
async def test_a_batch_above_the_limit_is_cut_in_order(broker):
    async with documents_of(broker) as (documents, peer):
        body = b"x" * 20_000  # three of them in 64 KiB
        puts = [Put("notes", f"n-{number}", {"body": body}) for number in range(8)]
        assert await documents.write(puts) == [Outcome("done", 1)] * 8
        assert peer.calls == ["write"] * 3
        refused = [puts[0], puts[1], puts[2], Require("notes", "none"), *puts[3:]]
        ends = await documents.write(refused)
        assert [end.state for end in ends] == ["done"] * 3 + ["conflict"] + ["skipped"] * 5
        peer.calls.clear()
        large = Put("notes", "large", {"body": b"y" * 300_000})
        assert await documents.write([puts[0], large, puts[1]]) == [
            Outcome("done", 3),
            Outcome("done", 1),
            Outcome("done", 3),
        ]
        assert peer.calls == ["write"] * 3
        assert (await documents.get("notes", "large")).data["body"] == b"y" * 300_000


@in_loop
async def test_a_service_without_batches_gets_single_calls_with_the_same_outcomes(broker):
    async with documents_of(broker, batches=False) as (documents, peer):
        assert await documents.write(BATCH) == ENDS
        assert "write" not in peer.calls
        assert sorted(peer.store.snapshot()["acme.chat"]["notes"]) == ["a", "b", "k"]
        peer.calls.clear()
        stages = [[Put("notes", f"s-{n}", {}) for n in range(40)], [Require("notes", "s-39")]]
        assert [end.state for end in await documents.write_stages(stages)] == ["done"] * 41
        assert peer.calls == ["put"] * 40 + ["get"]
        with pytest.raises(CollectionNotFound):
            await documents.write_stages([[Put("notes", "x", {}), Put("none", "y", {})]])


@in_loop
async def test_a_service_without_projection_is_projected_here(broker):
    for batches in (True, False):
        async with documents_of(broker, batches=batches) as (documents, _):
            await documents.put("notes", "n-1", VALUES)
            page = await documents.find("notes", fields=["int", "absent"])
            assert [item.data for item in page.items] == [{"int": 2**63 - 1}]
            (item,) = (await documents.find("notes", fields=[])).items
            assert (item.data, item.version) == ({}, 1)


@in_loop
async def test_groups_are_the_same_from_a_service_that_has_none(broker):
    pages = []
    for batches in (True, False):
        async with documents_of(broker, batches=batches) as (documents, peer):
            await documents.ensure_collection(
                CollectionSpec("mail", [FieldSpec("to", "string", indexed=True)])
            )
            for number, to in enumerate(["b", "a", "b", "c"]):
                await documents.put("mail", f"m-{number}", {"to": to, "read": number > 1})
            peer.calls.clear()
            first = await documents.groups("mail", "to", limit=2)
            rest = await documents.groups("mail", "to", (), 2, first.cursor)
            assert ("groups" in peer.calls) is batches
            assert rest.cursor is None
            assert first.items[1].first_created_at < first.items[1].last_created_at
            pages.append([(group.value, group.count) for group in (*first.items, *rest.items)])
            unread = await documents.groups("mail", "to", [Predicate("read", "eq", value=False)])
            assert [(group.value, group.count) for group in unread.items] == [("a", 1), ("b", 1)]
            with pytest.raises(InvalidArgument, match="cursor"):
                await documents.groups("mail", "to", cursor="wrong")
            with pytest.raises(CollectionNotFound):
                await documents.groups("none", "to")
    assert pages == [[("a", 1), ("b", 2), ("c", 1)]] * 2


@in_loop
async def test_a_taken_unique_value_is_named(broker):
    async with documents_of(broker) as (documents, _):
        await documents.ensure_collection(
            CollectionSpec("users", [FieldSpec("email", "string", unique=True)])
        )
        with pytest.raises(UniqueViolation, match="u-2"):
            await documents.put_many("users", {"u-1": {"email": "a"}, "u-2": {"email": "a"}})
        assert await documents.exists("users", "u-1")


@in_loop
async def test_commands_are_performed_and_independent_ones_at_once(broker):
    async with documents_of(broker) as (documents, peer):
        await aperform(documents, Declare((NOTES, CollectionSpec("other"))))
        stages = ((Put("notes", "a", {"rank": 1}),), (Put("other", "b", {}),))
        assert await aperform(documents, Apply(stages)) == [Outcome("done", 1)] * 2
        reads = Together((Get("notes", "a"), Get("notes", "none"), Find("other")))
        found, absent, page = await aperform(documents, reads)
        assert (found.data, absent, page.items[0].id) == ({"rank": 1}, None, "b")
        assert peer.calls[2:] == ["write", "get", "get", "find"]
        with pytest.raises(CollectionNotFound):
            await aperform(documents, Together((Find("none"), *[Get("notes", "a")] * 50)))
        with pytest.raises(TypeError, match="iterated"):
            await aperform(documents, Emit(1))


@in_loop
async def test_no_service_at_all_is_said(broker):
    token = GivenToken("t")
    async with ABIClient("acme.chat", broker.url, token=token, timeout=1) as client:
        with pytest.raises(NobodyServes, match="nobody serves abi"):
            await client.documents.write([Put("notes", "a", {})])


def test_a_client_without_a_token_or_place_is_refused_when_built(monkeypatch):
    monkeypatch.delenv("ABI_MODULE_KEY", raising=False)
    monkeypatch.delenv("ABI_SERVICE_TOKEN", raising=False)
    with pytest.raises(Unauthenticated, match="ABI_MODULE_KEY"):
        ABIClient("acme.chat", "nats://127.0.0.1:4222")
    with pytest.raises(InvalidArgument, match="url"):
        ABIClient("acme.chat", "127.0.0.1", token=GivenToken("t"))
    with pytest.raises(InvalidArgument, match="namespace"):
        ABIClient("", "nats://127.0.0.1:4222", token=GivenToken("t"))
