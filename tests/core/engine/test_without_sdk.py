"""Core without naas-abi-sdk: all of it loads, no document service, and the reason is told."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.projects import Project

BLOCK = """
import sys
sys.modules["naas_abi_sdk"] = None  # every import of it raises ModuleNotFoundError
"""


def run(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", BLOCK + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_everything_but_documents_and_their_saver_is_importable() -> None:
    code = """
import importlib, pkgutil
import naas_abi_core, naas_abi_core.errors, naas_abi_core.services.agent.agent
import naas_abi_core.services.agent as agents
for package in ("engine", "plugins", "services.agent"):
    name = f"naas_abi_core.{package}"
    folder = importlib.import_module(name)
    for module in pkgutil.walk_packages(folder.__path__, name + "."):
        if module.name.rpartition(".")[2] not in ("saver", "leases", "DocumentCheckpointSaver"):
            importlib.import_module(module.name)
assert agents.Agent and agents.create_checkpointer
print("fine")
"""
    assert run(code) == "fine\n"


def test_importing_the_engine_imports_neither_documents_nor_langgraph() -> None:
    code = """
import naas_abi_core.engine.engine, naas_abi_core.plugins
heavy = {"naas_abi_sdk", "langgraph", "langchain_core", "psycopg", "sqlite3"}
print(sorted(heavy & {name.partition(".")[0] for name in sys.modules if sys.modules[name]}))
"""
    assert run(code) == "[]\n"


MODULE = """
class ABIModule(BaseModule):
    dependencies = ModuleDependencies(services=["document"])
"""

USE = """
import json, warnings
from naas_abi_core.engine.engine import Engine
from naas_abi_core.errors import ServiceUnavailable
from naas_abi_core.services.agent import create_checkpointer
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with Engine.from_file(sys.argv[1]) as engine:
        saver = create_checkpointer()
        try:
            next(iter(engine.modules.values())).engine.services.document
        except ServiceUnavailable as error:
            told = str(error)
        print(json.dumps({
            "warnings": [f"{each.category.__name__}: {each.message}" for each in caught],
            "saver": type(saver).__name__,
            "reason": engine.memory_reason,
            "told": told,
        }))
"""


def test_the_engine_says_why_it_binds_no_memory(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.module("a", MODULE)
    file = project.config("modules: [{module: @a, path: .}]")
    why = (
        "the document service needs naas-abi-sdk, which is not installed. "
        "Install it: pip install 'naas-abi-core[nats]'."
    )
    found = json.loads(run(USE, str(file)))
    assert found == {
        "warnings": [
            f"MemoryNotDurableWarning: The engine binds no agent memory: {why}",
            (
                "MemoryNotDurableWarning: Conversations are kept in memory only and end with the "
                f"process: {why}; POSTGRES_URL is not set; conversations end with the process"
            ),
        ],
        "saver": "InMemorySaver",
        "reason": why,
        "told": f"module {project.named('a')}, service 'document': {why}",
    }


def test_a_module_that_imports_the_service_says_what_to_install(project: Project) -> None:
    project.module("a", "from naas_abi_core.services.document.service import DocumentService")
    file = project.config("modules: [{module: @a, path: .}]")
    code = """
from naas_abi_core.engine.engine import Engine
from naas_abi_core.errors import ModuleError
try:
    Engine.from_file(sys.argv[1]).load()
except ModuleError as error:
    print(error.mend)
"""
    assert run(code, str(file)) == (
        "Install the document service: pip install 'naas-abi-core[nats]'.\n"
    )
