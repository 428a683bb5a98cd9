"""The distributions, where each keeps its version and history, and what a history looks like.

Adding a distribution is a row of :data:`DISTRIBUTIONS`; nothing else here names one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import tomllib

__all__ = ["DISTRIBUTIONS", "ROOT", "Distribution", "Section", "find_distribution", "sections"]

ROOT: Final = Path(__file__).resolve().parent.parent

_HEADING: Final = re.compile(r"^## (?P<title>.*)$", re.MULTILINE)
_RELEASE: Final = re.compile(r"^(?P<version>\d+\.\d+\.\d+) - (?P<date>\d{4}-\d{2}-\d{2})$")


@dataclass(frozen=True)
class Distribution:
    """One published package: ``key`` is its short name in commands, tags and file names."""

    key: str
    name: str
    #: Distributions whose lower bound on this one may have to rise with it.
    dependents: tuple[str, ...] = ()

    @property
    def pyproject(self) -> Path:
        """The file that says its version."""
        return ROOT / "packages" / self.name / "pyproject.toml"

    @property
    def history(self) -> Path:
        """The file that says what changed for users."""
        return ROOT / "docs" / "history" / f"{self.key}.md"

    @property
    def version(self) -> str:
        """The version it would be released as now."""
        version: str = tomllib.loads(self.pyproject.read_text("utf-8"))["project"]["version"]
        return version

    def tag(self, version: str) -> str:
        """Return the git tag that releases ``version``."""
        return f"{self.key}-v{version}"


DISTRIBUTIONS: Final = (
    Distribution("sdk", "naas-abi-sdk", dependents=("core",)),
    Distribution("core", "naas-abi-core", dependents=("cli",)),
    Distribution("cli", "naas-abi-cli"),
)


@dataclass(frozen=True)
class Section:
    """One ``##`` section of a history. ``version`` and ``day`` are None for Unreleased."""

    title: str
    version: tuple[int, ...] | None
    day: date | None
    body: str


def find_distribution(key: str) -> Distribution:
    """Return the distribution called ``key``, or raise ``KeyError`` naming the known ones."""
    for distribution in DISTRIBUTIONS:
        if distribution.key == key:
            return distribution
    known = ", ".join(distribution.key for distribution in DISTRIBUTIONS)
    message = f"no distribution {key!r}; known: {known}"
    raise KeyError(message)


def sections(text: str) -> list[Section]:
    """Split a history into its sections, newest first as written.

    Raises:
        ValueError: a heading is neither ``Unreleased`` nor ``X.Y.Z - YYYY-MM-DD``.
    """
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return [
        _section(heading["title"], text[heading.end() : end])
        for heading, end in zip(headings, ends, strict=True)
    ]


def _section(title: str, body: str) -> Section:
    if title == "Unreleased":
        return Section(title, None, None, body.strip())
    if not (release := _RELEASE.match(title)):
        message = f"heading {title!r}: write 'Unreleased' or 'X.Y.Z - YYYY-MM-DD'"
        raise ValueError(message)
    version = tuple(int(part) for part in release["version"].split("."))
    return Section(title, version, date.fromisoformat(release["date"]), body.strip())
