"""What a store can make a reader do, and what of a run ends up in it."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Interrupt, Send
from pydantic import SecretBytes, SecretStr

from naas_abi_core.engine.configuration import EngineConfiguration
from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.service import DocumentService
from naas_abi_sdk.errors import ValueNotStorable
from naas_abi_sdk.langgraph_documents import CHECKPOINTS
from naas_abi_sdk.langgraph_documents.faithful import FaithfulSerializer
from naas_abi_sdk.langgraph_documents.sameness import difference
from naas_abi_sdk.langgraph_documents.unavailable import UnavailableValue
from tests.support.checkpoints import config, make_checkpoint
from tests.support.kept_values import Order, Total

STEP: Any = {"source": "loop", "step": 1, "parents": {}}
SECRET = "s3cr3t-never-to-be-seen"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "documents.sqlite"


@pytest.fixture
def root(path: Path) -> Iterator[Any]:
    root = DocumentService.for_engine(SQLiteDocuments(path))
    yield root
    root.close()


@pytest.fixture
def engines(root: Any) -> DocumentCheckpointSaver:
    return DocumentCheckpointSaver.for_engine(root)


def plant(root: Any, payload: bytes, kind: str = "msgpack") -> None:
    """Replace the value of channel ``a``, as somebody who can write to the store."""
    documents = root.for_namespace("naas_abi_core.services.agent")
    (document,) = documents.find(CHECKPOINTS).items
    document.data["channels"]["a"] = {"value": {"kind": kind, "payload": payload}}
    documents.put(CHECKPOINTS, document.id, document.data)


def value_of_a(saver: DocumentCheckpointSaver) -> Any:
    (listed,) = saver.list(config())
    loaded = saver.get_tuple(config())
    assert loaded is not None
    found = loaded.checkpoint["channel_values"]["a"]
    assert found == listed.checkpoint["channel_values"]["a"]
    return found


@pytest.mark.parametrize("code", [0, 1, 2, 4, 5, 68, 69, 70, 71, 74])
def test_a_planted_class_is_not_even_imported(
    engines: DocumentCheckpointSaver,
    root: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
) -> None:
    """C022: it is shown as what it is."""
    marker = tmp_path / "marker"
    source = f"open({str(marker)!r}, 'w').close()\nclass Harmless(dict): pass\n"
    (tmp_path / "planted_module.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    engines.put(config(), make_checkpoint(1, {"a": 1}), STEP, {})
    content = ormsgpack.packb(["planted_module", "Harmless", {"x": 1}, None, [], {}])
    plant(root, ormsgpack.packb(ormsgpack.Ext(code, content)), "abi-msgpack")
    found = value_of_a(engines)
    assert type(found) is UnavailableValue
    assert found.unavailable_data[0] == {"x": 1}
    assert "not an allowed type; add 'planted_module.Harmless'" in found.unavailable_because
    assert not marker.exists()
    assert "planted_module" not in sys.modules


@pytest.mark.parametrize(
    ("module", "name"), [("builtins", "eval"), ("os", "system"), ("subprocess", "Popen")]
)
def test_nothing_is_called_that_no_serializer_writes(
    root: Any, tmp_path: Path, module: str, name: str
) -> None:
    """C022: not even by a saver that allows every type."""
    saver = DocumentCheckpointSaver(
        root.for_namespace("naas_abi_core.services.agent"), agent_id="engine.v1"
    )
    saver.put(config(), make_checkpoint(1, {"a": 1}), STEP, {})
    marker = tmp_path / "marker"
    command = f"open({str(marker)!r}, 'w').close()" if name == "eval" else f"touch {marker}"
    plant(root, ormsgpack.packb(ormsgpack.Ext(0, ormsgpack.packb([module, name, command]))))
    found = value_of_a(saver)
    assert type(found) is UnavailableValue
    assert "nothing a serializer writes" in found.unavailable_because
    assert not marker.exists()


def test_a_method_that_no_serializer_asks_for(engines: DocumentCheckpointSaver, root: Any) -> None:
    """C022."""
    engines.put(config(), make_checkpoint(1, {"a": 1}), STEP, {})
    content = ormsgpack.packb(["datetime", "datetime", "2026", "strptime"])
    plant(root, ormsgpack.packb(ormsgpack.Ext(3, content)))
    assert "its method 'strptime'" in value_of_a(engines).unavailable_because


def test_an_engine_refuses_a_type_that_is_not_allowed(engines: DocumentCheckpointSaver) -> None:
    """C023: with what to do."""
    place = "channel 'a'[0] of thread 't-1' is a tests.support.kept_values.Order that cannot"
    with pytest.raises(ValueNotStorable, match=re.escape(place)) as caught:
        engines.put(config(), make_checkpoint(1, {"a": [Order(note=1)]}), STEP, {})
    mend = "add 'tests.support.kept_values.Order' to agent_memory.allowed_types in config.yaml"
    assert mend in str(caught.value)


@pytest.mark.parametrize("allowed", ["tests.support.kept_values.Order", Order])
def test_an_allowed_type_is_read_without_a_word(
    root: Any, caplog: pytest.LogCaptureFixture, allowed: Any
) -> None:
    """C023: types inside it are allowed by themselves."""
    names = (allowed, "tests.support.kept_values.Order.State")
    saver = DocumentCheckpointSaver.for_engine(root, allowed_types=names)
    value = [Order(note=1), Order.State.OPEN, HumanMessage("x"), Send("n", {"a": 1})]
    saver.put(config(), make_checkpoint(1, {"a": value}), STEP, {})
    with caplog.at_level(logging.DEBUG):
        assert value_of_a(DocumentCheckpointSaver.for_engine(root, allowed_types=names)) == value
    assert caplog.text == ""


def test_an_open_saver_warns_once_for_each_type(
    root: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C023."""
    monkeypatch.setattr("naas_abi_sdk.langgraph_documents.allowing._warned", set())
    value = [Total(1), Total(2), HumanMessage("x")]
    for _ in range(2):
        saver = DocumentCheckpointSaver(root.for_namespace("n"), agent_id="a")
        saver.put(config(), make_checkpoint(1, {"a": value}), STEP, {})
        assert value_of_a(saver) == value
    assert [record.getMessage().split(" is read")[0] for record in caplog.records] == [
        "tests.support.kept_values.Total"
    ]


def test_langgraphs_own_lists_are_obeyed() -> None:
    """C023: and the lists that a compiled graph adds to them."""
    extend = getattr(JsonPlusSerializer, "with_msgpack_allowlist", None)
    value = Order(note=1)
    typed = FaithfulSerializer().dumps_typed(value)
    if extend is not None:
        given = JsonPlusSerializer(allowed_msgpack_modules=[("other", "Type")])
        strict = FaithfulSerializer(given)
        assert type(strict.loads_typed(typed)) is UnavailableValue
        wider = strict.with_msgpack_allowlist([(Order.__module__, "Order")])
        assert wider.loads_typed(typed) == value
        assert wider.with_msgpack_allowlist([Order]) is wider
    engines = FaithfulSerializer(allowed_types=[])
    assert type(engines.loads_typed(typed)) is UnavailableValue
    assert engines.with_msgpack_allowlist([Order]).loads_typed(typed) == value
    everything = FaithfulSerializer()
    assert everything.with_msgpack_allowlist([Order]) is everything


def test_one_key_of_the_configuration_allows_a_type(tmp_path: Path) -> None:
    """C023: and one that is no class path is refused with its place."""
    file = tmp_path / "config.yaml"
    file.write_text("agent_memory:\n  allowed_types: [shop.cart.Cart]\n  copied_keys: [user]\n")
    found = EngineConfiguration.from_file(file, {}).agent_memory
    assert (found.allowed_types, found.copied_keys) == (("shop.cart.Cart",), ("user",))
    file.write_text("agent_memory:\n  allowed_types: [Cart]\n")
    with pytest.raises(Exception, match=r"'Cart' is not the dotted path of a class"):
        EngineConfiguration.from_file(file, {})
    with pytest.raises(ValueError, match=r"'Cart' is not the dotted path"):
        FaithfulSerializer(allowed_types=["Cart"])


def test_langgraphs_own_are_stored_as_langgraph_stores_them() -> None:
    """C020: and what is in them is kept as well."""
    serde = FaithfulSerializer()
    interrupt = Interrupt(value={"q": [1]}, id="i")
    for value in (Send("n", {"a": [HumanMessage("x")]}), interrupt, [Send("n", 1)]):
        typed = serde.dumps_typed(value)
        assert typed == JsonPlusSerializer().dumps_typed(value)
        assert difference(value, serde.loads_typed(typed)) is None
    for value in (Send("n", {"a": (1,)}), Interrupt(value=(1,), id="i"), Command(goto=("a", "b"))):
        typed = serde.dumps_typed(value)
        assert typed[0] == "abi-msgpack"
        assert difference(value, serde.loads_typed(typed)) is None


def stored_bytes(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


@pytest.mark.parametrize(
    "name", ["api_key", "authToken", "DB-PASSWORD", "OPENAI_API_KEY", "Authorization", "userPat"]
)
@pytest.mark.parametrize("part", ["configurable", "metadata"])
def test_keys_of_a_run_are_not_stored(
    engines: DocumentCheckpointSaver, path: Path, name: str, part: str
) -> None:
    """C026: and what has another name still is, for filters."""
    run = config()
    run[part] = {**run.get(part, {}), name: SECRET, "user": "ada", "key": "k", "keys_pressed": 3}
    engines.put(run, make_checkpoint(1, {"a": 1}), STEP, {})
    assert SECRET.encode() not in stored_bytes(path)
    (found,) = engines.list(config(), filter={"user": "ada", "key": "k", "keys_pressed": 3})
    assert name not in found.metadata


def test_only_the_keys_that_were_named_are_copied(root: Any, path: Path) -> None:
    """C026."""
    saver = DocumentCheckpointSaver.for_engine(root, copied_keys=["user"])
    run = config()
    run["configurable"].update(user="ada", harmless=SECRET)
    saver.put(run, make_checkpoint(1, {"a": 1}), STEP, {})
    assert SECRET.encode() not in stored_bytes(path)
    loaded = saver.get_tuple(config())
    assert loaded is not None
    assert {"user", "harmless"} & loaded.metadata.keys() == {"user"}


def with_private(secret: Any) -> Order:
    order = Order(note=1)
    order._seen = secret
    return order


def with_field(secret: Any) -> Total:
    total = Total(1)
    total.gross = secret
    return total


@pytest.mark.parametrize(
    "hold",
    [
        lambda secret: secret,
        lambda secret: {"a": [({"b": secret},)]},
        lambda secret: AIMessage(
            "x", tool_calls=[{"name": "t", "args": {"deep": [secret]}, "id": "1"}]
        ),
        lambda secret: ToolMessage("x", tool_call_id="1", artifact={"k": (secret,)}),
        lambda secret: Send("n", {"a": secret}),
        lambda secret: Order(note=[secret]),
        with_private,
        with_field,
    ],
)
@pytest.mark.parametrize("secret", [SecretStr(SECRET), SecretBytes(SECRET.encode())])
def test_secrets_in_state_are_not_stored(root: Any, path: Path, hold: Any, secret: Any) -> None:
    """C027: wherever they are."""
    types = [Order, Total]
    saver = DocumentCheckpointSaver.for_engine(root, allowed_types=types)
    saver.put(config(), make_checkpoint(1, {"a": hold(secret)}), STEP, {})
    saver.put_writes(config(number=1), [("a", hold(secret))], "task")
    found = value_of_a(DocumentCheckpointSaver.for_engine(root, allowed_types=types))
    assert SECRET.encode() not in stored_bytes(path)
    assert "REDACTED" in repr(found) or found != hold(secret)
    assert secret.get_secret_value() in (SECRET, SECRET.encode())


def test_a_secret_that_cannot_be_taken_out_is_refused(
    engines: DocumentCheckpointSaver, path: Path
) -> None:
    """C027."""
    with pytest.raises(ValueNotStorable, match="secrets are not stored"):
        engines.put(config(), make_checkpoint(1, {"a": {SecretStr(SECRET): 1}}), STEP, {})
    assert SECRET.encode() not in stored_bytes(path)
