"""The process of the conversation: ``python -m naas_abi_cli.demo.child CONFIG FIRST LAST``.

It runs turns FIRST to LAST through the configured engine. With ``--pause-in TURN`` it stops for
ever inside that turn's tool call. It first reads acknowledgements from stdin, one JSON line each
and an empty one; it ends when its stdin does, which is when the process that started it is gone.
With ``--resume`` it loads every one of those checkpoints, and finishes turn FIRST where a killed
process left it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from threading import Thread
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from naas_abi_cli.demo.pausing import pause_when
from naas_abi_cli.demo.protocol import (
    AGENT,
    END_OF_ACKNOWLEDGED,
    THREAD,
    Acknowledged,
    InTool,
    Transcript,
    TurnEnded,
    Verified,
    tell,
)
from naas_abi_cli.demo.recording import RecordingPlugin, digest
from naas_abi_cli.demo.script import said, turn_of
from naas_abi_core.engine.engine import Engine
from naas_abi_core.plugins.manager import process_plugin_manager
from naas_abi_core.services.agent.agent import Agent
from naas_abi_core.services.agent.state import AgentSharedState

__all__ = ["main"]


def main() -> None:
    """Run the turns that the command line asks for."""
    asked = _arguments()
    acknowledged = [
        Acknowledged(**json.loads(line)) for line in iter(sys.stdin.readline, END_OF_ACKNOWLEDGED)
    ]
    Thread(target=_end_with_parent, name="abi-demo-parent", daemon=True).start()
    recording = RecordingPlugin()
    process_plugin_manager().register(recording, "demonstration")
    if asked.pause_in is not None:
        pause_when(lambda topic: _is_here(topic, asked.pause_in))
    with Engine.from_file(asked.config) as engine:
        template: Agent = engine.agent(AGENT)
        agent = template.duplicate(agent_shared_state=AgentSharedState(thread_id=THREAD))
        assert recording.saver is not None
        if asked.resume:
            tell(_verified(recording.saver, acknowledged))
        for turn in range(asked.first, asked.last + 1):
            recording.saver.turn = turn
            resumed = asked.resume and turn == asked.first
            if not resumed:
                agent.invoke(said(turn))
            elif agent.resume() is None:
                sys.exit("There was no interrupted turn to finish.")
            tell(TurnEnded(turn, resumed=resumed))
        messages = agent.snapshot().values["messages"]
        tell(Transcript([[message.type, str(message.text)] for message in messages]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--pause-in", type=int)
    parser.add_argument("--resume", action="store_true")
    return parser.parse_args()


def _end_with_parent() -> None:
    # The descriptor itself: a thread inside a buffered read cannot be left at the end.
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


def _is_here(topic: str, turn: int) -> bool:
    if turn_of(topic) != turn:
        return False
    tell(InTool(turn))
    return True


def _verified(saver: BaseCheckpointSaver[Any], acknowledged: Iterable[Acknowledged]) -> Verified:
    loaded, lost = 0, []
    for checkpoint in acknowledged:
        config = {
            "thread_id": THREAD,
            "checkpoint_ns": "",
            "checkpoint_id": checkpoint.checkpoint_id,
        }
        stored = saver.get_tuple({"configurable": config})
        messages = stored.checkpoint["channel_values"].get("messages", []) if stored else []
        if stored is not None and digest(messages) == checkpoint.digest:
            loaded += 1
        else:
            lost.append(checkpoint.checkpoint_id)
    return Verified(loaded, lost)


if __name__ == "__main__":
    main()
