"""Errors tell people what to do."""

from __future__ import annotations

import importlib
import inspect
import re

from tests.architecture.sources import Module, complaints, modules
from tools.generate_docs import ERROR_MODULES, errors_page


def declared(module_name: str) -> list[type[Exception]]:
    """The exception classes a module declares itself."""
    classes = (found for found in vars(importlib.import_module(module_name)).values())
    return [
        found
        for found in classes
        if inspect.isclass(found)
        and issubclass(found, Exception)
        and found.__module__ == module_name
    ]


ERRORS = [error for name in ERROR_MODULES for error in declared(name)]


def says_what_to_do(error: type[Exception]) -> bool:
    """The root of a family says what it covers; any other error also what to do."""
    clauses = re.split(r"[.;:]\s", f"{error.__doc__ or ''} ")
    return sum(1 for clause in clauses if clause.strip()) >= (1 if error.__subclasses__() else 2)


def test_an_error_says_what_happened_and_what_to_do() -> None:
    assert [error.__name__ for error in ERRORS if not says_what_to_do(error)] == []


def test_errors_are_declared_in_the_error_module_of_their_distribution() -> None:
    def elsewhere(module: Module) -> list[str]:
        if module.name in ERROR_MODULES or not module.is_public:
            return []
        names = [error.__name__ for error in declared(module.name)]
        return [name for name in names if not name.startswith("_")]

    assert complaints(modules(), elsewhere) == {}


def test_wire_codes_are_upper_case_and_say_one_thing_each() -> None:
    codes = [error.__dict__["code"] for error in ERRORS if "code" in error.__dict__]
    assert [code for code in codes if not re.fullmatch(r"[A-Z_]+", code)] == []
    assert len(codes) == len(set(codes))


def test_the_errors_page_names_every_error() -> None:
    page = errors_page()
    assert [error for error in ERRORS if f"### `{error.__name__}`" not in page] == []
