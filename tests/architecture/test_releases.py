"""Versions, histories and tags agree, and the tools that keep them so notice when they do not."""

from __future__ import annotations

import pytest

from tools.bump import bump_history, bump_pyproject
from tools.check_history import check_history, check_tag
from tools.releases import DISTRIBUTIONS, Distribution, find_distribution, sections

SDK = find_distribution("sdk")
GOOD = """# History of naas-abi-sdk

## Unreleased

## 1.1.0 - 2026-03-01

### Added

- Something.

## 1.0.0 - 2026-02-01

The first.
"""


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda found: found.key)
def test_the_histories_are_in_order(distribution: Distribution) -> None:
    text = distribution.history.read_text("utf-8")
    assert list(check_history(distribution, text)) == []


def test_a_good_history_has_no_complaints() -> None:
    assert list(check_history(SDK, GOOD)) == []


@pytest.mark.parametrize(
    ("wrong", "right", "complaint"),
    [
        ("# History of naas-abi-sdk", "# Changes", "begin with '# History of naas-abi-sdk'"),
        ("## Unreleased\n\n", "", "the first section must be 'Unreleased', empty or not"),
        ("1.1.0 - 2026-03-01", "1.1 - March", "heading '1.1 - March': write 'Unreleased' or"),
        ("1.1.0 - 2026-03-01", "0.9.0 - 2026-03-01", "must be newer than '1.0.0 - 2026-02-01'"),
        ("1.1.0 - 2026-03-01", "1.1.0 - 2026-01-01", "must be newer than '1.0.0 - 2026-02-01'"),
        ("The first.\n", "", "'1.0.0 - 2026-02-01' says nothing"),
        ("### Added", "### New", "'New' is not one of Added, Changed"),
    ],
)
def test_a_wrong_history_is_told_what_to_write(wrong: str, right: str, complaint: str) -> None:
    (found,) = check_history(SDK, GOOD.replace(wrong, right))
    assert complaint in found


def test_sections_are_read_newest_first() -> None:
    assert [section.version for section in sections(GOOD)] == [None, (1, 1, 0), (1, 0, 0)]


def test_a_tag_of_an_unreleased_version_is_refused() -> None:
    (complaint,) = check_tag("sdk-v0.0.1")
    assert complaint.startswith("sdk-v0.0.1: not a version in any pyproject.toml")


def test_bumping_releases_what_was_unreleased() -> None:
    text = GOOD.replace("## Unreleased\n", "## Unreleased\n\n### Fixed\n\n- A fault.\n")
    bumped = bump_history(text, "1.1.1", "2026-04-01")
    unreleased, released = sections(bumped)[:2]
    assert unreleased.body == ""
    assert (released.title, released.body) == ("1.1.1 - 2026-04-01", "### Fixed\n\n- A fault.")
    assert list(check_history(SDK, bumped)) == []


@pytest.mark.parametrize(
    ("text", "version", "complaint"),
    [
        (GOOD, "1.2.0", "'Unreleased' is empty"),
        (GOOD.replace("## Unreleased", "## Unreleased\n\n- x"), "1.1.0", "1.1.0 is not newer"),
    ],
)
def test_a_release_that_makes_no_sense_is_refused(text: str, version: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        bump_history(text, version, "2026-04-01")


def test_bumping_changes_the_project_version_and_nothing_else() -> None:
    text = '[project]\nname = "x"\nversion = "1.0.0"\ndependencies = ["y>=1.0.0"]\n'
    assert bump_pyproject(text, "1.2.0") == text.replace('version = "1.0.0"', 'version = "1.2.0"')
    with pytest.raises(ValueError, match="found 0"):
        bump_pyproject("[project]\n", "1.2.0")
