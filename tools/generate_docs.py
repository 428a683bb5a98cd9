"""Write the reference pages that are derived from code; with ``--check`` only compare.

``docs/reference/errors.md`` comes from the error classes: their docstrings already say what
happened and what to do, and a page written by hand would drift from them.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

from tools.releases import ROOT

__all__ = ["ERROR_MODULES", "errors_page"]

#: Every module that declares errors users may meet.
ERROR_MODULES: Final = ("naas_abi_sdk.errors", "naas_abi_core.errors", "naas_abi_cli.errors")

_PAGE: Final = ROOT / "docs" / "reference" / "errors.md"
_HEAD: Final = """\
<!-- Generated from the error classes by `make generate`. Edit their docstrings instead. -->
# Errors

Every error the packages raise on purpose, what it means and what to do. Catch the root of a
module to handle all of it. The code is the name an error has between processes; a class without
one is raised and handled on one side.
"""


def errors_page() -> str:
    """Return the whole page as Markdown."""
    parts = [_HEAD]
    for name in ERROR_MODULES:
        parts.append(f"\n## `{name}`\n")
        parts += [_entry(error) for error in _errors(importlib.import_module(name))]
    return "".join(parts)


def _errors(module: ModuleType) -> Iterator[type[Exception]]:
    for value in vars(module).values():
        declared_here = inspect.isclass(value) and value.__module__ == module.__name__
        if declared_here and issubclass(value, Exception):
            yield value


def _entry(error: type[Exception]) -> str:
    bases = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
    code = error.__dict__.get("code")
    facts = f"Based on {bases}." + (f" Code `{code}`." if code else "")
    text = re.sub(r"``([^`]+)``", r"`\1`", inspect.getdoc(error) or "")
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return f"\n### `{error.__name__}`\n\n{text}\n\n{facts}\n"


def main() -> int:
    """Write the page, or with ``--check`` return 1 when it is not what the code says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    page = errors_page()
    if not parser.parse_args().check:
        _PAGE.write_text(page, "utf-8")
        return 0
    if _current(_PAGE) == page:
        return 0
    print(f"{_PAGE.relative_to(ROOT)} is out of date: run `make generate`", file=sys.stderr)
    return 1


def _current(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
