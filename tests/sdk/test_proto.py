"""The wire contract's messages: golden bytes, and company they must bear."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from naas_abi_sdk import errors
from naas_abi_sdk.proto.common.v1 import common_pb2
from naas_abi_sdk.proto.document.v1 import document_pb2
from naas_abi_sdk.proto.transfer.v1 import transfer_pb2

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "interop.json").read_text("utf-8"))
PACKAGES = {"common": common_pb2, "document": document_pb2, "transfer": transfer_pb2}
GOLDEN = [
    pytest.param(vector["message"], vector["hex"], id=f"{group}-{name}")
    for group in ("requests", "responses", "overflow_messages")
    for name, vector in VECTORS[group].items()
]

#: Another distribution with the same messages in files of other names, before or after ours.
OTHER_CONTRACT = """
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
def add_other():
    pool = descriptor_pool.Default()
    for module in (common_pb2, document_pb2):
        text = module.DESCRIPTOR.serialized_pb.replace(b"naas_abi_sdk", b"some_abi_abc")
        pool.AddSerializedFile(text)
    found = pool.FindMessageTypeByName("abi.document.v1.Value")
    other = message_factory.GetMessageClass(found)
    assert other(int_value=7).SerializeToString() == b"\\x18\\x0e"
    assert document_pb2.Value(int_value=7).SerializeToString() == b"\\x18\\x0e"
from naas_abi_sdk.proto.common.v1 import common_pb2
from naas_abi_sdk.proto.document.v1 import document_pb2
add_other()
"""


@pytest.mark.parametrize(("message", "golden"), GOLDEN)
def test_a_message_of_the_published_peers_is_read_and_written_alike(message, golden):
    _, package, _, name = message.split(".")
    read = getattr(PACKAGES[package], name).FromString(bytes.fromhex(golden))
    assert read.DESCRIPTOR.full_name == message
    assert read.SerializeToString(deterministic=True).hex() == golden


def test_another_distribution_may_bring_the_same_messages():
    subprocess.run([sys.executable, "-W", "error", "-c", OTHER_CONTRACT], check=True, timeout=60)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("INVALID_ARGUMENT", errors.InvalidArgument),
        ("DOCUMENT_NOT_FOUND", errors.DocumentNotFound),
        ("COLLECTION_NOT_FOUND", errors.CollectionNotFound),
        ("VERSION_CONFLICT", errors.VersionConflict),
        ("UNIQUE_VIOLATION", errors.UniqueViolation),
        ("STORAGE_ERROR", errors.DocumentStorageError),
        ("ADAPTER_ERROR", errors.DocumentAdapterError),
        ("UNAUTHENTICATED", errors.Unauthenticated),
        ("PERMISSION_DENIED", errors.PermissionDenied),
        ("PAYLOAD_TOO_LARGE", errors.PayloadTooLarge),
        ("UNAVAILABLE", errors.Unavailable),
        ("DEADLINE_EXCEEDED", errors.DeadlineExceeded),
        ("INTERNAL", errors.RPCError),
        ("RESOURCE_EXHAUSTED", errors.RPCError),
    ],
)
def test_a_code_names_an_error(code, kind):
    error = errors.error_named(code, "what happened")
    assert type(error) is kind
    assert error.code == code
    assert "what happened" in str(error)
