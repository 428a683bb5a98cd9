"""The codec against documents stored by the published packages."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import SecretStr

from naas_abi_sdk.document.commands import Apply
from naas_abi_sdk.langgraph_documents import (
    Memory,
    batches,
    next_version,
    operations,
    redact_secrets,
    schema,
)
from naas_abi_sdk.langgraph_documents.addresses import chunk_ref, document_id, element_ref, list_ref
from naas_abi_sdk.langgraph_documents.encoding import Encoder
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import AGENT_ID, Codec, all_documents

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "interop.json").read_text())
STEPS = VECTORS["schema2"]["steps"]


def plain(value: Any) -> Any:
    """A value of the vectors with its bytes tags resolved."""
    if isinstance(value, dict):
        if value.get("$t") == "bytes":
            return base64.b64decode(value["$v"])
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def step_values(step: dict[str, Any]) -> dict[str, Any]:
    checkpoint = plain(step["checkpoint"])
    if "repeated 16384 times" in str(checkpoint["channel_values"].get("blob")):
        checkpoint["channel_values"]["blob"] = "0123456789abcdef" * 16384 + "tail"
    return checkpoint


def expected(puts: list[dict[str, Any]]) -> dict[tuple[str, str], Any]:
    return {(put["collection"], put["key"]): plain(put["data"]) for put in puts}


def without_omitted(stored: dict[tuple[str, str], Any], wanted: dict[tuple[str, str], Any]) -> None:
    """Replace payloads the vectors only describe by a description of ours, after checking it."""
    for key, data in wanted.items():
        payload = data.get("payload")
        if isinstance(payload, dict) and "$note" in payload:
            assert len(stored[key]["payload"]) == payload["size"]
            stored[key]["payload"] = payload


def test_every_stored_document_equals_the_published_one() -> None:
    documents = MemoryDocuments().for_namespace("n")
    savers = {"t-1": Codec(documents), "t-2": Codec(documents)}
    for step in STEPS:
        saver = savers[step["config"]["configurable"]["thread_id"]]
        returned = saver.put(step["config"], step_values(step), step["metadata"])
        assert returned == step["returned_config"]
    pending = VECTORS["schema2"]["pending_writes"]
    writes = [
        (
            put["data"]["channel"],
            JsonPlusSerializer().loads_typed(tuple(plain(put["data"]["value"]).values())),
        )
        for put in pending["puts"]
    ]
    savers["t-1"].put_writes(pending["config"], writes, pending["task_id"], pending["task_path"])

    wanted = expected([put for step in STEPS for put in step["puts"]] + pending["puts"])
    stored = all_documents(documents)
    without_omitted(stored, wanted)
    assert stored == wanted


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["name"][:7])
def test_a_step_writes_its_documents_in_the_published_order(step: dict[str, Any]) -> None:
    """Up to values the published saver remembers from an ancestor, which ours stores again."""
    documents = MemoryDocuments().for_namespace("n")
    savers = {"t-1": Codec(documents), "t-2": Codec(documents)}
    savers["t-1"].run(operations.setup())
    commands: list[Any] = []
    for earlier in STEPS:
        saver = savers[earlier["config"]["configurable"]["thread_id"]]
        perform = saver.perform
        if earlier is step:
            saver.perform = lambda command, perform=perform: (
                commands.append(command),
                perform(command),
            )[1]
        saver.put(earlier["config"], step_values(earlier), earlier["metadata"])
        if earlier is step:
            break
    written = [
        write.id
        for command in commands
        for write in getattr(command, "writes", ())
        if hasattr(write, "data")
    ]
    published = [put["key"] for put in step["puts"]]
    assert [key for key in written if key in published] == published
    assert len(written) - len(published) in ((2,) if step["name"].startswith("4") else (0,))


def test_published_documents_are_read_back() -> None:
    documents = MemoryDocuments().for_namespace("n")
    for spec in schema.COLLECTIONS:
        documents.ensure_collection(spec)
    for step in STEPS[:4]:
        for (collection, key), data in expected(step["puts"]).items():
            documents.put(collection, key, data)
    reader = Codec(documents)
    for step in STEPS[:4]:
        loaded = reader.get_tuple(step["returned_config"])
        assert loaded.checkpoint == step_values(step)
        assert loaded.metadata == step["metadata"]


def test_writing_without_a_known_parent_stores_every_document() -> None:
    documents = MemoryDocuments().for_namespace("n")
    commands: list[Any] = []
    saver = Codec(documents)
    perform = saver.perform
    saver.perform = lambda command: (commands.append(command), perform(command))[1]
    step = STEPS[2]
    saver.put(step["config"], step_values(step), step["metadata"])
    (applied,) = [command for command in commands[-2:] if isinstance(command, Apply)]
    writes = applied.writes
    assert len(writes) == VECTORS["read_plan_of_step_3"]["documents_written_without_known_parent"]


def test_reading_by_reference_takes_the_published_reads() -> None:
    documents = MemoryDocuments().for_namespace("n")
    saver = Codec(documents)
    for step in STEPS[:3]:
        saver.put(step["config"], step_values(step), step["metadata"])
    reader = Codec(documents)
    reads: list[tuple[str, list[str]]] = []
    perform = reader.perform

    def recording(command: Any) -> Any:
        for read in getattr(command, "reads", ()):
            reads.extend(
                (read.collection, predicate.value)
                for predicate in getattr(read, "where", ())
                if predicate.operator == "in"
            )
        return perform(command)

    reader.perform = recording
    reader.get_tuple(STEPS[2]["returned_config"])
    published = VECTORS["read_plan_of_step_3"]["reads"]
    assert [(name, len(refs)) for name, refs in reads] == [
        (read["collection"], read["refs"]) for read in published
    ]
    assert all(read["first"] in refs for read, (_, refs) in zip(published, reads, strict=True))


@pytest.mark.parametrize("case", VECTORS["keys"], ids=lambda case: case["preimage"])
def test_document_ids(case: dict[str, Any]) -> None:
    assert document_id(case["agent_id"], *case["parts"]) == case["key"]


def test_content_addresses() -> None:
    examples = VECTORS["ref_preimages"]
    element = examples["example_element"]
    assert element_ref(element["kind"], base64.b64decode(element["payload_b64"])) == element["ref"]
    assert (
        chunk_ref(json.loads(examples["example_chunk_preimage"])) == examples["example_chunk_ref"]
    )
    chunks = json.loads(examples["example_list_blob_preimage"][1:])
    assert list_ref(chunks) == examples["example_list_blob_ref"]


CHANNELS = {
    "list_empty": [],
    "list40": STEPS[1]["checkpoint"]["channel_values"]["messages"],
    "string": "x" * 1500,
}


@pytest.mark.parametrize("name", sorted(CHANNELS))
def test_channel_entries(name: str) -> None:
    wanted = next(case["entry"] for case in VECTORS["channel_entries"] if case["name"] == name)
    encoder = Encoder(Memory(AGENT_ID, JsonPlusSerializer()), "t-1")
    assert encoder.channel(name, CHANNELS[name], 1).entry == plain(wanted)


@pytest.mark.parametrize("case", VECTORS["batches"])
def test_batches(case: dict[str, Any]) -> None:
    wanted = [(name, refs) for name, refs in case["batches"]]
    assert batches([(ref, size) for ref, size in case["refs"]]) == wanted


@pytest.mark.parametrize("case", VECTORS["next_version"], ids=lambda case: str(case["current"]))
def test_next_version(case: dict[str, Any]) -> None:
    assert next_version(case["current"]) == case["next"]


def test_redaction() -> None:
    (case,) = VECTORS["redaction"]
    assert redact_secrets(SecretStr("s")).get_secret_value() == case["secret_after"]


CONSTANTS = VECTORS["schema2_constants"]


@pytest.mark.parametrize(
    ("ours", "published"),
    [
        ("SCHEMA_VERSION", "SCHEMA_VERSION"),
        ("PART_SIZE", "PART_SIZE"),
        ("INLINE_LIMIT", "INLINE_LIMIT"),
        ("CHUNK_SIZE", "CHUNK_SIZE"),
        ("READ_BUDGET", "READ_BUDGET"),
        ("DOCUMENT_OVERHEAD", "DOCUMENT_OVERHEAD"),
        ("CHUNK_BYTES", "CHUNK_BYTES"),
        ("STORED_BYTES", "STORED_BYTES"),
        ("REDACTED_SECRET", "REDACTED_SECRET"),
    ],
)
def test_constants(ours: str, published: str) -> None:
    assert getattr(schema, ours) == CONSTANTS[published]


def test_collections_declare_the_published_fields() -> None:
    ours = {spec.name: [field.name for field in spec.fields] for spec in schema.COLLECTIONS}
    assert ours.items() >= CONSTANTS["collections"].items()
