"""Puts secrets into configuration values: ``${NAME}`` in a text, or ``{secret: NAME}`` alone.

A name is looked up in the environment, then in the ``.env`` file beside the configuration. A secret
that is nowhere is an error: an empty password would fail later and say less.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from naas_abi_core.engine.yaml_file import KeyPath, YamlFile, dotted
from naas_abi_core.errors import ConfigurationError, Problem

__all__ = ["MASK", "Secrets", "read_dotenv"]

#: Shown in place of a secret.
MASK: Final = "***"

#: Values shorter than this are masked where they stand alone, not where they are part of a text:
#: masking every "a" would leave nothing to read.
SHORTEST_MASKED_PART: Final = 4

_REFERENCE: Final = re.compile(r"\$(\$\{)|\$\{([^}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")


@dataclass(slots=True)
class Secrets:
    """Where secrets come from, and which values were taken from there."""

    values: Mapping[str, str] = field(repr=False)
    used: set[str] = field(default_factory=set, repr=False)

    def resolve(self, file: YamlFile) -> dict[str, Any]:
        """The file's data with every reference replaced; raises with all that are missing."""
        problems: list[Problem] = []
        data = self._resolve(file.data, (), file, problems)
        if problems:
            raise ConfigurationError(problems)
        assert isinstance(data, dict)
        return data

    def mask(self, value: Any) -> Any:
        """``value`` with every secret in it, at any depth, replaced by ``***``."""
        if isinstance(value, Mapping):
            return {key: self.mask(child) for key, child in value.items()}
        if isinstance(value, list | tuple):
            return [self.mask(child) for child in value]
        if value is None or isinstance(value, bool):
            return value
        if str(value) in self.used:
            return MASK
        return self._mask_text(value) if isinstance(value, str) else value

    def _mask_text(self, text: str) -> str:
        # Longest first, so that one secret inside another leaves no remainder.
        for secret in sorted(self.used, key=len, reverse=True):
            if len(secret) >= SHORTEST_MASKED_PART:
                text = text.replace(secret, MASK)
        return text

    def _resolve(self, value: Any, key: KeyPath, file: YamlFile, problems: list[Problem]) -> Any:
        if isinstance(value, dict):
            if set(value) == {"secret"} and isinstance(value["secret"], str):
                return self._take(value["secret"], key, file, problems)
            return {
                name: self._resolve(child, (*key, name), file, problems)
                for name, child in value.items()
            }
        if isinstance(value, list):
            return [
                self._resolve(child, (*key, position), file, problems)
                for position, child in enumerate(value)
            ]
        if isinstance(value, str) and "${" in value:
            return _REFERENCE.sub(
                lambda match: match[1] or self._take(match[2], key, file, problems), value
            )
        return value

    def _take(self, name: str, key: KeyPath, file: YamlFile, problems: list[Problem]) -> str:
        found = self.values.get(name)
        if found is not None:
            if found:
                self.used.add(found)
            return found
        if _NAME.fullmatch(name):
            what = f"the secret {name} is set neither in the environment nor in .env"
            mend = f"Set {name}, or write $${{{name}}} for the text itself."
        else:
            what = f"{name!r} is not the name of an environment variable"
            mend = "Write ${NAME} with letters, digits and underscores, or $${ for the text itself."
        problems.append(Problem(what, dotted(key), file.path, file.line(key), mend))
        return ""


def read_dotenv(path: Path) -> dict[str, str]:
    """The ``NAME=value`` lines of ``path``; nothing if there is no such file.

    Values may be quoted; unquoted, `` #`` starts a comment. Nothing is expanded.

    Raises:
        ConfigurationError: a line is none of these. The line itself is not shown.
    """
    if not path.is_file():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problem = Problem("it cannot be read as UTF-8 text", file=path, mend="Check the file.")
        raise ConfigurationError(problem) from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _ASSIGNMENT.fullmatch(text)
        if match is None:
            what = "this line is not NAME=value"
            mend = "Correct it, or start it with # to have it ignored."
            raise ConfigurationError(Problem(what, file=path, line=number, mend=mend))
        found[match[1]] = _unquoted(match[2])
    return found


def _unquoted(text: str) -> str:
    for quote in "\"'":
        if text.startswith(quote) and (end := text.find(quote, 1)) > 0:
            return text[1:end]
    return text.partition(" #")[0].rstrip()
