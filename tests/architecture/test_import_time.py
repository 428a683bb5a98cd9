"""Importing costs little: what a plain import loads is exact, where a stopwatch would guess."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "google.protobuf",
    "langchain",
    "langchain_core",
    "langgraph",
    "nats",
    "psycopg",
    "pydantic",
    "rich.progress",
    "sqlite3",
    "yaml",
}


def loaded_by(statement: str) -> set[str]:
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(answer.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "statement",
    [
        "import naas_abi_sdk",
        "import naas_abi_sdk.document.types, naas_abi_sdk.errors, naas_abi_sdk.limits",
        "import naas_abi_core",
        "import naas_abi_core.errors",
        "import naas_abi_cli",
    ],
)
def test_a_plain_import_loads_no_driver_and_no_framework(statement: str) -> None:
    assert loaded_by(statement) & HEAVY == set()


def test_a_client_is_built_without_the_driver_of_the_broker_and_without_langgraph() -> None:
    script = (
        "from naas_abi_sdk import ABIClient, ModuleToken\n"
        "ABIClient('acme.chat', 'nats://127.0.0.1:1', token=ModuleToken('acme.chat', 'k'))"
    )
    assert loaded_by(script) & {"nats", "jwt", "langgraph", "langchain_core"} == set()


def test_the_codec_needs_only_the_types_of_langgraph() -> None:
    loaded = loaded_by("import naas_abi_sdk.langgraph_documents")
    assert loaded & {"nats", "sqlite3", "psycopg", "langgraph.graph", "langgraph.pregel"} == set()


def test_asking_the_command_for_help_loads_no_framework() -> None:
    script = "import naas_abi_cli.main as m, sys\nsys.argv = ['abi', '--help']\n"
    script += "try:\n    m.main()\nexcept SystemExit:\n    pass"
    assert loaded_by(script) & {"langchain_core", "langgraph", "nats", "psycopg"} == set()
