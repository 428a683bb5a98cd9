"""Starts the process of the conversation, kills it inside a tool call, and starts another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from threading import Timer
from typing import IO, Final, TypeAlias

from naas_abi_cli.demo.interrupts import Interrupts
from naas_abi_cli.demo.protocol import (
    END_OF_ACKNOWLEDGED,
    Acknowledged,
    Event,
    InTool,
    Stored,
    Transcript,
    TurnEnded,
    Verified,
    parse,
)
from naas_abi_cli.errors import CommandFailed

__all__ = ["CONFIGURATION", "Observed", "killed_turn", "run_conversation", "write_project"]

#: The configuration of the demonstration's project.
CONFIGURATION: Final = """\
default_agent: librarian
modules:
  - module: naas_abi_cli.demo.librarian
chat_model:
  name: demonstration
services:
  document:
    document_adapter:
      adapter: sqlite
      config:
        path: storage/documents.sqlite
"""

#: Seconds after which a process that does not end by itself is ended: several times what the
#: whole demonstration takes on a slow machine.
_DEADLINE: Final = 120.0

#: Lines of a failed process's errors that are repeated.
_LINES_SHOWN: Final = 5

#: Variables that would send the demonstration's memory or configuration somewhere else.
_NOT_INHERITED: Final = frozenset({"ENV", "POSTGRES_URL"})

#: Is told what happens, or nothing, and how many turns are done.
_Tell: TypeAlias = "Callable[[str, int], None]"

#: Starts a process with these arguments, which is told these checkpoints.
_Start: TypeAlias = (
    "Callable[[Sequence[str], Sequence[Acknowledged]], AbstractContextManager[_Child]]"
)


@dataclass(slots=True)
class Observed:
    """Everything the two processes told.

    Attributes:
        turns: How many turns were asked for.
        killed_turn: The turn whose tool call the first process was killed in.
        stored: Every write of the saver that returned, in order.
        survivors: Checkpoints acknowledged before the kill.
        kill_status: What the operating system says of the first process.
        verified: Of the survivors, read in the second process before it went on.
        verified_at_end: Of all acknowledged checkpoints, read when all was said.
        resumed: The turn that the second process finished.
        transcript: The conversation as stored: kind and text of each message.
    """

    turns: int
    killed_turn: int
    stored: list[Stored] = field(default_factory=list)
    survivors: list[Acknowledged] = field(default_factory=list)
    kill_status: int = 0
    verified: Verified | None = None
    verified_at_end: Verified | None = None
    resumed: int | None = None
    transcript: list[list[str]] = field(default_factory=list)


def killed_turn(turns: int) -> int:
    """The turn to kill in: late, so that much could be lost, and not the last.

    LangGraph marks a thread that was resumed with one version a channel, in every checkpoint from
    then on. Costs are compared before that mark as far as can be.
    """
    return turns - 1


def write_project(directory: Path) -> Path:
    """Write the project into ``directory``; returns its configuration file."""
    config = directory / "config.yaml"
    config.write_text(CONFIGURATION, encoding="utf-8")
    return config


def run_conversation(config: Path, turns: int, tell: _Tell) -> Observed:
    """Run the whole conversation; ``tell`` is told what happens and which turn is done.

    Raises:
        CommandFailed: a process failed, or told something unexpected.
        KeyboardInterrupt: Ctrl-C was pressed; the process it was running has ended.
    """
    observed = Observed(turns, killed_turn(turns))
    with Interrupts() as interrupts:
        start = partial(_child, interrupts)
        _until_killed(config, observed, tell, start)
        observed.survivors = _acknowledged(observed)
        _until_the_end(config, observed, tell, start)
        _read_again(config, observed, tell, start)
    return observed


def _until_killed(config: Path, observed: Observed, tell: _Tell, start: _Start) -> None:
    tell("First process: the conversation begins.", 0)
    last = str(observed.killed_turn)
    with start([str(config), "1", last, "--pause-in", last], ()) as child:
        for event in child.events():
            _take(event, observed, tell)
            if isinstance(event, InTool):
                observed.kill_status = child.kill()
                tell(f"Killed it inside the tool call of turn {event.turn}.", event.turn - 1)
                return
        raise child.failed("it ended before it could be killed")


def _until_the_end(config: Path, observed: Observed, tell: _Tell, start: _Start) -> None:
    arguments = [str(config), str(observed.killed_turn), str(observed.turns), "--resume"]
    with start(arguments, observed.survivors) as child:
        for event in child.events():
            _take(event, observed, tell)
        child.check_ended_well()


def _read_again(config: Path, observed: Observed, tell: _Tell, start: _Start) -> None:
    tell("Third process: reading every checkpoint once more.", observed.turns)
    with start([str(config), "1", "0", "--resume"], _acknowledged(observed)) as child:
        for event in child.events():
            if isinstance(event, Verified):
                observed.verified_at_end = event
            elif isinstance(event, Transcript):
                observed.transcript = event.messages
        child.check_ended_well()


def _take(event: Event, observed: Observed, tell: _Tell) -> None:
    if isinstance(event, Stored):
        observed.stored.append(event)
    elif isinstance(event, TurnEnded):
        observed.resumed = event.turn if event.resumed else observed.resumed
        tell("", event.turn)
    elif isinstance(event, Verified):
        observed.verified = event
        tell(f"Second process: {event.loaded} checkpoints are still there.", 0)


def _acknowledged(observed: Observed) -> list[Acknowledged]:
    return [each.checkpoint for each in observed.stored if each.checkpoint is not None]


@contextmanager
def _child(
    interrupts: Interrupts, arguments: Sequence[str], acknowledged: Sequence[Acknowledged]
) -> Iterator[_Child]:
    """A process of the conversation. It outlives neither the block, this process nor its deadline.

    Its stdin stays open as long as this process lives; at its end the child ends too.
    """
    command = [sys.executable, "-m", "naas_abi_cli.demo.child", *arguments]
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen(  # noqa: S603 -- our own module, in our own interpreter
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment,
            text=True,
            start_new_session=True,  # a terminal's Ctrl-C is for this process, which kills that one
        )
        watchdog = Timer(_DEADLINE, process.kill)
        watchdog.start()
        try:
            with interrupts.killing(process):
                _tell_acknowledged(process, acknowledged)
                yield _Child(process, said)
        finally:
            watchdog.cancel()
            watchdog.join()
            _end(process)


def _tell_acknowledged(
    process: subprocess.Popen[str], acknowledged: Sequence[Acknowledged]
) -> None:
    assert process.stdin is not None
    lines = [json.dumps(asdict(each)) + "\n" for each in acknowledged]
    with suppress(BrokenPipeError):  # it has ended already, which its events will show
        process.stdin.write("".join(lines) + END_OF_ACKNOWLEDGED)
        process.stdin.flush()


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.kill()
    process.wait()
    process.stdout.close()
    with suppress(BrokenPipeError):  # what it did not read is lost with it
        process.stdin.close()


@dataclass(frozen=True, slots=True)
class _Child:
    _process: subprocess.Popen[str]
    _said: IO[str]

    def events(self) -> Iterator[Event]:
        """What it tells, until its end."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                yield parse(line)
            except ValueError as error:
                raise self.failed(f"it told something else than events: {error}") from error

    def kill(self) -> int:
        """End it at once, as the operating system would, and return its status."""
        self._process.kill()
        return self._process.wait()

    def check_ended_well(self) -> None:
        """Raise unless it ended by itself and with success."""
        status = self._process.wait()
        if status != 0:
            raise self.failed(f"it ended with status {status}")

    def failed(self, what: str) -> CommandFailed:
        """The error that says what it did, and what it said last."""
        self._process.kill()
        self._process.wait()
        self._said.seek(0)
        last = self._said.read().strip().splitlines()[-_LINES_SHOWN:]
        return CommandFailed(
            what,
            where="the process of the conversation",
            mend="It said last: " + (" | ".join(last) or "nothing"),
        )
