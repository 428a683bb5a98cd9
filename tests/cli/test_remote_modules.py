"""A generated module in a process of its own, an engine in another, and ``abi chat`` in a third."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tomllib

from naas_abi_sdk.testing import MemoryDocuments
from tests.cli.conftest import Abi, environment
from tests.support.hosted_documents import SECRET, serving
from tests.support.nats_server import NatsServer, nats_server


@pytest.fixture(scope="module")
def broker() -> Iterator[NatsServer]:
    with nats_server() as server:
        yield server


@pytest.fixture
def nats_project(project: Path, broker: NatsServer) -> Path:
    """The current directory: a project whose engine serves modules, each its own namespace."""
    with (project / "config.yaml").open("a") as file:
        file.write(f"nats:\n  nats_url: {broker.url}\n  jwt_secret: {SECRET}\n")
        file.write("  own_namespace_only: true\n")
    return project


@contextmanager
def module_process(
    folder: Path, package: str, url: str, key: str
) -> Iterator[subprocess.Popen[str]]:
    """The module as its README starts it, from when it takes turns; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", package],
        cwd=folder,
        env=environment(ABI_NATS_URL=url, ABI_MODULE_KEY=key),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{package} is ready: assistant\n"
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def test_a_generated_module_remembers_beyond_its_process(
    nats_project: Path, broker: NatsServer, abi: Abi, tmp_path: Path
) -> None:
    made = abi("new", "module", "acme-clerk", "-d", str(tmp_path), "--json").json
    assert made["module"] == "acme_clerk"
    folder = tmp_path / "acme-clerk"
    key = abi("module", "key", "acme_clerk").out.strip()

    def talk(text: str, *more: str) -> str:
        ended = abi("chat", "--agent", "acme_clerk.assistant", "--thread", "first", text, *more)
        assert ended.code == 0, ended.err
        return ended.out

    with serving(broker.url, MemoryDocuments(), own_namespace_only=True):
        with module_process(folder, "acme_clerk", broker.url, key) as process:
            first = "[demonstration] This is message 1. The first was: My name is Ada\n"
            assert talk("My name is Ada") == first
            process.kill()
            process.wait(30)
            gone = abi("chat", "--agent", "acme_clerk.assistant", "Hello")
            assert gone.code == 1
            assert "no running module" in gone.err
            assert "Start the module." in gone.err
        with module_process(folder, "acme_clerk", broker.url, key) as process:
            assert talk("What is my name?") == "[demonstration] Your name is Ada.\n"
            assert abi("chat", "-a", "assistant", "Hello").err.startswith("thread ")
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def test_what_a_module_is_made_of(abi: Abi, tmp_path: Path) -> None:
    ended = abi("new", "module", "acme-clerk", "-d", str(tmp_path))
    assert ended.code == 0
    assert "abi module key acme_clerk" in ended.out
    made = tmp_path / "acme-clerk"
    files = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    assert files == {
        ".gitignore",
        "README.md",
        "acme_clerk/__init__.py",
        "acme_clerk/__main__.py",
        "acme_clerk/assistant.py",
        "pyproject.toml",
    }
    assert "${" not in "".join((made / each).read_text() for each in files)
    project = tomllib.loads((made / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.10"
    needed = {re.split(r"[\[>]", each)[0] for each in project["dependencies"]}
    assert needed == {"langgraph", "naas-abi-sdk"}


#: A module of its own making: an agent that asks before it answers.
ASKING = """
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from naas_abi_sdk import AgentDescriptor, BaseModule, ModuleDependencies, run_module

def reply(state):
    said = interrupt("Which colour?")
    call = {"id": "c", "name": "paint", "args": {"colour": said}}
    painted = ToolMessage("painted", tool_call_id="c", name="paint")
    return {"messages": [AIMessage("", tool_calls=[call]), painted, AIMessage(f"It is {said}.")]}

def build(checkpointer):
    builder = StateGraph(MessagesState)
    builder.add_node("reply", reply)
    builder.add_edge(START, "reply")
    return builder.compile(checkpointer=checkpointer)

class ABIModule(BaseModule):
    module_id = "painter"
    dependencies = ModuleDependencies(services=("document",))
    agents = (AgentDescriptor("assistant", "Paints.", build),)

if __name__ == "__main__":
    run_module(ABIModule)
"""


def test_a_question_of_a_module_is_answered_by_another_command(
    nats_project: Path, broker: NatsServer, abi: Abi, tmp_path: Path
) -> None:
    (tmp_path / "painter.py").write_text(ASKING)
    key = abi("module", "key", "painter").out.strip()
    to = ("--agent", "painter.assistant", "--thread", "t")
    with (
        serving(broker.url, MemoryDocuments()),
        module_process(tmp_path, "painter", broker.url, key),
    ):
        asked = abi("chat", *to, "Paint it")
        assert asked.out == "question: Which colour?\n"
        assert "abi chat --answer --agent painter.assistant --thread t 'TEXT'" in asked.err
        wrong = abi("chat", *to, "Please")
        assert wrong.code == 1
        assert "a question waits for an answer in thread 't': Which colour?" in wrong.err
        assert "Add --answer" in wrong.err
        answered = abi("chat", *to, "--answer", "blue", "--json").json
        assert answered["reply"] == "It is blue."
        assert [(tool["name"], tool["text"]) for tool in answered["tools"]] == [
            ("paint", "painted")
        ]
        assert "no question waits" in abi("chat", *to, "--answer", "red").err


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-remote-module.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_the_module_of_the_how_to_runs(
    nats_project: Path, broker: NatsServer, abi: Abi, tmp_path: Path
) -> None:
    (code,) = blocks("python")
    (tmp_path / "clerk.py").write_text(code)
    key = abi("module", "key", "clerk").out.strip()
    with (
        serving(broker.url, MemoryDocuments()),
        module_process(tmp_path, "clerk", broker.url, key),
    ):
        for number in (1, 3):
            ended = abi("chat", "-a", "clerk.assistant", "-t", "t", "Hello")
            assert ended.out == f"message {number}\n"


@pytest.mark.slow
def test_the_commands_of_the_how_to_hold(tmp_path: Path, unused_port: int) -> None:
    """As written, but for the port, and for uv, which would install the published SDK."""
    prepare, start, talk = blocks("sh")
    (settings,) = blocks("yaml")
    ready = "until grep -q ready out && grep -q Serving out; do sleep 0.1; done"
    start = start.replace("uv run python", sys.executable)
    script = f"""
set -e
trap 'kill $(jobs -p); wait' EXIT
export PATH={Path(sys.executable).parent}:$PATH
{prepare}
cat >> office/config.yaml <<'END'
{settings}END
exec 3>&1 >out
{start}
exec >&3
{ready}
{talk}
""".replace("4222", str(unused_port))
    ran = subprocess.run(
        ["timeout", "90", "bash", "-c", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith(
        "[demonstration] This is message 1. The first was: My name is Ada\n"
        "[demonstration] Your name is Ada.\n"
    )


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
        return port


def test_an_agent_nobody_has(nats_project: Path, abi: Abi) -> None:
    ended = abi("chat", "--agent", "nobody", "Hello")
    assert ended.code == 1
    assert "has an agent 'nobody'" in ended.err
    assert "'abi agent list'" in ended.err
