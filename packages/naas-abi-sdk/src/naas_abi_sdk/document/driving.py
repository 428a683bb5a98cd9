"""Drivers: they move an operation forward and know nothing of stores or checkpoints.

This is the only code of the package that exists twice, once for blocking and once for
asynchronous performers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

from naas_abi_sdk.document.commands import Command, Emit, Operation

__all__ = ["aiterate", "arun", "iterate", "run"]

R = TypeVar("R")


def run(operation: Operation[R], perform: Callable[[Command], Any]) -> R:
    """Perform every command of ``operation`` and return what it returns."""
    try:
        command = next(operation)
        while True:
            try:
                answer = perform(command)
            except Exception as error:  # noqa: BLE001 -- the operation decides what a failure means
                command = operation.throw(error)
            else:
                command = operation.send(answer)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # StopIteration carries the operation's R


def iterate(operation: Operation[Any], perform: Callable[[Command], Any]) -> Iterator[Any]:
    """Perform ``operation`` lazily and yield what it emits.

    Closing the iterator closes the operation; nothing is held open between items.
    """
    try:
        command = next(operation)
        while True:
            if isinstance(command, Emit):
                yield command.item
                command = operation.send(None)
                continue
            try:
                answer = perform(command)
            except Exception as error:  # noqa: BLE001 -- the operation decides what a failure means
                command = operation.throw(error)
            else:
                command = operation.send(answer)
    except StopIteration:
        return
    finally:
        operation.close()


async def arun(operation: Operation[R], perform: Callable[[Command], Awaitable[Any]]) -> R:
    """Perform every command of ``operation`` and return what it returns."""
    try:
        command = next(operation)
        while True:
            try:
                answer = await perform(command)
            except Exception as error:  # noqa: BLE001 -- the operation decides what a failure means
                command = operation.throw(error)
            else:
                command = operation.send(answer)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # StopIteration carries the operation's R


async def aiterate(
    operation: Operation[Any], perform: Callable[[Command], Awaitable[Any]]
) -> AsyncIterator[Any]:
    """Perform ``operation`` lazily and yield what it emits."""
    try:
        command = next(operation)
        while True:
            if isinstance(command, Emit):
                yield command.item
                command = operation.send(None)
                continue
            try:
                answer = await perform(command)
            except Exception as error:  # noqa: BLE001 -- the operation decides what a failure means
                command = operation.throw(error)
            else:
                command = operation.send(answer)
    except StopIteration:
        return
    finally:
        operation.close()
