"""Every configuration key is documented, every documented key exists, and the guide works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from naas_abi_core.engine.configuration import EngineConfiguration
from naas_abi_core.engine.engine import Engine
from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from tests.support.projects import Project

DOCS = Path(__file__).parents[3] / "docs"


def keys(model: type[BaseModel], above: str = "") -> Iterator[str]:
    """Dotted names of the leaves, ``[]`` for the items of a list, ``{name}`` for a mapping's."""
    for name, field in model.model_fields.items():
        key = f"{above}{name}"
        inner, mark = model_in(field.annotation)
        if inner is None:
            yield key
        else:
            yield from keys(inner, f"{key}{mark}.")


def model_in(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    arguments = get_args(annotation)
    marks = {dict: ".{name}", tuple: "[]"}
    for argument in arguments:
        if isinstance(argument, type) and issubclass(argument, BaseModel):
            return argument, marks.get(get_origin(annotation), "") if arguments else ""
    return None, ""


def test_the_documented_keys_are_exactly_those_of_the_models() -> None:
    text = (DOCS / "reference/configuration.md").read_text(encoding="utf-8")
    table = text.partition("| key |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([^`]+)`", table, re.MULTILINE) == sorted(
        keys(EngineConfiguration), key=ORDER.index
    )


#: The order of the table: what is written most comes first.
ORDER = [
    "default_agent",
    "chat_model.name",
    "chat_model.settings",
    "agents.{name}.chat_model.name",
    "agents.{name}.chat_model.settings",
    "agent_memory.allowed_types",
    "agent_memory.copied_keys",
    "modules[].module",
    "modules[].enabled",
    "modules[].path",
    "modules[].config",
    "services.document.document_adapter.adapter",
    "services.document.document_adapter.config",
    "nats.nats_url",
    "nats.jwt_secret",
    "nats.own_namespace_only",
    "nats.client_timeout_seconds",
    "nats.max_concurrent_requests",
    "nats.credentials_file",
    "nats.nkey_seed_file",
    "nats.tls_ca_file",
    "nats.tls_certificate_file",
    "nats.tls_key_file",
    "nats.engine.drain_seconds",
    "nats.rpc_overflow.enabled",
    "nats.rpc_overflow.max_value_bytes",
    "nats.rpc_overflow.max_parked_bytes",
    "nats.rpc_overflow.max_buffered_upload_bytes",
    "nats.rpc_overflow.chunk_bytes",
    "nats.rpc_overflow.idle_seconds",
    "nats.rpc_overflow.max_sessions",
]


def blocks(guide: str, language: str) -> list[str]:
    text = (DOCS / "how-to" / guide).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("position", range(3))
def test_the_configurations_of_the_guide_are_valid(tmp_path: Path, position: int) -> None:
    found = blocks("configure.md", "yaml")
    assert len(found) == 3
    file = tmp_path / "config.yaml"
    file.write_text(found[position], encoding="utf-8")
    environment = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    assert EngineConfiguration.from_file(file, environment).file == file


def test_the_module_of_the_guide_works(project: Project) -> None:
    module, agent = (
        block.replace("from shop", "from @shop") for block in blocks("write-a-module.md", "python")
    )
    (configuration,) = blocks("write-a-module.md", "yaml")
    project.write("@shop/__init__.py", module)
    project.write("@shop/agents/support.py", agent)
    file = project.config(configuration.replace("module: shop", "module: @shop"))
    with Engine.from_file(file) as engine:
        support = engine.agent()
        assert support.name == "support"
        assert isinstance(support.checkpointer, DocumentCheckpointSaver)
        assert support.invoke("When are you open on Sunday?")
