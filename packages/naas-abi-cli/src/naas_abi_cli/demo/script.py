"""What is said in the demonstration: unique text of the same length in every turn."""

from __future__ import annotations

import hashlib
from typing import Final

__all__ = ["MESSAGES_PER_TURN", "TOOL", "found_entry", "said", "topic", "turn_of"]

#: The tool the agent has.
TOOL: Final = "look_up"

#: A turn is what the person says, the request for the tool, its result, and the reply.
MESSAGES_PER_TURN: Final = 4

#: Characters of what the person says beside the request.
_NOTE_LENGTH: Final = 250

#: Characters of an entry. With the request, the note, and the reply, which quotes the entry, a
#: turn adds about 3.5 KB of text.
_ENTRY_LENGTH: Final = 2550

_WORDS: Final = (
    *("amber", "arch", "basin", "brook", "cedar", "cliff", "delta", "dune", "ember", "estuary"),
    *("fjord", "glade", "grove", "harbor", "heath", "inlet", "jetty", "kelp", "lagoon", "mesa"),
    *("north", "oasis", "plain", "quarry", "ridge", "shoal", "tundra", "upland", "valley"),
    *("willow", "yonder", "zenith"),
)


def topic(turn: int) -> str:
    """What the person asks about in a turn; turns count from 1."""
    return f"entry {turn:03}"


def turn_of(asked: str) -> int:
    """The turn in which ``asked`` is the topic."""
    return int(asked.rpartition(" ")[2])


def said(turn: int) -> str:
    """What the person says."""
    return f'Please look up "{topic(turn)}". My notes: {_text(f"note {turn}", _NOTE_LENGTH)}'


def found_entry(asked: str) -> str:
    """What the tool finds."""
    return f"{asked}: {_text(asked, _ENTRY_LENGTH)}"


def _text(seed: str, length: int) -> str:
    """Words that look drawn at random and are the same in every process."""
    words: list[str] = []
    total = counter = 0
    while total < length:
        for byte in hashlib.sha256(f"{seed} {counter}".encode()).digest():
            words.append(_WORDS[byte % len(_WORDS)])
            total += len(words[-1]) + 1
        counter += 1
    return " ".join(words)[: length - 1] + "."
