"""Check every distribution's history; with ``--tag`` also that a release agrees with itself.

``python -m tools.check_history [--tag sdk-v1.0.0]``
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tools.releases import DISTRIBUTIONS, Distribution, Section, sections

__all__ = ["check_history", "check_tag"]

_KINDS: Final = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def check_history(distribution: Distribution, text: str) -> Iterator[str]:
    """Yield what is wrong with a history, in words that say what to write instead."""
    where = f"docs/history/{distribution.key}.md"
    if not text.startswith(f"# History of {distribution.name}\n"):
        yield f"{where}: begin with '# History of {distribution.name}'"
    try:
        found = sections(text)
    except ValueError as error:
        yield f"{where}: {error}"
        return
    if not found or found[0].version is not None:
        yield f"{where}: the first section must be 'Unreleased', empty or not"
    yield from (f"{where}: {complaint}" for complaint in _check_order(found[1:]))
    yield from (f"{where}: {complaint}" for complaint in _check_bodies(found))


def check_tag(tag: str) -> Iterator[str]:
    """Yield how a tag disagrees with the version and the history it releases."""
    for distribution in DISTRIBUTIONS:
        if tag == distribution.tag(distribution.version):
            released = sections(distribution.history.read_text("utf-8"))[:2]
            newest = released[-1].title.split(" ")[0]
            if newest != distribution.version:
                yield f"{tag}: the history's newest release is {newest}; run tools.bump first"
            elif released[0].body:
                yield f"{tag}: 'Unreleased' is not empty; release those changes or drop the tag"
            return
    known = ", ".join(found.tag(found.version) for found in DISTRIBUTIONS)
    yield f"{tag}: not a version in any pyproject.toml; these can be released now: {known}"


def _check_order(released: list[Section]) -> Iterator[str]:
    for newer, older in pairwise(released):
        if newer.version is None or older.version is None:
            yield "only the first section may be 'Unreleased'"
        elif newer.version <= older.version or _day(newer) < _day(older):
            yield f"{newer.title!r} must be newer than {older.title!r} below it"


def _check_bodies(found: list[Section]) -> Iterator[str]:
    for section in found:
        if section.version is not None and not section.body:
            yield f"{section.title!r} says nothing; a release has at least one line"
        for kind in re.findall(r"^### (.*)$", section.body, re.MULTILINE):
            if kind not in _KINDS:
                yield f"{section.title!r}: {kind!r} is not one of {', '.join(sorted(_KINDS))}"


def _day(section: Section) -> str:
    return section.day.isoformat() if section.day else ""


def main() -> int:
    """Print every complaint; 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="the tag a release is built from")
    tag = parser.parse_args().tag
    complaints = [
        complaint
        for distribution in DISTRIBUTIONS
        for complaint in check_history(distribution, distribution.history.read_text("utf-8"))
    ]
    if tag:
        complaints += check_tag(tag)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
