"""Errors the commands raise themselves, and the exit code of every error.

Exit codes: 0 done; 1 failed; 2 the call or the configuration is wrong; 130 interrupted.
"""

from __future__ import annotations

from typing import ClassVar, Final

from naas_abi_core.errors import (
    AgentNotFound,
    ConfigurationError,
    EngineError,
    ModuleCycle,
    ModuleNotFound,
    PluginError,
)

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "WRONG_CALL",
    "CommandFailed",
    "ResultNotWritten",
    "WrongCall",
    "exit_code_of",
]

FAILED: Final = 1
WRONG_CALL: Final = 2
INTERRUPTED: Final = 130


class CommandFailed(EngineError):
    """The command could not do what it was asked. Nothing was changed unless the text says so."""

    exit_code: ClassVar[int] = FAILED


class WrongCall(CommandFailed):
    """The command was called with something it cannot work with. Correct the call."""

    exit_code = WRONG_CALL


class ResultNotWritten(CommandFailed):
    """Standard output does not take the result: the disk is full, or it is no place to write to."""


#: Errors of the core that say the call or the configuration is wrong.
_WRONG: Final = (AgentNotFound, ConfigurationError, ModuleCycle, ModuleNotFound, PluginError)


def exit_code_of(error: Exception) -> int:
    """The exit code that tells a script what kind of failure ``error`` is."""
    if isinstance(error, CommandFailed):
        return error.exit_code
    if isinstance(error, _WRONG):
        return WRONG_CALL
    return FAILED
