"""Performers that stop: a process killed between two writes, on a store without transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from naas_abi_sdk.document.commands import Apply, Command
from naas_abi_sdk.document.performing import Documents, perform
from naas_abi_sdk.document.types import Outcome, Require


class Killed(BaseException):
    """Not an Exception: nothing may catch it, as nothing catches SIGKILL."""


def one_by_one(documents: Documents, stop_after: int | None = None) -> Callable[[Command], Any]:
    """Perform commands with every write on its own; die before write number ``stop_after``."""
    done = 0

    def step(command: Command) -> Any:
        nonlocal done
        if not isinstance(command, Apply):
            return perform(documents, command)
        outcomes: list[Outcome] = []
        for write in command.writes:
            if done == stop_after:
                raise Killed
            done += 1
            outcomes.extend(documents.write([write]))
            if isinstance(write, Require) and outcomes[-1].state != "done":
                left = len(command.writes) - len(outcomes)
                return [*outcomes, *[Outcome("skipped")] * left]
        return outcomes

    return step
