"""Writes small projects, a configuration and modules, for tests of the engine."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import pytest

__all__ = ["Project", "project"]


class Project:
    """A project's directory. Packages get a prefix of their own: a process imports a name once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.prefix = f"t{uuid4().hex[:12]}"

    def write(self, path: str, text: str) -> Path:
        """Write a file, with every ``@`` of ``text`` replaced by the prefix."""
        file = self.directory / path.replace("@", self.prefix)
        file.parent.mkdir(parents=True, exist_ok=True)
        # Not at the start of a line: that is a decorator.
        marked = re.compile(r"(^\s*@)|@", re.MULTILINE)
        filled = marked.sub(lambda found: found[1] or self.prefix, dedent(text))
        file.write_text(filled, encoding="utf-8")
        return file

    def config(self, text: str) -> Path:
        """Write ``config.yaml``."""
        return self.write("config.yaml", text)

    def module(self, name: str, text: str) -> None:
        """Write the package ``@name`` with the names a module needs already imported."""
        head = """\
        from naas_abi_core.engine.modules import (
            BaseModule, ModuleConfiguration, ModuleDependencies,
        )
        """
        self.write(f"@{name}/__init__.py", dedent(head) + dedent(text))

    def named(self, name: str) -> str:
        """The dotted name of what :meth:`module` wrote."""
        return self.prefix + name


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project; the import path is as before when the test ends."""
    monkeypatch.syspath_prepend("")  # saves sys.path, which the engine appends to
    monkeypatch.delenv("POSTGRES_URL", raising=False)
    monkeypatch.delenv("ENV", raising=False)
    return Project(tmp_path)
