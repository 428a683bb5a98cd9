"""Operations moved one command at a time, and the orders in which two can be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from naas_abi_sdk.document.commands import Apply, Operation
from naas_abi_sdk.document.performing import perform
from naas_abi_sdk.errors import CheckpointError

__all__ = ["Step", "schedules"]


class Step:
    """An operation moved one command at a time."""

    def __init__(self, documents: Any, operation: Operation[Any]) -> None:
        self._documents = documents
        self._operation = operation
        self._answer: Any = None
        self._error: Exception | None = None
        self._started = False
        self.done = False
        self.refused: CheckpointError | None = None

    def move(self) -> bool:
        """Perform one command; whether it may have changed what is stored."""
        if self.done:
            return False
        try:
            if self._error is not None:
                command = self._operation.throw(self._error)
            else:
                command = self._operation.send(self._answer if self._started else None)
        except StopIteration:
            self.done = True
            return False
        except CheckpointError as error:
            self.done, self.refused = True, error
            return False
        self._started, self._answer, self._error = True, None, None
        try:
            self._answer = perform(self._documents, command)
        except Exception as error:  # noqa: BLE001 -- the operation decides
            self._error = error
        return isinstance(command, Apply)

    def finish(self) -> int:
        moves = 0
        while not self.done:
            self.move()
            moves += 1
        return moves


def schedules(first: int, second: int) -> Iterator[list[bool]]:
    """Every order of ``first`` moves of one and ``second`` of the other."""
    for places in combinations(range(first + second), second):
        yield [place in places for place in range(first + second)]
