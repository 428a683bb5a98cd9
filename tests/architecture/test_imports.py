"""Import rules that import-linter cannot express; its own contracts are in pyproject.toml."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.sources import (
    PACKAGES,
    ROOT,
    Module,
    at_import_time,
    complaints,
    imported,
    modules,
    python_files,
    relative,
)

CODEC = "naas_abi_sdk.langgraph_documents"
PURE = (
    CODEC,
    *(f"naas_abi_sdk.document.{name}" for name in ("types", "validation", "commands")),
    *(f"naas_abi_sdk.document.{name}" for name in ("encoding", "matching", "paging")),
    *(f"naas_abi_sdk.document.{name}" for name in ("cursors", "grouping")),
)
#: Attributes and names by which the time or chance gets in; the modules are forbidden elsewhere.
UNREPEATABLE = {"now", "utcnow", "today", "uuid1", "uuid4"}
FRAMEWORKS = {"langgraph", "langchain", "langchain_core"}
RE_EXPORT = {ast.Expr, ast.ImportFrom, ast.Assign}
OUTSIDE = ("os.environ", "os.getenv", "open(", "sqlite3.connect", "psycopg.connect")


def of_frameworks(module: Module) -> list[str]:
    """Names of LangGraph's and LangChain's distributions that a module imports."""
    return [name for name in imported(module.tree) if name.split(".")[0] in FRAMEWORKS]


def is_private(part: str) -> bool:
    return part.startswith("_")


def test_no_private_name_of_langgraph_or_langchain_is_imported() -> None:
    def private(module: Module) -> list[str]:
        return [name for name in of_frameworks(module) if any(map(is_private, name.split(".")))]

    assert complaints(modules(), private) == {}


def test_only_one_module_of_the_codec_names_langgraph() -> None:
    codec = [module for module in modules() if module.name.startswith(CODEC)]

    assert set(complaints(codec, of_frameworks)) == {f"{CODEC}._langgraph"}


def test_modules_that_decide_always_decide_the_same() -> None:
    pure = [module for module in modules() if module.name.startswith(PURE)]

    def readings(module: Module) -> list[str]:
        attributes = {
            node.attr for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)
        }
        names = {name.rpartition(".")[2] for name in imported(module.tree)}
        return sorted((attributes | names) & UNREPEATABLE)

    assert {module.name for module in pure} >= set(PURE)
    assert complaints(pure, readings) == {}


def test_importing_reads_no_environment_and_opens_nothing() -> None:
    def done(module: Module) -> list[str]:
        nodes = at_import_time(module.tree)
        texts = (ast.unparse(node) for node in nodes if isinstance(node, ast.Call | ast.Subscript))
        return [text for text in texts if text.startswith(OUTSIDE)]

    assert complaints(modules(), done) == {}


def test_published_import_paths_only_re_export_and_nothing_here_uses_them() -> None:
    published = {module.name: module for module in modules() if module.is_published_path}

    def wrong(module: Module) -> list[str]:
        used = {name.rpartition(".")[0] for name in imported(module.tree)} & set(published)
        statements = {type(node) for node in module.tree.body} - RE_EXPORT
        own = [kind.__name__ for kind in statements] if module.name in published else []
        return [*used, *own]

    assert complaints(modules(), wrong) == {}


def test_the_sdks_tests_need_neither_core_nor_the_command() -> None:
    waiting = [path for path in python_files() if relative(path).startswith("tests/sdk/")]
    assert waiting
    reached: set[Path] = set()
    found = []
    while waiting:
        current = waiting.pop()
        reached.add(current)
        names = set(imported(ast.parse(current.read_text("utf-8"))))
        found += [(relative(current), name) for name in names if name.startswith(PACKAGES[1:])]
        waiting += [path for name in names for path in _files(name) if path not in reached]
    assert found == []


def _files(name: str) -> list[Path]:
    """``a.b.c`` is module c of a.b, or name c of module a.b: the import alone does not say."""
    meant = (name, name.rpartition(".")[0])
    return [path for dotted in meant if (path := ROOT / f"{dotted.replace('.', '/')}.py").exists()]


def test_what_runs_on_python_3_10_parses_there() -> None:
    for path in python_files():
        if relative(path).startswith(("packages/naas-abi-sdk/", "tests/sdk/", "tests/contracts/")):
            ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 10))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_distribution_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / "packages" / package.replace("_", "-") / "src" / package / "py.typed").is_file()
