"""Turns of a small graph, also in processes of their own; run with ``python -m``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.service import DocumentService

__all__ = ["graph", "saver_at", "saver_over", "start"]


def joined(left: list[str], right: list[str]) -> list[str]:
    return [*left, *right]


class State(TypedDict):
    said: Annotated[list[str], joined]


def graph(saver: Any, working: Any = None) -> Any:
    """Two steps and a subgraph, all on one thread; ``working`` is called in the first step."""

    def first(_: State) -> Any:
        if working is not None:
            working()
        return {"said": ["first"]}

    inner = StateGraph(State)
    inner.add_node("inner", lambda _: {"said": ["inner"]})
    inner.add_edge(START, "inner")
    outer = StateGraph(State)
    outer.add_node("first", first)
    outer.add_node("second", inner.compile())
    outer.add_edge(START, "first")
    outer.add_edge("first", "second")
    return outer.compile(checkpointer=saver)


def saver_over(adapter: Any) -> DocumentCheckpointSaver:
    return DocumentCheckpointSaver(DocumentService(adapter, "n"), agent_id="engine.v1")


@contextmanager
def saver_at(place: Sequence[str]) -> Iterator[DocumentCheckpointSaver]:
    """A saver over a SQLite file, or over a server and a schema."""
    if len(place) == 1:
        adapter: Any = SQLiteDocuments(Path(place[0]))
    else:
        adapter = PostgreSQLDocuments(place[0], schema=place[1])
    with closing(adapter):
        yield saver_over(adapter)


def start(place: Sequence[str], text: str, checkpoint_id: str) -> subprocess.Popen[str]:
    """Start a turn from a checkpoint; in its first step it tells so and waits for a line."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.support.turns", text, checkpoint_id, *place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def working() -> None:
    """Tell that the turn has loaded its thread, and wait."""
    print("working", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    _, said, checkpoint_id, *rest = sys.argv
    with saver_at(rest) as saver:
        at: Any = {"configurable": {"thread_id": "t-1", "checkpoint_id": checkpoint_id}}
        graph(saver, working).invoke({"said": [said]}, at)
