"""Runs a chat in children that are killed at random moments; checks what they acknowledged.

Run as a program: ``killed_chat.py DATABASE KILLS SEED``. Children are forked from one process
that has everything imported, so a kill falls into the run and not into the imports. Prints
``{"kills", "acknowledged", "turns"}``, or fails naming the checkpoint that was lost.
"""

from __future__ import annotations

import json
import operator
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypedDict

from langgraph.graph import START, StateGraph

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments
from naas_abi_core.services.document.service import DocumentService
from naas_abi_sdk.document.types import Predicate
from naas_abi_sdk.langgraph_documents import WRITES

THREAD: Any = {"configurable": {"thread_id": "chat"}}


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def step(state: State) -> Any:
    return {"log": [f"{len(state['log'])} " + "text " * 100]}


def opened(path: Path) -> tuple[SQLiteDocuments, DocumentCheckpointSaver]:
    adapter = SQLiteDocuments(path)
    return adapter, DocumentCheckpointSaver(DocumentService(adapter, "n"), agent_id="engine.v1")


def chat_for_ever(path: Path, acknowledgements: int) -> NoReturn:
    """Chat, and write the id of every checkpoint and pending write once it is acknowledged."""
    _, saver = opened(path)
    put, put_writes = saver.put, saver.put_writes

    def acknowledged_put(*arguments: Any) -> Any:
        config = put(*arguments)
        os.write(acknowledgements, f"put {config['configurable']['checkpoint_id']}\n".encode())
        return config

    def acknowledged_writes(config: Any, writes: Any, task_id: str, *path: str) -> None:
        put_writes(config, writes, task_id, *path)
        checkpoint_id = config["configurable"]["checkpoint_id"]
        os.write(acknowledgements, f"writes {checkpoint_id} {task_id}\n".encode())

    saver.put = acknowledged_put  # type: ignore[method-assign]  # only this one reports
    saver.put_writes = acknowledged_writes  # type: ignore[method-assign]  # only this one reports
    graph = StateGraph(State)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    compiled = graph.compile(checkpointer=saver)
    while True:
        compiled.invoke({"log": ["question " * 50]}, THREAD, durability="sync")


def killed_child(path: Path, after: int, seconds: float) -> list[list[str]]:
    """What a child acknowledged before SIGKILL, ``seconds`` after acknowledgement ``after``."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            chat_for_ever(path, sending)
        finally:
            os._exit(1)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        told = b"".join(pipe.readline() for _ in range(after))
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        lines = (told + pipe.read()).decode().split("\n")
    assert os.WIFSIGNALED(status), "the child ended before it was killed"
    return [line.split() for line in lines[:-1]]


def verify(path: Path, acknowledged: list[list[str]]) -> int:
    """Load everything acknowledged; the number of log entries of the newest checkpoint."""
    adapter, saver = opened(path)
    try:
        documents = DocumentService(adapter, "n")
        for kind, checkpoint_id, *task in acknowledged:
            if kind == "writes":  # LangGraph stores them while their checkpoint is being stored
                where = [Predicate("checkpoint_id", "eq", checkpoint_id)]
                where.append(Predicate("task_id", "eq", task[0]))
                stored = documents.count(WRITES, where)
                assert stored, f"writes of task {task[0]} were acknowledged and are lost"
                continue
            at: Any = {"configurable": {**THREAD["configurable"], "checkpoint_id": checkpoint_id}}
            found = saver.get_tuple(at)
            assert found is not None, f"checkpoint {checkpoint_id} was acknowledged and is lost"
        latest = saver.get_tuple(THREAD)
        if latest is None:
            return 0
        log = latest.checkpoint["channel_values"].get("log", [])
        assert all(entry.startswith(("question", f"{at} ")) for at, entry in enumerate(log))
        return len(log)
    finally:
        adapter.close()


def main(path: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    everything: list[list[str]] = []
    turns = 0
    for _ in range(kills):
        acknowledged = killed_child(path, chance.randint(1, 12), chance.uniform(0, 0.02))
        everything += acknowledged
        turns = verify(path, acknowledged)
    verify(path, everything)
    print(json.dumps({"kills": kills, "acknowledged": len(everything), "turns": turns}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
