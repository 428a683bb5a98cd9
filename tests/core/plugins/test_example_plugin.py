"""The example of the documentation is a real project: it is installed, found and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "docs/how-to/example-plugin"
GUIDE = EXAMPLE.parent / "write-a-plugin.md"

USE = """
import json
from naas_abi_core.services.agent.memory.engine import create_checkpointer, resolve_checkpointer
offer = resolve_checkpointer()
shared = create_checkpointer() is create_checkpointer()
print(json.dumps({"source": offer.source, "why": offer.why, "shared": shared}))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, installed into a folder of its own; uv builds it without the network."""
    uv = os.environ.get("UV") or shutil.which("uv")
    assert uv, "uv is not on the PATH: pip install uv"
    folder = tmp_path_factory.mktemp("example")
    source = shutil.copytree(EXAMPLE, folder / "source")  # a build may leave files beside it
    site = folder / "site"
    command = [uv, "pip", "install", "--offline", "--no-deps", "--target", site, source]
    environment = {**os.environ, "UV_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return site


def use(site: Path, **environment: str) -> dict[str, object]:
    clean = {name: value for name, value in os.environ.items() if name != "POSTGRES_URL"}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        env={**clean, "PYTHONPATH": str(site), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_the_installed_plugin_answers_when_it_is_meant(site: Path) -> None:
    assert use(site, ABI_SHARED_MEMORY="1") == {
        "source": "one InMemorySaver for the whole process",
        "why": "ABI_SHARED_MEMORY is 1",
        "shared": True,
    }


def test_and_leaves_the_question_to_others_when_not(site: Path) -> None:
    found = use(site)
    assert found["source"] == "LangGraph's InMemorySaver"
    assert found["shared"] is False


@pytest.mark.parametrize("file", ["pyproject.toml", "src/abi_shared_memory/__init__.py"])
def test_the_guide_quotes_the_example_as_it_is(file: str) -> None:
    text = (EXAMPLE / file).read_text(encoding="utf-8")
    assert text.strip() in GUIDE.read_text(encoding="utf-8")
