"""The check of Markdown files finds what it is there for, and the repository's files pass it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import relative, repository_files
from tools.check_docs import anchors, check_blocks, check_links, examples

CASE = re.compile(r"\bC\d{3}\b")


def test_links_lead_somewhere_and_blocks_parse() -> None:
    found = []
    for path in repository_files():
        if path.suffix == ".md":
            text = path.read_text("utf-8")
            wrong = (*check_links(path, text), *check_blocks(text))
            found += [f"{relative(path)}: {complaint}" for complaint in wrong]
    assert found == []


def test_failures_that_tests_name_are_explained() -> None:
    page = next(path for path in repository_files() if path.name == "failures.md")
    explained = set(re.findall(r"^\| (C\d{3}) ", page.read_text("utf-8"), re.MULTILINE))
    tests = [path for path in repository_files() if relative(path).startswith("tests/")]
    named = {
        name
        for path in tests
        if path.suffix == ".py"
        for name in CASE.findall(path.read_text("utf-8"))
    }
    assert len(named) > 40
    assert named == explained


def test_runnable_examples_print_what_their_page_shows() -> None:
    shown = {}
    for path in repository_files():
        if path.suffix == ".md":
            for number, (code, output) in enumerate(examples(path.read_text("utf-8")), 1):
                shown[f"{relative(path)}, example {number}"] = (code, output)
    assert shown
    printed = {name: run_apart(code) for name, (code, _) in shown.items()}
    assert printed == {name: output for name, (_, output) in shown.items()}


def run_apart(code: str) -> str:
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return answer.stdout + answer.stderr


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# A heading, *here*\n\n# Twice\n\n# Twice\n", "utf-8")
    text = (
        "[a](other.md) [b](other.md#a-heading-here) [c](other.md#twice-1) [d](https://x.example)\n"
        '[e](gone.md) [f](other.md#gone) ![g](gone.svg) <img src="gone.png"> `[h](gone.md)`\n'
    )
    assert list(check_links(page, text)) == [
        "gone.md: no such file",
        "other.md#gone: no such heading",
        "gone.svg: no such file",
        "gone.png: no such file",
    ]


def test_headings_in_code_are_no_headings() -> None:
    assert anchors("# One\n\n```bash\n# two\n```\n") == {"one"}


@pytest.mark.parametrize(
    ("language", "good", "bad"),
    [
        ("python", "x = 1", "x = "),
        ("json", '{"a": 1}', "{a: 1}"),
        ("toml", "a = 1", "a = "),
        ("yaml", "a: [1]", "a: [1"),
    ],
)
def test_a_block_is_parsed_in_its_language(language: str, good: str, bad: str) -> None:
    page = "text\n\n  ```{}\n  {}\n  ```\n"
    assert list(check_blocks(page.format(language, good))) == []
    (complaint,) = check_blocks(page.format(language, bad))
    assert complaint.startswith(f"{language} block at line 3: ")
