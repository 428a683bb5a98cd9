"""Full chunks of long lists are gathered into larger ones, so that no step stores a long list."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from naas_abi_sdk.langgraph_documents import BLOBS, ITEMS, references
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import Codec, all_documents, config, make_checkpoint


def messages(count: int) -> list[Any]:
    return [HumanMessage(f"{number} " + "m" * 40, id=str(number)) for number in range(count)]


def list_of(codec: Codec, number: int) -> dict[str, Any]:
    """The blob of the list that checkpoint ``number`` holds."""
    documents = all_documents(codec.documents).values()
    checkpoint_id = config(number=number)["configurable"]["checkpoint_id"]
    entry = next(
        data["channels"]["messages"]
        for data in documents
        if data.get("checkpoint_id") == checkpoint_id
    )
    return next(data for data in documents if data.get("ref") == entry["blob"])


def sizes(codec: Codec, number: int) -> list[int]:
    """How many elements each chunk of a stored list has."""
    stored = {
        data["ref"]: data for data in all_documents(codec.documents).values() if "ref" in data
    }
    return [len(stored[ref]["elements"]) for ref in list_of(codec, number)["chunks"]]


@pytest.mark.parametrize(
    ("length", "chunks"),
    [
        (255, [32] * 7 + [31]),
        (256, [256]),
        (300, [256, 32, 12]),
        (2047, [256] * 7 + [32] * 7 + [31]),
        (2048 + 256 + 1, [2048, 256, 1]),
    ],
)
def test_a_list_is_cut_into_the_largest_chunks_that_are_full(
    length: int, chunks: list[int]
) -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": messages(length)}))
    assert sizes(codec, 1) == chunks
    loaded = Codec(codec.documents).get_tuple(config())
    assert loaded.checkpoint["channel_values"]["messages"] == messages(length)


@pytest.mark.parametrize("restarted", [False, True], ids=["went on", "loaded"])
def test_gathering_stores_one_chunk_and_no_element_again(restarted: bool) -> None:
    """The message that fills the chunk is new, the 255 before it are stored."""
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": messages(255)}))
    if restarted:
        codec = Codec(codec.documents)
        codec.get_tuple(config())
    before = all_documents(codec.documents)
    codec.put(config(number=1), make_checkpoint(2, {"messages": messages(256)}))
    after = all_documents(codec.documents)
    new = [data["ref"][:2] for key, data in after.items() if key not in before and "ref" in data]
    assert sorted(new) == ["b-", "c-", "e-"]
    assert sizes(codec, 2) == [256]


def test_what_a_gathered_chunk_needs_survives_its_parts() -> None:
    """Elements known only through the smaller chunks are stored again once those are gone."""
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": messages(255)}))
    for key in all_documents(codec.documents):
        codec.documents.delete(*key)
    codec.put(config(number=1), make_checkpoint(2, {"messages": messages(256)}))
    loaded = Codec(codec.documents).get_tuple(config())
    assert loaded.checkpoint["channel_values"]["messages"] == messages(256)


@pytest.mark.parametrize("at", [0, 31, 255, 256, 299])
def test_a_message_changed_in_place_in_a_gathered_chunk_is_stored_changed(at: int) -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    state = messages(300)
    codec.put(config(), make_checkpoint(1, {"messages": state}))
    state[at].content = "changed"
    codec.put(config(number=1), make_checkpoint(2, {"messages": state}))
    loaded = Codec(codec.documents).get_tuple(config())
    assert loaded.checkpoint["channel_values"]["messages"][at].content == "changed"
    first = Codec(codec.documents).get_tuple(config(number=1))
    assert first.checkpoint["channel_values"]["messages"] == messages(300)


def test_a_list_that_shrinks_below_a_gathered_chunk_shares_its_elements() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"messages": messages(300)}))
    before = all_documents(codec.documents)
    codec.put(config(number=1), make_checkpoint(2, {"messages": messages(250)}))
    after = all_documents(codec.documents)
    assert {key[0] for key in after.keys() - before.keys()} >= {ITEMS, BLOBS}
    assert not [
        data
        for key, data in after.items()
        if key not in before and data.get("ref", "").startswith("e-")
    ]
    assert sizes(codec, 2) == [32] * 7 + [26]


def test_a_turn_writes_the_same_however_long_the_list() -> None:
    """The blob of up to 2,000 messages names 15 chunks at the most, not 63."""
    store = MemoryDocuments()
    codec = Codec(store.for_namespace("n"))
    state = messages(2_000)
    marks = (0, 256, 1_744, 2_000)
    total = {}
    for number, length in enumerate(range(0, 2_001, 4)):
        at = config(number=number - 1 if number else None)
        codec.put(at, make_checkpoint(number, {"messages": state[:length]}))
        if length in marks:
            total[length] = _size(store)
    assert total[2_000] - total[1_744] < (total[256] - total[0]) * 1.25


def test_reading_a_list_is_estimated_by_what_it_lists() -> None:
    blob = {"chunks": ["c-1", "c-2"], "length": 2048 + 10}
    estimates = [size for _, size in references(blob)]
    assert sum(estimates) >= (2048 + 10) * 75


def _size(store: MemoryDocuments) -> int:
    return sum(
        len(text)
        for collections in store.snapshot().values()
        for documents in collections.values()
        for text in documents.values()
    )
