"""Every error the engine raises on purpose.

::

    EngineError
    ├── ConfigurationError      (also a ValueError)
    ├── PluginError
    ├── ModuleError
    │   ├── ModuleNotFound
    │   └── ModuleCycle
    ├── ServiceNotDeclared
    ├── ServiceUnavailable
    ├── AgentNotFound           (also a KeyError)
    ├── AgentError
    ├── TurnError
    │   ├── TurnTooLong
    │   └── QuestionOpen
    ├── CheckpointerError
    └── ChatModelError

    MemoryNotDurableWarning     (a UserWarning)

Each says where, what and how to mend it, apart and together in its text. Errors of the document
service are ``naas_abi_sdk.errors``; this module does not need that distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

__all__ = [
    "AgentError",
    "AgentNotFound",
    "ChatModelError",
    "CheckpointerError",
    "ConfigurationError",
    "EngineError",
    "MemoryNotDurableWarning",
    "ModuleCycle",
    "ModuleError",
    "ModuleNotFound",
    "PluginError",
    "Problem",
    "QuestionOpen",
    "ServiceNotDeclared",
    "ServiceUnavailable",
    "TurnError",
    "TurnTooLong",
    "nearest",
]


class EngineError(Exception):
    """The root: catch it to handle anything the engine raises on purpose.

    Attributes:
        what: What is wrong, one sentence without its full stop.
        where: The file, module, agent or plugin concerned; may be empty.
        mend: What to do about it, a sentence; may be empty.
    """

    def __init__(self, what: str = "", *, where: str = "", mend: str = "") -> None:
        self.what = what or (type(self).__doc__ or "").partition("\n")[0].rstrip(".")
        self.where = where
        self.mend = mend
        super().__init__(_text(self.where, self.what, self.mend))

    def __str__(self) -> str:
        return _text(self.where, self.what, self.mend)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a configuration.

    ``key`` is dotted, list items in brackets: ``modules[0].config.color``. ``line`` counts
    from 1 and is None where the file has no such line.
    """

    what: str
    key: str = ""
    file: Path | None = None
    line: int | None = None
    mend: str = ""

    @property
    def where(self) -> str:
        """File, line and key, as far as they are known: ``config.yaml:3: default_agent``."""
        file = "" if self.file is None else str(self.file)
        if file and self.line is not None:
            file = f"{file}:{self.line}"
        return ": ".join(part for part in (file, self.key) if part)

    def __str__(self) -> str:
        return _text(self.where, self.what, self.mend)


class ConfigurationError(EngineError, ValueError):
    """The configuration cannot be used. Change the named key of the named file.

    ``problems`` holds everything that was found; the error's own parts are those of the first.
    """

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        first = self.problems[0]
        super().__init__(first.what, where=first.where, mend=first.mend)
        self.file, self.line, self.key = first.file, first.line, first.key

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class PluginError(EngineError):
    """A plugin cannot be used. Mend or uninstall the distribution that is named."""


class ModuleError(EngineError):
    """A module failed. Mend it, or disable it with ``enabled: false``; its cause is chained."""


class ModuleNotFound(ModuleError):
    """No such module. Install its distribution, set its ``path``, or correct its name."""


class ModuleCycle(ModuleError):
    """Modules depend on each other in a circle. Make one dependency soft: ``"name#soft"``."""


class ServiceNotDeclared(EngineError):
    """A module uses a service it does not declare. Add it to the module's ``dependencies``."""


class ServiceUnavailable(EngineError):
    """A declared service could not be loaded. The message says what it lacks."""


class AgentNotFound(EngineError, KeyError):
    """No loaded module has an agent of this name. Correct it, or load the agent's module."""


class AgentError(EngineError):
    """An agent could not be built. Mend its factory; its cause is chained."""


class TurnError(EngineError):
    """A turn of a conversation did not end in a reply. What was done so far is stored."""


class TurnTooLong(TurnError):
    """A turn needed more steps than allowed. Raise ``recursion_limit``, or say what to stop."""


class QuestionOpen(TurnError):
    """A tool waits for a person's answer. Answer with LangGraph's ``Command(resume=...)``."""


class CheckpointerError(EngineError):
    """A checkpointer that was asked for cannot be opened. Nothing was used in its place."""


class ChatModelError(EngineError):
    """A chat model cannot be had. Correct its name, or install its provider's package."""


class MemoryNotDurableWarning(UserWarning):
    """Conversations will be lost at exit although a store was configured. The text says why."""


def nearest(word: str, known: Sequence[str]) -> str:
    """``"; did you mean 'x'?"`` for the known word nearest to ``word``, else an empty text."""
    found = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


def _text(where: str, what: str, mend: str) -> str:
    told = f"{where}: {what}" if where else what
    if not mend:
        return told
    return f"{told} {mend}" if told.endswith((".", "?", "!")) else f"{told}. {mend}"
