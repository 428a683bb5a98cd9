"""Check what Markdown files claim: links reach a file and a heading, code blocks parse.

``python -m tools.check_docs`` reads every Markdown file that git tracks or would track. Links to
other hosts are left alone: whether they answer says nothing about this repository. A block marked
``python run`` is an example whose output the ``text`` block after it shows; the tests run it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import tomllib
import yaml

from tools.releases import ROOT

__all__ = ["anchors", "check_blocks", "check_links", "examples"]

_FENCE: Final = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^ *(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_CODE_SPAN: Final = re.compile(r"`[^`\n]*`")
_LINK: Final = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
_SOURCE: Final = re.compile(r"(?:src|href)=\"(?P<target>[^\"]+)\"")
_HEADING: Final = re.compile(r"^#{1,6} +(?P<title>.*?)(?: +#+)?$", re.MULTILINE)
_ELSEWHERE: Final = re.compile(r"^[a-z][a-z0-9+.-]*:")

#: How a block of each language is parsed; a language not named here is prose to this check.
PARSERS: Final[dict[str, Callable[[str], object]]] = {
    "python": lambda body: compile(body, "<block>", "exec"),
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


def anchors(text: str) -> set[str]:
    """Return the fragments a Markdown file's headings answer to, as code hosts derive them."""
    found: set[str] = set()
    for heading in _HEADING.finditer(_FENCE.sub("", text)):
        kept = re.sub(r"[^\w\- ]", "", heading["title"].lower())
        slug = base = kept.replace(" ", "-")
        count = 0
        while slug in found:
            count += 1
            slug = f"{base}-{count}"
        found.add(slug)
    return found


def check_links(path: Path, text: str) -> Iterator[str]:
    """Yield a complaint for each relative link of ``text`` that leads nowhere."""
    prose = _CODE_SPAN.sub("", _FENCE.sub("", text))
    for link in (*_LINK.finditer(prose), *_SOURCE.finditer(prose)):
        target = link["target"]
        if _ELSEWHERE.match(target):
            continue
        name, _, fragment = unquote(target).partition("#")
        reached = path.parent / name if name else path
        if not reached.exists():
            yield f"{target}: no such file"
        elif fragment and reached.suffix == ".md" and fragment not in anchors(_read(reached)):
            yield f"{target}: no such heading"


def check_blocks(text: str) -> Iterator[str]:
    """Yield a complaint for each fenced block that its own language refuses."""
    for block in _FENCE.finditer(text):
        language = block["info"].split(" ")[0].strip()
        parse = PARSERS.get(language)
        if parse is None:
            continue
        try:
            parse(_body(block))
        except (SyntaxError, ValueError, yaml.YAMLError) as error:
            line = text.count("\n", 0, block.start()) + 1
            yield f"{language} block at line {line}: {error}"


def examples(text: str) -> Iterator[tuple[str, str]]:
    """Yield the runnable blocks of ``text``: code, and the output the page shows for it."""
    blocks = list(_FENCE.finditer(text))
    for block, following in pairwise(blocks):
        if block["info"].strip() == "python run" and following["info"].strip() == "text":
            yield _body(block), _body(following)


def _body(block: re.Match[str]) -> str:
    indent = len(block["indent"])
    return "".join(line[indent:] for line in block["body"].splitlines(keepends=True))


def _read(path: Path) -> str:
    return path.read_text("utf-8")


def _markdown_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).exists()]


def main() -> int:
    """Print every complaint with its file; 1 when there is one."""
    complaints = 0
    for path in _markdown_files():
        text = _read(path)
        for complaint in (*check_links(path, text), *check_blocks(text)):
            print(f"{path.relative_to(ROOT)}: {complaint}", file=sys.stderr)
            complaints += 1
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
