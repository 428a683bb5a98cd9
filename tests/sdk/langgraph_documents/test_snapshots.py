"""A delta channel's snapshot shares elements and chunks with others, and reads back as one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde import types as serde_types
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from naas_abi_sdk.document.types import Require
from naas_abi_sdk.errors import CheckpointDamaged
from naas_abi_sdk.langgraph_documents import BLOBS, CHECKPOINTS, CHUNK_SIZE, ITEMS, references
from naas_abi_sdk.langgraph_documents.addresses import (
    document_id,
    is_addressed,
    list_ref,
    snapshot_ref,
)
from naas_abi_sdk.langgraph_documents.deltas import delta_history
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import (
    AGENT_ID,
    Codec,
    all_documents,
    checkpoint_id,
    config,
    make_checkpoint,
)

Snapshot: Any = getattr(serde_types, "_DeltaSnapshot", None)

pytestmark = pytest.mark.skipif(
    Snapshot is None, reason="this release of LangGraph has no DeltaChannel"
)

MESSAGES = [HumanMessage(f"message {number} " + "m" * 300, id=str(number)) for number in range(200)]


def codec() -> Codec:
    return Codec(MemoryDocuments().for_namespace("n"))


def put_snapshot(codec: Codec, number: int, value: Any, parent: int | None = None) -> None:
    codec.put(config(number=parent), make_checkpoint(number, {"messages": Snapshot(value)}))


def loaded(codec: Codec, number: int) -> Any:
    return codec.get_tuple(config(number=number)).checkpoint["channel_values"]["messages"]


def go_on(codec: Codec, start: int, end: int) -> None:
    """Checkpoints without a snapshot, from ``start`` to ``end``."""
    for number in range(start + 1, end + 1):
        codec.put(config(number=number - 1), make_checkpoint(number, {}, {"messages": number}))


def history(codec: Codec, number: int) -> Any:
    return codec.run(delta_history(codec.memory, config(number=number), ["messages"]))["messages"]


def keys(codec: Codec) -> set[tuple[str, str]]:
    return set(all_documents(codec.documents))


@pytest.mark.parametrize(
    "value",
    [
        MESSAGES,
        ["text" * 300, "more"],
        [{"n": number, "t": "x" * 100} for number in range(CHUNK_SIZE + 1)],
        ["short"],
        [],
        None,
        "t" * 5000,
        {"a": ["x" * 5000]},
        {"a" * 2000, "b"},
    ],
)
def test_a_snapshot_reads_back_as_one(value: Any) -> None:
    ours = codec()
    put_snapshot(ours, 1, value)
    for reader in (ours, Codec(ours.documents)):
        found = loaded(reader, 1)
        assert type(found) is Snapshot
        assert found == Snapshot(value)
        assert type(found.value) is type(value)


def test_a_list_and_a_snapshot_of_it_are_told_apart() -> None:
    ours = codec()
    values = {"messages": Snapshot(MESSAGES), "list": MESSAGES}
    ours.put(config(), make_checkpoint(1, values))
    read = Codec(ours.documents).get_tuple(config()).checkpoint["channel_values"]
    assert type(read["messages"]) is Snapshot
    assert type(read["list"]) is list
    assert read["messages"].value == read["list"] == MESSAGES
    names = [name for name, _ in keys(ours)]
    assert names.count(ITEMS) == 200 + -(-200 // CHUNK_SIZE)  # both list the same elements
    assert names.count(BLOBS) == 2


def test_a_snapshot_is_stored_so_that_all_its_references_are_seen() -> None:
    ours = codec()
    put_snapshot(ours, 1, MESSAGES[:40])
    (blob,) = (data for (name, _), data in all_documents(ours.documents).items() if name == BLOBS)
    assert blob["snapshot"] is True
    assert blob["length"] == 40
    assert [ref for ref, _ in references(blob)] == blob["chunks"]
    assert is_addressed(blob)
    # A reader that goes by chunks alone finds an address that is not a list's.
    assert blob["ref"] != list_ref(blob["chunks"])
    assert not is_addressed({name: blob[name] for name in blob.keys() - {"snapshot"}})


def test_the_address_of_a_snapshot_never_changes() -> None:
    assert snapshot_ref(["c-00", "c-01"]) == (
        "b-3dffb0d0888ec524294c0adc704992e84d2fbf87251b8758763df77c65bdf044"
    )


@pytest.mark.parametrize("restarted", ["never", "before", "after its history was read"])
def test_the_next_snapshot_stores_what_is_new(restarted: str) -> None:
    ours = codec()
    put_snapshot(ours, 1, MESSAGES[:150])
    go_on(ours, 1, 20)
    if restarted != "never":
        ours = Codec(ours.documents)
        assert loaded_head(ours) == {}
    if restarted.startswith("after"):
        assert history(ours, 20)["seed"].value == MESSAGES[:150]
    before = keys(ours)
    stored = written(ours)
    put_snapshot(ours, 21, MESSAGES, parent=20)
    added = keys(ours) - before
    # 50 messages, the chunks from the one that was not full, the blob and the checkpoint.
    assert len(added) == 50 + 3 + 2
    values = [write for write in stored if getattr(write, "collection", None) == ITEMS]
    if restarted == "before":
        assert len(values) == 200 + 7  # all are offered: nothing is known to be stored
    else:
        assert len(values) == 50 + 3
        required = [write.id for write in stored if isinstance(write, Require)]
        relied_on = [document_id(AGENT_ID, "t-1", "", checkpoint_id(number)) for number in (20, 1)]
        assert required == relied_on
    assert loaded(Codec(ours.documents), 21).value == MESSAGES


def loaded_head(codec: Codec) -> Any:
    return codec.get_tuple(config()).checkpoint["channel_values"]


def written(codec: Codec) -> list[Any]:
    """What the codec writes from now on."""
    found: list[Any] = []
    perform = codec.perform

    def performing(command: Any) -> Any:
        found.extend(getattr(command, "writes", ()))
        return perform(command)

    codec.perform = performing
    return found


@pytest.mark.parametrize("restarted", [False, True])
def test_a_snapshot_that_was_deleted_is_not_relied_on(restarted: bool) -> None:
    ours = codec()
    put_snapshot(ours, 1, MESSAGES[:150])
    go_on(ours, 1, 5)
    if restarted:
        ours = Codec(ours.documents)
        ours.get_tuple(config())
        history(ours, 5)
    for name, key in keys(ours):
        if name in (BLOBS, ITEMS) or key == document_id(AGENT_ID, "t-1", "", checkpoint_id(1)):
            ours.documents.delete(name, key)
    put_snapshot(ours, 6, MESSAGES, parent=5)
    assert loaded(Codec(ours.documents), 6).value == MESSAGES


def test_a_message_changed_in_place_is_stored_anew() -> None:
    ours = codec()
    messages = [message.model_copy() for message in MESSAGES[:100]]
    put_snapshot(ours, 1, messages)
    messages[3].content = "changed"
    messages[99].content = "changed as well"
    put_snapshot(ours, 2, messages, parent=1)
    assert loaded(Codec(ours.documents), 2).value == messages
    assert loaded(Codec(ours.documents), 1).value == MESSAGES[:100]
    found = loaded(ours, 2)
    found.value[5].content = "the caller's own"
    assert loaded(ours, 2).value == messages


def test_an_unchanged_snapshot_is_not_serialized_again() -> None:
    ours = codec()
    put_snapshot(ours, 1, MESSAGES)
    before = keys(ours)
    ours.put(
        config(number=1), make_checkpoint(2, {"messages": Snapshot(MESSAGES)}, {"messages": 1})
    )
    assert {name for name, _ in keys(ours) - before} == {CHECKPOINTS}
    assert loaded(Codec(ours.documents), 2).value == MESSAGES


def test_encrypted_snapshots_read_back() -> None:
    ours = codec()
    cipher = EncryptedSerializer.from_pycryptodome_aes(JsonPlusSerializer(), key=b"k" * 16)
    object.__setattr__(ours.memory, "serde", cipher)
    put_snapshot(ours, 1, MESSAGES[:50])
    put_snapshot(ours, 2, [*MESSAGES[:50], AIMessage("new")], parent=1)
    assert loaded(ours, 2).value == [*MESSAGES[:50], AIMessage("new")]


def test_a_langgraph_without_delta_channels_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = codec()
    put_snapshot(ours, 1, MESSAGES[:50])
    monkeypatch.setattr("naas_abi_sdk.langgraph_documents._langgraph._SNAPSHOT", None)
    with pytest.raises(CheckpointDamaged, match="Upgrade LangGraph"):
        Codec(ours.documents).get_tuple(config())
    plain = codec()
    plain.put(config(), make_checkpoint(1, {"messages": MESSAGES}))
    assert loaded_head(plain) == {"messages": MESSAGES}
