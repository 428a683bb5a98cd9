"""Set a distribution's version and turn its ``Unreleased`` section into that release.

``python -m tools.bump sdk 1.1.0`` rewrites two files and prints the commands that follow. It
commits and tags nothing: a release is looked at before it is made.
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import datetime, timezone

from tools.releases import Distribution, find_distribution, sections

__all__ = ["bump_history", "bump_pyproject"]


def bump_pyproject(text: str, version: str) -> str:
    """Return a ``pyproject.toml`` with another project version."""
    changed, count = re.subn(
        r'^version = "[^"]*"$', f'version = "{version}"', text, flags=re.MULTILINE
    )
    if count != 1:
        message = f"expected one line 'version = \"…\"', found {count}"
        raise ValueError(message)
    return changed


def bump_history(text: str, version: str, day: str) -> str:
    """Return a history whose unreleased changes are those of ``version``.

    Raises:
        ValueError: nothing is unreleased, or ``version`` is not newer than the last release.
    """
    unreleased, *released = sections(text)
    if unreleased.version is not None or not unreleased.body:
        message = "'Unreleased' is empty: write what changed for users first"
        raise ValueError(message)
    wanted = tuple(int(part) for part in version.split("."))
    if released and released[0].version is not None and wanted <= released[0].version:
        message = f"{version} is not newer than the last release, {released[0].title}"
        raise ValueError(message)
    return text.replace("## Unreleased\n", f"## Unreleased\n\n## {version} - {day}\n", 1)


def _next_steps(distribution: Distribution, version: str) -> str:
    tag = distribution.tag(version)
    lines = [
        "uv lock",
        "make check test-all",
        f"git commit -am 'Release {distribution.name} {version}'",
        f"git tag {tag}",
        f"git push origin main {tag}    # the tag publishes",
    ]
    advice = [
        f"Does {find_distribution(key).name} need this version? Then raise its lower bound first."
        for key in distribution.dependents
    ]
    return "\n".join([*advice, "Next:", *(f"  {line}" for line in lines)])


def main() -> int:
    """Rewrite the two files of one distribution; 1 with a sentence when that makes no sense."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("distribution")
    parser.add_argument("version")
    arguments = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+", arguments.version):
        print(f"{arguments.version}: a version is X.Y.Z", file=sys.stderr)
        return 1
    day = datetime.now(timezone.utc).date().isoformat()
    try:
        distribution = find_distribution(arguments.distribution)
        pyproject = bump_pyproject(distribution.pyproject.read_text("utf-8"), arguments.version)
        history = bump_history(distribution.history.read_text("utf-8"), arguments.version, day)
    except (KeyError, ValueError) as error:
        print(error.args[0], file=sys.stderr)
        return 1
    distribution.pyproject.write_text(pyproject, "utf-8")
    distribution.history.write_text(history, "utf-8")
    print(_next_steps(distribution, arguments.version))
    return 0


if __name__ == "__main__":
    sys.exit(main())
