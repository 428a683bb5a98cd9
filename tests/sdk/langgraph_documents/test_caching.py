"""What a process has stored or read it does not read again, within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from naas_abi_sdk.langgraph_documents.caching import ValueCache
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import Codec, config, make_checkpoint

MESSAGES = [f"message {number} " + "m" * 600 for number in range(200)]


def element(ref: str, size: int) -> dict[str, Any]:
    return {"ref": ref, "value": {"kind": "k", "payload": b"x" * size}}


def refs_read(codec: Codec) -> list[str]:
    """References the codec asks a store for from now on."""
    asked: list[str] = []
    perform = codec.perform

    def performing(command: Any) -> Any:
        for read in getattr(command, "reads", ()):
            for predicate in getattr(read, "where", ()):
                if predicate.field == "ref":
                    asked.extend(predicate.value)
        return perform(command)

    codec.perform = performing
    return asked


def test_a_process_that_goes_on_reads_no_value() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": MESSAGES, "text": "t" * 5000}))
    asked = refs_read(codec)
    loaded = codec.get_tuple(config()).checkpoint["channel_values"]
    assert loaded == {"messages": MESSAGES, "text": "t" * 5000}
    assert asked == []


def test_only_what_another_process_added_is_read() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": MESSAGES[:199]}))
    Codec(codec.documents).put(config(number=1), make_checkpoint(2, {"messages": MESSAGES}))
    asked = refs_read(codec)
    assert codec.get_tuple(config()).checkpoint["channel_values"] == {"messages": MESSAGES}
    assert sorted(ref[0] for ref in asked) == ["b", "c", "e"]


@pytest.mark.parametrize("capacity", [0, 1, 50_000, 32 * 1024 * 1024])
def test_any_capacity_gives_the_same_values(capacity: int) -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.memory = Memory(
        "engine.v1", codec.memory.serde, codec.recall, values=ValueCache(capacity)
    )
    for number in range(1, 30):
        values = {"messages": MESSAGES[: number * 6]}
        codec.put(config(number=number - 1 or None), make_checkpoint(number, values))
        assert codec.get_tuple(config()).checkpoint["channel_values"] == values
    assert codec.memory.values.size <= capacity
    for number in range(1, 30):
        loaded = codec.get_tuple(config(number=number)).checkpoint["channel_values"]
        assert loaded == {"messages": MESSAGES[: number * 6]}


def test_a_value_loaded_twice_is_two_values() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"items": [{"n": "x" * 2000}]}))
    codec.get_tuple(config()).checkpoint["channel_values"]["items"][0]["n"] = "changed"
    loaded = codec.get_tuple(config()).checkpoint["channel_values"]
    assert loaded == {"items": [{"n": "x" * 2000}]}


def test_a_deleted_thread_is_not_served() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": MESSAGES}))
    codec.put(config("t-2"), make_checkpoint(1, {"messages": MESSAGES}))
    other = Codec(codec.documents)
    other.delete_thread("t-1")
    assert codec.get_tuple(config()) is None
    codec.delete_thread("t-1")
    asked = refs_read(codec)
    assert codec.get_tuple(config("t-2")).checkpoint["channel_values"] == {"messages": MESSAGES}
    assert asked == []


def test_the_least_recently_used_goes_first_and_sizes_add_up() -> None:
    cache = ValueCache(capacity=5_000)
    cache.keep("t", [element("e-1", 1000), element("e-2", 1000)])
    assert cache.found("t", ["e-1"]) == {"e-1": element("e-1", 1000)}
    cache.keep("t", [element("e-3", 1000)])
    assert list(cache.found("t", ["e-2", "e-3", "e-1"])) == ["e-3", "e-1"]
    cache.keep("t", [element("e-1", 1000), {"ref": "c-1", "elements": [["e-1", 3]]}])
    cache.keep(
        "other", [{"ref": "p-1.0", "payload": b"x" * 500}, {"ref": "b-1", "chunks": ["c-1"]}]
    )
    before = cache.size
    cache.drop_thread("other")
    assert 0 < cache.size < before
    cache.drop_thread("t")
    assert cache.size == 0
    cache.keep("t", [element("e-9", 10_000)])
    assert cache.size == 0
