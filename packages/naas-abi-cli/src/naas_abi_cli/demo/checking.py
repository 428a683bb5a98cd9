"""Judges what the processes told. Every claim of the demonstration is one check here. Pure."""

from __future__ import annotations

import signal
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

from naas_abi_cli.demo.protocol import Stored, Verified
from naas_abi_cli.demo.script import MESSAGES_PER_TURN, found_entry, said, topic
from naas_abi_cli.demo.supervising import Observed

__all__ = ["MAX_TURN_BYTES", "Check", "TurnCost", "checks_of", "costs_of"]

#: Bytes a turn of about 3.5 KB of new text and one tool call may write on average. Single turns
#: are above and below: the list of the last 32 messages is written again as it fills.
MAX_TURN_BYTES: Final = 28 * 1024

#: How far late turns may differ from early ones.
_TOLERANCE: Final = 0.05

#: Claims about cost are about a conversation of at most so many turns: the list of a thread's
#: chunks grows by one reference in eight turns, which a longer one shows.
_JUDGED: Final = 30

#: Checkpoints of a turn before its tool runs: the input, the message in the conversation, and the
#: reply that asks for the tool.
_STORED_BEFORE_TOOL: Final = 3

#: Characters of an entry that the reply repeats for certain.
_QUOTED: Final = 500

#: The turns that late ones are compared with: after the first, which also stores what stays.
_EARLY: Final = range(2, 7)

#: A list is stored in chunks of 32 messages, so what a turn costs repeats with this period.
_PERIOD: Final = 32 // MESSAGES_PER_TURN


@dataclass(frozen=True, slots=True)
class TurnCost:
    """What one turn wrote, over all processes that had a part in it.

    Attributes:
        turn: Which, from 1.
        text: Bytes of text that are new in it.
        documents: Documents written.
        size: Their bytes as canonical JSON.
        snapshot_size: Bytes of full snapshots.
    """

    turn: int
    text: int
    documents: int
    size: int
    snapshot_size: int


@dataclass(frozen=True, slots=True)
class Check:
    """One claim, whether it held, and what was seen. ``held`` None: it does not apply."""

    claim: str
    held: bool | None
    seen: str


def costs_of(observed: Observed) -> list[TurnCost]:
    """Costs by turn."""
    by_turn: dict[int, list[Stored]] = defaultdict(list)
    for stored in observed.stored:
        by_turn[stored.turn].append(stored)
    return [
        TurnCost(
            turn=turn,
            text=_text_bytes(observed.transcript, turn),
            documents=sum(each.documents for each in parts),
            size=sum(each.size for each in parts),
            snapshot_size=sum(each.snapshot_size for each in parts),
        )
        for turn, parts in sorted(by_turn.items())
    ]


def checks_of(observed: Observed, costs: Sequence[TurnCost]) -> list[Check]:
    """Every claim, judged."""
    return [
        _killed(observed),
        _survived(observed),
        _resumed(observed),
        _still_there(observed),
        _same_words(observed),
        _one_transaction(observed),
        _small(costs),
        _flat(costs),
    ]


def _text_bytes(transcript: Sequence[Sequence[str]], turn: int) -> int:
    start = (turn - 1) * MESSAGES_PER_TURN
    return sum(len(text.encode()) for _, text in transcript[start : start + MESSAGES_PER_TURN])


def _killed(observed: Observed) -> Check:
    survivors = {each.checkpoint_id for each in observed.survivors}
    in_turn = sum(
        each.turn == observed.killed_turn
        and each.checkpoint is not None
        and each.checkpoint.checkpoint_id in survivors
        for each in observed.stored
    )
    return Check(
        f"the first process was killed inside the tool call of turn {observed.killed_turn}",
        observed.kill_status == -signal.SIGKILL and in_turn == _STORED_BEFORE_TOOL,
        f"its status is {observed.kill_status}; {in_turn} checkpoints of the turn were stored",
    )


def _survived(observed: Observed) -> Check:
    return _all_read("every checkpoint acknowledged before the kill is there after it",
                     observed.verified, len(observed.survivors))  # fmt: skip


def _still_there(observed: Observed) -> Check:
    acknowledged = sum(each.checkpoint is not None for each in observed.stored)
    return _all_read("every checkpoint of the whole conversation is there at its end",
                     observed.verified_at_end, acknowledged)  # fmt: skip


def _all_read(claim: str, verified: Verified | None, expected: int) -> Check:
    if verified is None:
        return Check(claim, held=False, seen="nothing was read")
    held = not verified.lost and verified.loaded == expected > 0
    seen = f"{verified.loaded} of {expected} were read back with the messages they had"
    return Check(claim, held, seen)


def _resumed(observed: Observed) -> Check:
    return Check(
        "a new process finished the interrupted turn",
        observed.resumed == observed.killed_turn,
        f"it finished turn {observed.resumed}",
    )


def _same_words(observed: Observed) -> Check:
    wrong = [
        position
        for position, (kind, text) in enumerate(observed.transcript)
        if not _is_expected(position, kind, text)
    ]
    expected = observed.turns * MESSAGES_PER_TURN
    held = not wrong and len(observed.transcript) == expected
    seen = f"{len(observed.transcript)} messages of {expected}"
    return Check(
        "the stored conversation is what was said, message by message",
        held,
        seen + (f"; the first that differs is message {wrong[0] + 1}" if wrong else ""),
    )


def _is_expected(position: int, kind: str, text: str) -> bool:
    turn, place = position // MESSAGES_PER_TURN + 1, position % MESSAGES_PER_TURN
    entry = found_entry(topic(turn))
    if place == 0:
        return (kind, text) == ("human", said(turn))
    if place == 1:
        return (kind, text) == ("ai", "")
    if place == 2:
        return (kind, text) == ("tool", entry)
    return kind == "ai" and entry[:_QUOTED] in text


def _one_transaction(observed: Observed) -> Check:
    more = [each for each in observed.stored if each.transactions != 1]
    return Check(
        "every write of the saver is one transaction",
        not more,
        f"{len(observed.stored)} writes, {len(more)} of them not",
    )


def _small(costs: Sequence[TurnCost]) -> Check:
    judged = costs[:_JUDGED]
    average = mean(each.size for each in judged)
    largest = max(judged, key=lambda each: each.size)
    return Check(
        f"a turn writes at most {MAX_TURN_BYTES // 1024} KB on average",
        average <= MAX_TURN_BYTES,
        f"{average / 1024:.1f} KB; the most is {largest.size / 1024:.1f} KB in turn {largest.turn}",
    )


def _flat(costs: Sequence[TurnCost]) -> Check:
    last = min(len(costs), _JUDGED)
    shift = (last - _EARLY[-1]) // _PERIOD * _PERIOD
    late = range(_EARLY[0] + shift, _EARLY[-1] + shift + 1)
    claim = f"turns {late[0]} to {late[-1]} write what turns {_EARLY[0]} to {_EARLY[-1]} write"
    if shift < _PERIOD:
        return Check("late turns write what early ones write", None, "too few turns to say")
    size = {each.turn: each.size for each in costs}
    change = mean(size[turn] for turn in late) / mean(size[turn] for turn in _EARLY) - 1
    return Check(claim, abs(change) <= _TOLERANCE, f"{change:+.1%}, 5 % are allowed")
