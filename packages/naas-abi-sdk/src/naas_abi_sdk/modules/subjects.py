"""Where modules that host agents are reached, and what a turn's two sides agree on."""

from __future__ import annotations

from typing import Final

__all__ = ["ALIVE_SECONDS", "FIND_SUBJECT", "QUESTION_OPEN", "turn_subject"]

#: Every module listens here and answers for the agents it has.
FIND_SUBJECT: Final = "abi.agents.v1.find"

#: Seconds after which a turn that has nothing to say says that it goes on.
ALIVE_SECONDS: Final = 5.0

#: The code of the error that refuses text while a question waits for its answer.
QUESTION_OPEN: Final = "QUESTION_OPEN"


def turn_subject(instance: str) -> str:
    """Where one running process of a module takes turns."""
    return f"abi.agents.v1.{instance}.turn"
