"""How modules are found, checked, put in order, and what is said of those that are not right."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from naas_abi_core.engine.configuration import EngineConfiguration
from naas_abi_core.engine.module_graph import FoundModule, find_modules
from naas_abi_core.engine.modules import BaseModule, ModuleDependencies
from naas_abi_core.engine.services import declared_services
from naas_abi_core.errors import (
    ConfigurationError,
    EngineError,
    ModuleCycle,
    ModuleError,
    ModuleNotFound,
)
from tests.support.projects import Project

PLAIN = "class ABIModule(BaseModule): pass\n"


def needing(*modules: str, services: str = "") -> str:
    return (
        "class ABIModule(BaseModule):\n"
        f"    dependencies = ModuleDependencies(modules={list(modules)}, services=[{services}])\n"
    )


def configure(project: Project, *names: str, extra: str = "") -> EngineConfiguration:
    lines = [f"  - {{module: @{name}, path: .{extra}}}" for name in names]
    return EngineConfiguration.from_file(project.config("\n".join(["modules:", *lines, ""])))


def names_of(project: Project, found: Sequence[FoundModule]) -> list[str]:
    return [module.name.removeprefix(project.prefix) for module in found]


def told(project: Project, error: EngineError) -> str:
    text = str(error).replace(str(project.directory), "DIR")
    return text.replace(project.prefix, "@")


def test_a_module_is_found_below_its_path(project: Project) -> None:
    project.module("shop", PLAIN)
    (found,) = find_modules(configure(project, "shop"))
    assert found.name == project.named("shop")
    assert issubclass(found.kind, BaseModule)
    assert found.package.__file__ == str(project.directory / project.named("shop") / "__init__.py")


def test_a_module_inside_a_package_is_found(project: Project) -> None:
    project.write("@outer/__init__.py", "")
    project.write(
        "@outer/inner/__init__.py",
        f"from naas_abi_core.engine.modules import BaseModule\n{PLAIN}",
    )
    (found,) = find_modules(configure(project, "outer.inner"))
    assert found.name == project.named("outer.inner")


def test_dependencies_come_first_whatever_the_file_says(project: Project) -> None:
    project.module("a", needing("@b", "@c"))
    project.module("b", needing("@c"))
    project.module("c", PLAIN)
    found = find_modules(configure(project, "a", "b", "c"))
    assert names_of(project, found) == ["c", "b", "a"]


def test_soft_dependencies_come_first_if_they_are_there(project: Project) -> None:
    project.module("a", needing("@b#soft", "@never#soft"))
    project.module("b", PLAIN)
    assert names_of(project, find_modules(configure(project, "a", "b"))) == ["b", "a"]
    assert names_of(project, find_modules(configure(project, "a"))) == ["a"]


def test_named_modules_bring_what_they_require_and_nothing_else(project: Project) -> None:
    project.module("a", needing("@b", "@d#soft"))
    project.module("b", PLAIN)
    project.module("c", "raise RuntimeError('not to be imported')\n")
    project.module("d", PLAIN)
    configuration = configure(project, "a", "b", "c", "d")
    assert names_of(project, find_modules(configuration, [project.named("a")])) == ["b", "a"]


def test_disabled_modules_are_not_imported(project: Project) -> None:
    project.module("a", "raise RuntimeError('not to be imported')\n")
    assert find_modules(configure(project, "a", extra=", enabled: false")) == []


def test_the_modules_configuration_is_checked_and_given(project: Project) -> None:
    project.module(
        "a",
        """
        class ABIModule(BaseModule):
            class Configuration(ModuleConfiguration):
                greeting: str
                times: int = 1
        """,
    )
    configuration = configure(project, "a", extra=", config: {greeting: Hello}")
    (found,) = find_modules(configuration)
    assert found.configuration.model_dump() == {"greeting": "Hello", "times": 1}


def test_a_module_may_be_installed_instead(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.module("a", PLAIN)
    monkeypatch.syspath_prepend(project.directory)
    configuration = EngineConfiguration.from_file(project.config("modules: [{module: @a}]"))
    assert names_of(project, find_modules(configuration)) == ["a"]


WRONG = {
    "unknown": (
        {},
        ["shop"],
        (
            "DIR/config.yaml:2: modules[0].module: there is no Python package '@shop'. Correct the "
            "name, install its distribution, or set 'path' to the directory that holds it."
        ),
    ),
    "unknown below an unknown": (
        {},
        ["shop.support"],
        (
            "DIR/config.yaml:2: modules[0].module: there is no Python package '@shop.support'. "
            "Correct the name, install its distribution, or set 'path' to the directory that holds "
            "it."
        ),
    ),
    "import fails": (
        {"a": "1 / 0"},
        ["a"],
        (
            "module @a: its import failed: ZeroDivisionError: division by zero. "
            "Mend it, or set 'enabled: false'."
        ),
    ),
    "import ends the program": (
        {"a": "raise SystemExit(0)"},
        ["a"],
        "module @a: its import failed: SystemExit: 0. Mend it, or set 'enabled: false'.",
    ),
    "a package it needs is missing": (
        {"a": "import no_such_package"},
        ["a"],
        (
            "module @a: its import failed: ModuleNotFoundError: No module named 'no_such_package'. "
            "Mend it, or set 'enabled: false'."
        ),
    ),
    "no ABIModule": (
        {"a": "class Module(BaseModule): pass"},
        ["a"],
        (
            "module @a: its package exports no class ABIModule derived from BaseModule. "
            "Define or import ABIModule in DIR/@a/__init__.py."
        ),
    ),
    "ABIModule of something else": (
        {"a": "class ABIModule: pass"},
        ["a"],
        (
            "module @a: its package exports no class ABIModule derived from BaseModule. "
            "Define or import ABIModule in DIR/@a/__init__.py."
        ),
    ),
    "requires what is not listed": (
        {"a": needing("@bb"), "b": PLAIN},
        ["a", "b"],
        (
            "module @a: it requires the module '@bb', which is not listed; did you mean '@b'? "
            "Add '- module: @bb' to modules."
        ),
    ),
    "a circle": (
        {"a": needing("@b"), "b": needing("@c#soft"), "c": needing("@a")},
        ["a", "b", "c"],
        (
            "modules depend on each other in a circle: CIRCLE. "
            'Make one of these dependencies soft, "name#soft", and not needed at load.'
        ),
    ),
    "listed twice": (
        {"a": PLAIN},
        ["a", "a"],
        (
            "DIR/config.yaml:3: modules[1].module: the module '@a' is listed twice. "
            "Keep one of the two."
        ),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_exactly(project: Project, case: str) -> None:
    modules, listed, text = WRONG[case]
    for name, code in modules.items():
        project.module(name, code)
    with pytest.raises(EngineError) as caught:
        find_modules(configure(project, *listed))
    # Where a circle starts depends on the order in which it was walked.
    circles = ("@a -> @b -> @c -> @a", "@b -> @c -> @a -> @b", "@c -> @a -> @b -> @c")
    assert told(project, caught.value) in [text.replace("CIRCLE", circle) for circle in circles]


def test_what_is_wrong_has_its_own_class(project: Project) -> None:
    project.module("a", needing("@a"))
    with pytest.raises(ModuleCycle):
        find_modules(configure(project, "a"))
    with pytest.raises(ModuleNotFound):
        find_modules(configure(project, "shop"))
    project.module("b", "1 / 0")
    with pytest.raises(ModuleError) as caught:
        find_modules(configure(project, "b"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_required_module_that_is_disabled_is_told(project: Project) -> None:
    project.module("a", needing("@b"))
    configuration = EngineConfiguration.from_file(
        project.config("modules: [{module: @a, path: .}, {module: @b, enabled: false}]")
    )
    with pytest.raises(ModuleNotFound) as caught:
        find_modules(configuration)
    assert told(project, caught.value) == (
        "module @a: it requires the module '@b', which is disabled. Enable it."
    )


def test_an_unknown_name_is_told_with_the_nearest(project: Project) -> None:
    project.module("support", PLAIN)
    with pytest.raises(ModuleNotFound) as caught:
        find_modules(configure(project, "support"), [project.named("suport")])
    assert told(project, caught.value) == (
        "module @suport: no enabled module has this name; did you mean '@support'? "
        "Enabled are: @support."
    )


def test_a_path_that_is_no_directory_is_told(project: Project) -> None:
    configuration = EngineConfiguration.from_file(
        project.config("modules:\n  - module: @a\n    path: nowhere\n")
    )
    with pytest.raises(ConfigurationError) as caught:
        find_modules(configuration)
    assert told(project, caught.value) == (
        "DIR/config.yaml:3: modules[0].path: there is no directory DIR/nowhere. "
        "It is to hold the package '@a'."
    )


def test_a_package_of_the_same_name_from_elsewhere_is_not_mistaken(project: Project) -> None:
    project.module("a", PLAIN)
    find_modules(configure(project, "a"))
    project.write("other/@a/__init__.py", PLAIN)
    configuration = EngineConfiguration.from_file(
        project.config("modules: [{module: @a, path: other}]")
    )
    with pytest.raises(ModuleError) as caught:
        find_modules(configuration)
    assert told(project, caught.value) == (
        "module @a: a package of this name was imported from DIR/@a/__init__.py, so the one in "
        "DIR/other cannot be. Give one of the two another name."
    )


def test_a_modules_wrong_configuration_is_told_with_line_and_key(project: Project) -> None:
    project.module(
        "a",
        """
        from pydantic import field_validator

        class ABIModule(BaseModule):
            class Configuration(ModuleConfiguration):
                greeting: str = "Hello"
                key: str = ""

                @field_validator("key")
                @classmethod
                def check(cls, key):
                    raise ValueError(f"{key!r} is no key")
        """,
    )
    file = project.config(
        """\
        modules:
          - module: @a
            path: .
            config:
              greetin: Hi
              key: ${KEY}
        """
    )
    configuration = EngineConfiguration.from_file(file, {"KEY": "s3cret"})
    with pytest.raises(ConfigurationError) as caught:
        find_modules(configuration)
    assert told(project, caught.value).splitlines() == [
        "DIR/config.yaml:6: modules[0].config.key: '***' is no key. Correct the value.",
        (
            "DIR/config.yaml:5: modules[0].config.greetin: there is no such key; did you mean "
            "'greeting'? Valid here: greeting, key."
        ),
    ]


def test_services_are_declared_by_class_or_name(project: Project) -> None:
    project.module("a", needing(services='"document"'))
    project.module(
        "b",
        "from naas_abi_core.services.document.service import DocumentService\n"
        + needing(services="DocumentService"),
    )
    project.module("c", PLAIN)
    found = find_modules(configure(project, "a", "b", "c"))
    assert {
        module.name.removeprefix(project.prefix): declared_services(module) for module in found
    } == {
        "a": frozenset({"document"}),
        "b": frozenset({"document"}),
        "c": frozenset(),
    }


@pytest.mark.parametrize(
    ("service", "text"),
    [
        (
            '"documents"',
            (
                "module @a: it declares the service 'documents', which does not exist; did you "
                "mean 'document'? The services are: document."
            ),
        ),
        (
            "int",
            (
                "module @a: it declares the service builtins.int, which does not exist. "
                "The services are: document."
            ),
        ),
    ],
)
def test_a_service_that_does_not_exist_is_told(project: Project, service: str, text: str) -> None:
    project.module("a", needing(services=service))
    (found,) = find_modules(configure(project, "a"))
    with pytest.raises(ModuleError) as caught:
        declared_services(found)
    assert told(project, caught.value) == text


@pytest.mark.parametrize("wrong", [{"modules": "shop"}, {"services": "document"}])
def test_dependencies_are_lists(wrong: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="is a list, also of one"):
        ModuleDependencies(**wrong)  # type: ignore[arg-type]  # what the test is about
