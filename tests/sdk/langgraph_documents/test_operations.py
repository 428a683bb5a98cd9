"""Operations where something else happens to the thread meanwhile, and what they refuse."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from naas_abi_sdk.document.commands import Apply, Emit, Find, Get, Together
from naas_abi_sdk.document.driving import run
from naas_abi_sdk.document.performing import perform
from naas_abi_sdk.errors import (
    CheckpointConflict,
    CheckpointDamaged,
    DocumentStorageError,
    InvalidCheckpointConfig,
    ThreadBusy,
    ValueNotStorable,
)
from naas_abi_sdk.langgraph_documents import CHECKPOINTS, ITEMS, TOMBSTONES, listing, operations
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.filtering import metadata_matches
from naas_abi_sdk.langgraph_documents.reading import equals
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import (
    Codec,
    all_documents,
    checkpoint_id,
    config,
    make_checkpoint,
    small_pages,
)

MESSAGES = [f"message {number} " + "m" * 60 for number in range(40)]


@pytest.fixture
def documents() -> Any:
    return MemoryDocuments().for_namespace("n")


@pytest.fixture
def codec(documents: Any) -> Codec:
    codec = Codec(documents)
    codec.put(config(), make_checkpoint(1, {"messages": MESSAGES}))
    codec.put(config(number=1), make_checkpoint(2, {"messages": [*MESSAGES, "more"]}))
    return codec


def before_command(codec: Codec, wanted: Callable[[Any], bool], action: Callable[[], None]) -> None:
    """Let ``action`` happen right before the first command that is ``wanted``."""
    perform_it = codec.perform
    pending = [action]

    def performing(command: Any) -> Any:
        if pending and wanted(command):
            pending.pop()()
        return perform_it(command)

    codec.perform = performing


def reads_items(command: Any) -> bool:
    return isinstance(command, Together) and command.reads[0].collection == ITEMS


def test_a_thread_deleted_while_it_is_read_is_gone(documents: Any, codec: Codec) -> None:
    """C080: a reader sees whole state or none."""
    reader = Codec(documents)
    before_command(reader, reads_items, lambda: codec.delete_thread("t-1"))
    assert reader.get_tuple(config()) is None


def test_a_thread_deleted_and_continued_while_it_is_read_is_read_anew(
    documents: Any, codec: Codec
) -> None:
    def replaced() -> None:
        codec.delete_thread("t-1")
        codec.put(config(), make_checkpoint(3, {"n": 3}))

    reader = Codec(documents)
    before_command(reader, reads_items, replaced)
    assert reader.get_tuple(config()).checkpoint["channel_values"] == {"n": 3}


def test_a_thread_that_is_always_replaced_while_read_ends_as_gone(
    documents: Any, codec: Codec
) -> None:
    def replaced(command: Any) -> Any:
        if reads_items(command):
            codec.delete_thread("t-1")
            number = next(numbers)
            fresh = [f"{number} {message}" for message in MESSAGES]
            codec.put(config(), make_checkpoint(number, {"messages": fresh}))
        return perform(documents, command)

    numbers = iter(range(3, 100))
    reader = Codec(documents, perform_with=replaced)
    assert reader.get_tuple(config()) is None
    assert next(numbers) == 3 + operations.READ_ATTEMPTS


def test_a_listing_leaves_out_what_was_deleted_meanwhile(documents: Any, codec: Codec) -> None:
    reader = Codec(documents)
    before_command(reader, reads_items, lambda: codec.delete_thread("t-1"))
    assert list(reader.history(config())) == []


def test_damage_is_reported_with_its_place(documents: Any, codec: Codec) -> None:
    lost = next(key for collection, key in all_documents(documents) if collection == ITEMS)
    documents.delete(ITEMS, lost)
    for read in (
        lambda: Codec(documents).get_tuple(config()),
        lambda: list(Codec(documents).history()),
    ):
        with pytest.raises(CheckpointDamaged, match=rf"{checkpoint_id(2)}.*'t-1'.*is missing"):
            read()


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "metadata without kind": lambda data: data["metadata"].pop("kind"),
    "metadata of a kind nobody knows": lambda data: data["metadata"].update(kind="pickle"),
    "metadata that is no msgpack": lambda data: data["metadata"].update(payload=b"\xc1"),
    "no metadata": lambda data: data.pop("metadata"),
    "checkpoint of another type": lambda data: data.update(checkpoint=3),
    "channels of another type": lambda data: data.update(channels=[1]),
    "an entry without value": lambda data: data["channels"].update(messages={}),
    "a reference to nothing": lambda data: data["channels"].update(messages={"blob": "b-0"}),
    "no parent": lambda data: data.pop("parent_id"),
    "a value that is no dict": lambda data: data["channels"].update(messages={"value": None}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_named_whatever_is_wrong(
    documents: Any, codec: Codec, damage: str
) -> None:
    key, data = next(
        (key, data)
        for key, data in all_documents(documents).items()
        if key[0] == CHECKPOINTS and data["checkpoint_id"] == checkpoint_id(2)
    )
    DAMAGES[damage](data)
    documents.put(*key, data)
    for read in (
        lambda: Codec(documents).get_tuple(config()),
        lambda: list(Codec(documents).history(config())),
        lambda: list(Codec(documents).history(config(), filter={"step": 0})),
    ):
        with pytest.raises(CheckpointDamaged, match=checkpoint_id(2)):
            read()
    assert Codec(documents).get_tuple(config(number=1)).checkpoint["id"] == checkpoint_id(1)


@pytest.mark.parametrize("letter", ["e", "c", "b"])
def test_a_value_that_is_not_what_its_address_says_is_refused(
    documents: Any, codec: Codec, letter: str
) -> None:
    codec.put(config(number=2), make_checkpoint(3, {"messages": MESSAGES, "text": "PAY 100" * 500}))
    for key, data in all_documents(documents).items():
        if data.get("ref", "").startswith(letter):
            if "value" in data:
                payload = data["value"]["payload"].replace(b"100", b"900").replace(b"mm", b"nn")
                data["value"]["payload"] = payload
            elif "elements" in data:
                data["elements"] = data["elements"][::-1]
            else:
                data["length"] += 1
                data["chunks"] = data["chunks"][::-1]
            documents.put(*key, data)
    with pytest.raises(CheckpointDamaged, match=f"'{letter}-"):
        Codec(documents).get_tuple(config())


def test_parts_that_are_not_what_their_address_says_are_refused(
    documents: Any, codec: Codec
) -> None:
    codec.put(config(number=2), make_checkpoint(3, {"text": "x" * 600_000}))
    for key, data in all_documents(documents).items():
        if data.get("ref", "").endswith(".1"):
            documents.put(*key, data | {"payload": data["payload"][:-1] + b"y"})
    with pytest.raises(CheckpointDamaged, match="do not hold what their address says"):
        Codec(documents).get_tuple(config())


def test_a_value_document_that_is_none_counts_as_missing(documents: Any, codec: Codec) -> None:
    for key, data in all_documents(documents).items():
        if data.get("ref", "").startswith("e-"):
            documents.put(*key, data | {"value": 7})
    with pytest.raises(CheckpointDamaged, match="'e-"):
        Codec(documents).get_tuple(config())


def test_an_unknown_schema_is_refused(documents: Any, codec: Codec) -> None:
    for key, data in all_documents(documents).items():
        if key[0] == CHECKPOINTS:
            documents.put(*key, data | {"_schema": 9})
    with pytest.raises(CheckpointDamaged, match="has schema 9, this version reads 2"):
        Codec(documents).get_tuple(config())


def test_deleting_a_thread_that_is_always_written_says_so(documents: Any, codec: Codec) -> None:
    numbers = iter(range(3, 100))
    scope = equals(agent_id="engine.v1", thread_id="t-1")
    left_over = Find(CHECKPOINTS, scope, limit=1, fields=())

    def performing(command: Any) -> Any:
        if isinstance(command, Together) and command.reads[0] == left_over:
            number = next(numbers)
            codec.put(config(), make_checkpoint(number, {"messages": MESSAGES}))
        return perform(documents, command)

    with pytest.raises(ThreadBusy, match="'t-1' kept being written"):
        Codec(documents, perform_with=performing).delete_thread("t-1")
    (left,) = list(Codec(documents).history())
    assert left.checkpoint["channel_values"] == {"messages": MESSAGES}


def test_an_order_whose_checkpoint_is_gone_is_passed_over(documents: Any, codec: Codec) -> None:
    with_parent = codec.put(config(number=2), make_checkpoint(0, {"n": 0}))
    assert codec.get_tuple(config()).config == with_parent
    lost = next(
        key
        for key, data in all_documents(documents).items()
        if data.get("checkpoint_id") == checkpoint_id(0)
    )
    documents.delete(CHECKPOINTS, lost[1])
    assert Codec(documents).get_tuple(config()).config == config(number=2)


def test_the_order_of_an_older_disorder_does_not_hide_later_checkpoints(
    documents: Any, codec: Codec
) -> None:
    codec.put(config(number=2), make_checkpoint(0, {"n": 0}))
    codec.put(config(number=0), make_checkpoint(3, {"n": 3}))
    assert Codec(documents).get_tuple(config()).config == config(number=3)


def test_thread_ids_that_are_not_text(codec: Codec) -> None:
    """C127: an int and a UUID stand for their text."""
    for thread_id in (7, UUID(int=7)):
        codec.put(config(thread_id), make_checkpoint(1, {}))
        assert codec.get_tuple(config(str(thread_id))).config == config(str(thread_id), 1)


def test_a_long_listing_reads_shared_values_once_a_page(documents: Any, codec: Codec) -> None:
    for number in range(3, 50):
        codec.put(
            config(number=number - 1),
            make_checkpoint(
                number, {"messages": MESSAGES, "n": number}, {"messages": 1, "n": number}
            ),
        )
    reader = Codec(documents)
    refs: list[str] = []
    perform_it = reader.perform

    def performing(command: Any) -> Any:
        for read in command.reads:
            refs.extend(
                ref
                for predicate in read.where
                if predicate.field == "ref"
                for ref in predicate.value
            )
        return perform_it(command)

    reader.perform = performing
    assert len(list(reader.history(config()))) == 49
    assert len(refs) == len(set(refs))


def test_disorder_is_logged(codec: Codec, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        codec.put(config(number=2), make_checkpoint(1, {"n": 1}) | {"id": checkpoint_id(0)})
    assert f"checkpoint {checkpoint_id(0)} of thread 't-1' sorts below its parent" in caplog.text


@pytest.mark.parametrize("other", [{"n": 2}, None])
def test_another_checkpoint_under_the_same_id_is_refused(
    documents: Any, codec: Codec, other: Any
) -> None:
    if other is None:  # it vanishes between the conflict and the comparison
        before_command(
            codec,
            lambda command: isinstance(command, Get),
            lambda: Codec(documents).delete_thread("t-1"),
        )
    with pytest.raises(CheckpointConflict, match="another checkpoint"):
        codec.put(config(number=1), make_checkpoint(2, other or {"n": 5}))


def test_a_value_the_serializer_refuses(codec: Codec) -> None:
    with pytest.raises(ValueNotStorable, match=r"channel 'a' of thread 't-1' is a _thread\.lock"):
        codec.put(config(), make_checkpoint(3, {"a": threading.Lock()}))


def test_failures_of_the_store_pass_through(documents: Any) -> None:
    store = MemoryDocuments()
    codec = Codec(store.for_namespace("n"))
    codec.put(config(), make_checkpoint(1, {"n": 1}))
    store.fail_after(0)
    with pytest.raises(DocumentStorageError):
        codec.put(config(number=1), make_checkpoint(2, {"n": 2}))
    store.fail_after(None)
    codec.put(config(number=1), make_checkpoint(2, {"n": 2}))


def test_running_an_operation_that_emits_is_a_mistake(codec: Codec) -> None:
    with pytest.raises(TypeError, match="must be iterated"):
        run(operations.history(codec.memory, None), codec.perform)
    with pytest.raises(TypeError, match="must be iterated"):
        perform(codec.documents, Emit(1))


def test_closing_a_listing_closes_the_operation(codec: Codec) -> None:
    listing = codec.history()
    next(listing)
    listing.close()
    assert list(listing) == []


def test_a_listing_stops_at_its_limit_without_reading_on(documents: Any, codec: Codec) -> None:
    for number in range(3, 60):
        codec.put(config(number=number - 1), make_checkpoint(number, {"n": number}))
    reader = Codec(documents)
    asked: list[Any] = []
    perform_it = reader.perform
    reader.perform = lambda command: (asked.append(command), perform_it(command))[1]
    assert len(list(reader.history(config(), limit=20))) == 20
    assert sum(read.collection == CHECKPOINTS for command in asked for read in command.reads) == 1
    assert list(reader.history(config(), limit=-1)) == []


def test_a_listing_covers_what_its_config_says(codec: Codec) -> None:
    codec.put(config("other", checkpoint_ns="child:1"), make_checkpoint(5, {}))

    def found(at: Any, **arguments: Any) -> list[str]:
        return [item.checkpoint["id"][-1] for item in codec.history(at, **arguments)]

    assert found(None) == ["5", "2", "1"]
    assert found({"configurable": {"thread_id": "other"}}) == ["5"]
    assert found(config("other")) == []
    assert found(config(number=1)) == ["1"]
    assert found({"configurable": {}}, before=config(number=2)) == ["1"]


def test_a_listing_of_two_namespaces_keeps_writes_apart(codec: Codec) -> None:
    codec.put(config(checkpoint_ns="child:1"), make_checkpoint(2, {}))
    codec.put_writes(config(number=2), [("a", "root")])
    codec.put_writes(config(number=2, checkpoint_ns="child:1"), [("a", "child")])
    found = {
        item.config["configurable"]["checkpoint_ns"]: [value for _, _, value in item.pending_writes]
        for item in codec.history({"configurable": {"thread_id": "t-1"}}, limit=2)
    }
    assert found == {"": ["root"], "child:1": ["child"]}


def test_metadata_longer_than_a_part_is_filtered_and_read(codec: Codec) -> None:
    """C113: the guard counts everything."""
    codec.put(
        config(number=2),
        make_checkpoint(3, {}),
        {"source": "loop", "note": "n" * 700_000, "tag": "x"},
    )
    (found,) = codec.history(config(), filter={"tag": "x"})
    assert found.metadata["note"] == "n" * 700_000
    reader = Codec(codec.documents)
    assert reader.get_tuple(config()).metadata["note"] == "n" * 700_000
    reader.put(config(number=3), make_checkpoint(4, {}), {"source": "loop", "note": "n" * 700_000})
    writes = [call for call in all_documents(codec.documents) if call[0] == "langgraph_parts_v2"]
    assert len(writes) >= 3


def test_parents_of_other_namespaces_are_relied_on_only_while_stored(
    documents: Any, codec: Codec
) -> None:
    child = config(checkpoint_ns="child:1")
    metadata = {"source": "loop", "step": 0, "parents": {"": checkpoint_id(2)}}
    commands: list[Any] = []
    perform_it = codec.perform
    codec.perform = lambda command: (commands.append(command), perform_it(command))[1]
    documents.delete(CHECKPOINTS, document_id("engine.v1", "t-1", "", checkpoint_id(2)))
    codec.put(child, make_checkpoint(5, {"messages": [*MESSAGES, "more"]}), metadata)
    sizes = [len(command.writes) for command in commands if isinstance(command, Apply)]
    assert sizes == [2, 46, 45]
    loaded = Codec(documents).get_tuple(child).checkpoint["channel_values"]
    assert loaded == {"messages": [*MESSAGES, "more"]}


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (config(None), "'thread_id'] is missing"),
        (config(True), "must be text, got bool"),
        (config("a\0"), "NUL"),
        (
            {"configurable": {"thread_id": "t", "checkpoint_ns": 1}},
            "'checkpoint_ns'] must be text, got int",
        ),
        (
            {"configurable": {"thread_id": "t", "checkpoint_id": 1}},
            "'checkpoint_id'] must be text, got int",
        ),
        ({}, "'thread_id'] is missing"),
    ],
)
def test_configs_that_name_no_place_are_refused(codec: Codec, at: Any, message: str) -> None:
    for call in (lambda: codec.get_tuple(at), lambda: codec.put(at, make_checkpoint(9, {}))):
        with pytest.raises(InvalidCheckpointConfig) as caught:
            call()
        assert message in str(caught.value)


def test_pending_writes_need_a_checkpoint(codec: Codec) -> None:
    with pytest.raises(InvalidCheckpointConfig, match="put_writes needs"):
        codec.put_writes(config(), [("a", 1)])


def test_what_there_is(documents: Any, codec: Codec) -> None:
    codec.put(config("b"), make_checkpoint(1, {}))
    codec.put(config("b", checkpoint_ns="child:1"), make_checkpoint(7, {}))
    codec.put(config("c", checkpoint_ns="child:1"), make_checkpoint(8, {}))
    found = codec.run(listing.threads(codec.memory))
    assert [(item.thread_id, item.checkpoints) for item in found] == [
        ("c", 1),
        ("b", 2),
        ("t-1", 2),
    ]
    assert codec.run(listing.thread_ids(codec.memory)) == ["b", "c", "t-1"]
    assert codec.run(listing.contains(codec.memory, config()))
    assert codec.run(listing.contains(codec.memory, config(number=1)))
    assert not codec.run(listing.contains(codec.memory, config(number=3)))
    assert codec.run(listing.lineage(codec.memory, config())) == [
        checkpoint_id(2),
        checkpoint_id(1),
    ]
    assert codec.run(listing.lineage(codec.memory, config("absent"))) == []


def test_listing_reads_ids_only(codec: Codec) -> None:
    asked: list[Any] = []
    perform_it = codec.perform
    codec.perform = lambda command: (asked.append(command), perform_it(command))[1]
    codec.run(listing.lineage(codec.memory, config()))
    codec.run(listing.contains(codec.memory, config()))
    reads = [read for command in asked for read in command.reads]
    assert {name for read in reads for name in read.fields} == {"checkpoint_id", "parent_id"}


def test_listing_threads_reads_no_document(documents: Any, codec: Codec) -> None:
    """C119."""
    for number in range(3, 60):
        codec.put(config(f"t-{number % 3}"), make_checkpoint(number, {}))
    other = replace(codec.memory, agent_id="other")
    documents.calls.clear()
    found = codec.run(listing.threads(codec.memory))
    assert {item.thread_id: item.checkpoints for item in found} == {"t-0": 19, "t-1": 21, "t-2": 19}
    assert codec.run(listing.threads(other)) == []
    assert {call[0] for call in documents.calls} == {"groups"}
    assert len(documents.calls) == 2


def test_a_store_nothing_was_written_to_has_no_threads() -> None:
    untouched = Codec(MemoryDocuments().for_namespace("n"))
    assert untouched.run(listing.threads(untouched.memory)) == []
    assert untouched.run(listing.thread_ids(untouched.memory)) == []


def test_threads_are_listed_page_by_page(monkeypatch: pytest.MonkeyPatch, codec: Codec) -> None:
    for number in range(3, 10):
        codec.put(config(f"t-{number}"), make_checkpoint(number, {}))
    monkeypatch.setattr(listing, "MAX_PAGE_SIZE", 3)
    ids = codec.run(listing.thread_ids(codec.memory))
    assert ids == ["t-1", *(f"t-{number}" for number in range(3, 10))]
    newest_first = [item.thread_id for item in codec.run(listing.threads(codec.memory))]
    assert newest_first == [f"t-{number}" for number in (9, 8, 7, 6, 5, 4, 3, 1)]


@pytest.mark.parametrize(
    ("metadata", "wanted", "matches"),
    [
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": True}, {"a": 1}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": True}, {"a": True}, True),
        ({}, {"a": None}, False),
        ({"a": {"b": [1, True]}}, {"a": {"b": [1, True]}}, True),
        ({"a": {"b": [1, True]}}, {"a": {"b": [1, 1]}}, False),
        ({"a": {"b": 1}}, {"a": {"c": 1}}, False),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"a": "x"}, {"a": ["x"]}, False),
        ({"a": float("nan")}, {"a": float("nan")}, False),
    ],
)
def test_metadata_matches(metadata: Any, wanted: Any, matches: bool) -> None:
    assert metadata_matches(metadata, wanted) is matches


def test_pages_are_followed_to_their_end(documents: Any, codec: Codec) -> None:
    for number in range(5):
        codec.put_writes(config(number=2), [("a", number)], f"task-{number}")
    reader = Codec(documents, perform_with=small_pages(documents))
    loaded = reader.get_tuple(config())
    assert loaded.checkpoint["channel_values"]["messages"] == [*MESSAGES, "more"]
    assert [value for _, _, value in loaded.pending_writes] == [0, 1, 2, 3, 4]
    reader.delete_thread("t-1")
    assert {collection for collection, _ in all_documents(documents)} == {TOMBSTONES}
