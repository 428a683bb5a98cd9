"""What the process of the conversation tells the one that watches it: one JSON line an event."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias

__all__ = [
    "AGENT",
    "END_OF_ACKNOWLEDGED",
    "THREAD",
    "Acknowledged",
    "Event",
    "InTool",
    "Stored",
    "Transcript",
    "TurnEnded",
    "Verified",
    "parse",
    "tell",
]

#: The agent and the thread of the demonstration.
AGENT: Final = "librarian"
THREAD: Final = "demo"

#: The line after the acknowledgements on the child's stdin.
END_OF_ACKNOWLEDGED: Final = "\n"


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A checkpoint whose ``put`` returned, and a digest of the messages it held."""

    checkpoint_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A call of the saver that writes returned.

    Attributes:
        turn: The turn it belongs to.
        checkpoint: What is acknowledged by it; None for pending writes.
        documents: Documents it wrote.
        size: Their bytes as canonical JSON.
        transactions: Transactions it took.
        snapshot_size: Bytes a saver of full snapshots would have written instead.
    """

    turn: int
    documents: int
    size: int
    transactions: int
    snapshot_size: int
    checkpoint: Acknowledged | None = None


@dataclass(frozen=True, slots=True)
class InTool:
    """The tool call of ``turn`` has begun and will not end by itself."""

    turn: int


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The reply of ``turn`` is there."""

    turn: int
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Verified:
    """``loaded`` checkpoints were read back as acknowledged; ``lost`` names those that were not."""

    loaded: int
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Transcript:
    """The conversation as stored: kind and text of each message."""

    messages: list[list[str]]


Event: TypeAlias = "Stored | InTool | TurnEnded | Verified | Transcript"

_KINDS: Final = {kind.__name__: kind for kind in (Stored, InTool, TurnEnded, Verified, Transcript)}


def tell(event: Event) -> None:
    """Write an event to stdout at once: what is not told before a kill is never told."""
    line = json.dumps({"event": type(event).__name__, **asdict(event)})
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def parse(line: str) -> Event:
    """The event of a line; raises ``ValueError`` for any other line."""
    try:
        data: dict[str, Any] = json.loads(line)
        kind = _KINDS[data.pop("event")]
        if data.get("checkpoint"):
            data["checkpoint"] = Acknowledged(**data["checkpoint"])
        return kind(**data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = f"not an event: {line!r}"
        raise ValueError(message) from error
