"""What a module offers is written down, and every file is called after what is in it."""

from __future__ import annotations

import ast
import importlib
import re

from tests.architecture.sources import Module, complaints, modules

PUBLIC = [module for module in modules() if module.is_public]
VAGUE = {"utils", "util", "helpers", "helper", "core", "common", "misc"}


def defined(module: Module) -> set[str]:
    """Public functions and classes a module itself defines."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    nodes = [node for node in module.tree.body if isinstance(node, kinds)]
    return {node.name for node in nodes if not node.name.startswith("_") and not registered(node)}


def registered(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator hands it to somebody who calls it: nobody imports a command or a tool."""
    decorators = {ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list}
    return "tool" in decorators or any(
        name.endswith((".command", ".callback")) for name in decorators
    )


def listed(module: Module) -> list[str] | None:
    """The module's ``__all__``, None when it has none."""
    for node in module.tree.body:
        target = node.target if isinstance(node, ast.AnnAssign) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else target
        if isinstance(target, ast.Name) and target.id == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


def test_all_lists_what_a_public_module_defines() -> None:
    def unlisted(module: Module) -> list[str]:
        return sorted(defined(module) - set(listed(module) or ()))

    assert complaints(PUBLIC, unlisted) == {}


def test_every_listed_name_is_there_and_listed_once() -> None:
    def wrong(module: Module) -> list[str]:
        names = listed(module) or []
        loaded = importlib.import_module(module.name)
        missing = [name for name in names if not hasattr(loaded, name)]
        return [*missing, *(name for name in names if names.count(name) > 1)]

    assert complaints(PUBLIC, wrong) == {}


def test_modules_are_named_after_their_role() -> None:
    def wrong(module: Module) -> list[str]:
        stem = module.name.rpartition(".")[2]
        snake_case = re.fullmatch(r"[a-z_][a-z0-9_]*", stem) or module.is_published_path
        # Protobuf's packages are called what the wire contract calls them.
        vague = stem in VAGUE and not module.name.startswith("naas_abi_sdk.proto.")
        return [stem] if vague or not snake_case else []

    assert complaints(modules(), wrong) == {}


def test_every_module_says_what_lives_in_it() -> None:
    assert [module.name for module in modules() if not ast.get_docstring(module.tree)] == []
