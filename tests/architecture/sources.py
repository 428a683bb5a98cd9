"""The repository's own files, as the architecture tests read them: names, text and syntax trees."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("naas_abi_sdk", "naas_abi_core", "naas_abi_cli")


@dataclass(frozen=True)
class Module:
    """One module of a distribution."""

    name: str
    path: Path

    @property
    def is_public(self) -> bool:
        """Whether no part of its dotted name is private."""
        return not any(part.startswith("_") for part in self.name.split("."))

    @property
    def is_published_path(self) -> bool:
        """Whether this is an import path of earlier releases: only those are in CamelCase."""
        return self.path.stem != self.path.stem.lower()

    @property
    def tree(self) -> ast.Module:
        return _parse(self.path)


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the three distributions; generated protobuf code is nobody's style."""
    return tuple(
        Module(_dotted(path, source), path)
        for source in sorted(ROOT.glob("packages/*/src"))
        for path in sorted(source.rglob("*.py"))
        if not path.name.endswith("_pb2.py")
    )


@cache
def repository_files() -> tuple[Path, ...]:
    """Every file that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(filter(None, listed.stdout.split("\0")))
    return tuple(path for name in names if (path := ROOT / name).is_file())


def complaints(
    over: Iterable[Module], wrong: Callable[[Module], list[str]]
) -> dict[str, list[str]]:
    """What is wrong, by module; modules without complaints are left out."""
    return {module.name: found for module in over if (found := wrong(module))}


def python_files() -> Iterator[Path]:
    return (path for path in repository_files() if path.suffix == ".py")


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names a module imports, ``from a import b`` as ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def at_import_time(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes below ``node`` that run when the module is imported: not the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        yield child
        yield from at_import_time(child)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def _dotted(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
