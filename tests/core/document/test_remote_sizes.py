"""Documents around and above what the broker lets pass at once, headers included."""

from __future__ import annotations

from itertools import pairwise

import pytest

from naas_abi_sdk.document.types import CollectionSpec, Put
from naas_abi_sdk.document.wire_values import to_data
from naas_abi_sdk.errors import DocumentNotFound, PayloadTooLarge
from naas_abi_sdk.proto.common.v1.common_pb2 import CallContext
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto
from naas_abi_sdk.subjects import message_size
from naas_abi_sdk.testing import MemoryDocuments
from naas_abi_sdk.tokens import ServiceToken
from tests.support.hosted_documents import SECRET, Brokers, hosted, serving
from tests.support.hosted_documents import remote as remote_to

NS = "acme.module"
KIB = 1024


def request_bytes(length: int) -> int:
    """Bytes of the message that puts a text of this length, with its headers."""
    context = CallContext(trace_id="0" * 36, timeout_ms=10_000)
    data = to_data({"text": "x" * length})
    request = proto.PutRequest(context=context, namespace=NS, collection="c", id="x", data=data)
    headers = {"Nats-Auth-Token": ServiceToken("engine", SECRET).token(), "Abi-Overflow": "1"}
    return message_size(request.SerializeToString(), headers)


def length_for(wanted: int) -> int:
    """The text whose put is a message of exactly so many bytes."""
    length = wanted - request_bytes(wanted // 2) + wanted // 2
    return next(found for found in range(length - 3, length + 4) if request_bytes(found) == wanted)


@pytest.mark.parametrize("limit", [64 * KIB, 1024 * KIB])
def test_documents_at_the_limit_go_in_and_come_out(nats_brokers: Brokers, limit: int) -> None:
    lengths = [length_for(limit + more) for more in (-1, 0, 1)]
    assert all(b - a == 1 for a, b in pairwise(lengths))
    with hosted(nats_brokers(limit)) as (remote, store):
        remote.ensure_collection(NS, CollectionSpec("c"))
        # Replies have their own size, so that lengths around it are met as well.
        for length in [*lengths, *range(lengths[0] - 2, limit, 211 if limit < 100 * KIB else 500)]:
            data = {"text": "x" * length}
            assert remote.put(NS, "c", "x", data).data == data
            assert remote.get(NS, "c", "x").data == data
            assert remote.find(NS, "c").items[0].data == data
        remote.write(NS, [Put("c", f"w{number}", data) for number in range(5)])
        assert remote.count(NS, "c") == store.count(NS, "c") == 6


def test_twenty_megabytes_go_in_and_come_out(nats_brokers: Brokers) -> None:
    data = {"result": bytes(range(256)) * (20 * KIB * 4), "text": "é" * 1000}
    assert len(data["result"]) == 20 * KIB * KIB
    with hosted(nats_brokers(1024 * KIB)) as (remote, _):
        remote.ensure_collection(NS, CollectionSpec("c"))
        assert remote.put(NS, "c", "x", data, if_version=0).data == data
        assert remote.get(NS, "c", "x").data == data
        assert [item.data for item in remote.find(NS, "c").items] == [data]
        assert remote.write(NS, [Put("c", "y", data), Put("c", "z", {})])[0].version == 1
        assert remote.count(NS, "c") == 3


def test_a_document_that_does_not_fit_is_refused_and_others_go_on(nats_brokers: Brokers) -> None:
    url = nats_brokers(64 * KIB).url
    store = MemoryDocuments()
    with serving(url, store, overflow=None), remote_to(url, timeout=1.5) as remote:
        remote.ensure_collection(NS, CollectionSpec("c"))
        with pytest.raises(PayloadTooLarge, match="65536"):
            remote.put(NS, "c", "x", {"text": "x" * 100 * KIB})
        with pytest.raises(DocumentNotFound):
            remote.get(NS, "c", "x")
        assert remote.put(NS, "c", "x", {"text": "x"}).version == 1
