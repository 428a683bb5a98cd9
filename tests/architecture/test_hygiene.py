"""What no file may hold: silenced checks without a reason, names of a machine or an index."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT, python_files, relative, repository_files

SILENCED = re.compile(r"#\s*(?P<what>noqa|type: ignore|pragma: no cover|fmt: off)(?P<rest>.*)$")
REASON = re.compile(r"^(: ?[A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)*|\[[a-z\-, ]+\])?\s*(--|#)\s*\S.{4,}")
NEEDS_CODE = {"noqa", "type: ignore"}

#: Assembled so that this file does not hold what it forbids.
FOREIGN = re.compile(
    "|".join(
        (
            *(rf"(?<![\w./~-])/{name}/" for name in ("root", "home", "work", "Users")),
            r"(?:test\.)?py" + r"pi\.org",
            "python" + r"hosted\.org",
        )
    )
)
#: The lock file's format records where each file came from.
MAY_NAME_AN_INDEX = {"uv.lock"}


def silenced_without_reason(line: str) -> bool:
    found = SILENCED.search(line)
    if not found:
        return False
    if not REASON.match(found["rest"].strip() if found["rest"][:1] == " " else found["rest"]):
        return True
    return found["what"] in NEEDS_CODE and found["rest"].lstrip()[:1] not in {":", "["}


def test_a_silenced_check_has_its_code_and_its_reason() -> None:
    found = [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in python_files()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if silenced_without_reason(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("x = 1", False),
        ("x = 1  # no" + "qa: A002 -- a document's own word", False),
        ("x = 1  # no" + "qa: A002", True),
        ("x = 1  # no" + "qa", True),
        ("x = 1  # no" + "qa -- because it is needed", True),
        ("x = 1  # type: " + "ignore[misc]  # the generator carries the type", False),
        ("x = 1  # type: " + "ignore[misc]", True),
        ("x = 1  # type: " + "ignore", True),
    ],
)
def test_what_counts_as_a_reason(line: str, refused: bool) -> None:
    assert silenced_without_reason(line) is refused


def test_no_file_names_a_machine_or_a_package_index() -> None:
    found = [
        f"{relative(path)}: {match.group()}"
        for path in repository_files()
        if relative(path) not in MAY_NAME_AN_INDEX
        for match in FOREIGN.finditer(path.read_text("utf-8", errors="replace"))
    ]
    assert found == []


def test_the_tests_ship_with_no_package_of_their_own() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []
