"""The order in which an engine loads and releases, what it binds, and what happens on failure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from naas_abi_core.engine.context import (
    get_default_agent_checkpointer,
    get_default_agent_memory,
    set_default_agent_checkpointer,
)
from naas_abi_core.engine.engine import Engine
from naas_abi_core.errors import (
    AgentError,
    AgentNotFound,
    ConfigurationError,
    EngineError,
    ModuleError,
    ServiceNotDeclared,
    ServiceUnavailable,
)
from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from tests.support.projects import Project

RECORDING = """
import builtins, pathlib

class ABIModule(BaseModule):
    dependencies = ModuleDependencies(modules={modules}, services={services})

    def note(self, what):
        with (pathlib.Path({log!r})).open("a") as log:
            log.write(what + " {name}\\n")

    def __init__(self, engine, configuration):
        super().__init__(engine, configuration)
        self.note("init")

    def on_load(self):
        self.note("load")

    def on_initialized(self):
        self.note("initialized")

    def on_unloaded(self):
        self.note("unloaded")
"""

AGENTS = """
from naas_abi_core.services.agent import Agent
from @a import ABIModule

class Support(Agent):
    name = "support"
    description = "Helps"

    @classmethod
    def New(cls, agent_shared_state=None, agent_configuration=None):
        return cls(cls.name, cls.description, ABIModule.get_instance().chat_model("support"),
                   state=agent_shared_state, configuration=agent_configuration)

class Broken(Agent):
    name = "broken"

    @classmethod
    def New(cls, agent_shared_state=None, agent_configuration=None):
        return 1 / 0
"""


@pytest.fixture(autouse=True)
def _nothing_bound() -> Iterator[None]:
    """Every test leaves the process as it was."""
    yield
    found = get_default_agent_checkpointer()
    set_default_agent_checkpointer(None)
    assert found is None


def record(project: Project, name: str, modules: str = "[]", services: str = "[]") -> None:
    log = str(project.directory / "log")
    project.module(name, RECORDING.format(name=name, log=log, modules=modules, services=services))


def log_of(project: Project) -> list[str]:
    file = project.directory / "log"
    return file.read_text().splitlines() if file.exists() else []


def configure(project: Project, *names: str, more: str = "") -> Path:
    lines = [f"  - {{module: @{name}, path: .}}" for name in names]
    return project.config("\n".join(["modules:", *lines, more, ""]))


DOCUMENTS = "services: {document: {document_adapter: {adapter: memory}}}"


def test_modules_come_in_order_and_go_in_reverse(project: Project) -> None:
    record(project, "a", modules="['@b']")
    record(project, "b")
    engine = Engine.from_file(configure(project, "a", "b"))
    engine.load()
    assert list(engine.modules) == [project.named("b"), project.named("a")]
    engine.shutdown()
    assert log_of(project) == [
        "init b",
        "load b",
        "init a",
        "load a",
        "initialized b",
        "initialized a",
        "unloaded a",
        "unloaded b",
    ]
    assert dict(engine.modules) == {}


def test_shutdown_twice_or_before_load_has_no_effect(project: Project) -> None:
    record(project, "a")
    engine = Engine.from_file(configure(project, "a"))
    engine.shutdown()
    engine.load()
    engine.shutdown()
    engine.shutdown()
    assert log_of(project) == ["init a", "load a", "initialized a", "unloaded a"]


def test_an_engine_can_be_loaded_again_and_not_twice(project: Project) -> None:
    record(project, "a")
    engine = Engine.from_file(configure(project, "a"))
    with engine:
        with pytest.raises(EngineError, match=r"the engine is loaded\. Call shutdown"):
            engine.load()
        assert list(engine.modules) == [project.named("a")]
    with engine:
        assert list(engine.modules) == [project.named("a")]


def test_without_a_module_that_declares_documents_nothing_is_opened(project: Project) -> None:
    record(project, "a")
    with Engine.from_file(configure(project, "a")) as engine:
        assert engine.document_root is None
        assert engine.checkpointer is None
        assert engine.memory_reason == "no loaded module declares the document service"
        assert get_default_agent_memory().unused == ()
    assert not (project.directory / "storage").exists()


def test_a_configured_store_that_nobody_declares_is_told(project: Project) -> None:
    record(project, "a")
    with Engine.from_file(configure(project, "a", more=DOCUMENTS)):
        assert get_default_agent_memory().unused == (
            (
                "services.document is configured, but no loaded module declares the document "
                "service: add DocumentService to the services of a module's ModuleDependencies"
            ),
        )


def test_the_document_saver_is_bound_while_the_engine_is_loaded(project: Project) -> None:
    record(project, "a", services="['document']")
    with Engine.from_file(configure(project, "a")) as engine:
        assert isinstance(engine.checkpointer, DocumentCheckpointSaver)
        assert get_default_agent_checkpointer() is engine.checkpointer
        assert engine.memory_reason == "the engine loaded the document service (adapter 'sqlite')"
        assert engine.document_root is not None
        assert engine.document_root.namespaces() == ["naas_abi_core.services.agent"]
    assert (project.directory / "storage/documents.sqlite").is_file()
    assert get_default_agent_checkpointer() is None
    assert engine.checkpointer is None
    assert engine.memory_reason == "the engine is not loaded"


def test_postgres_url_keeps_the_engine_from_binding(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTGRES_URL", "postgresql://u:s3cret@h/d")
    record(project, "a", services="['document']")
    with Engine.from_file(configure(project, "a", more=DOCUMENTS)) as engine:
        assert engine.document_root is not None
        assert engine.checkpointer is None
        assert engine.memory_reason == ("POSTGRES_URL is set, so agents keep their memory there")


def test_the_engine_loaded_last_is_the_default_and_the_first_does_not_unbind_it(
    project: Project,
) -> None:
    record(project, "a", services="['document']")
    configuration = configure(project, "a", more=DOCUMENTS)
    first, second = Engine.from_file(configuration), Engine.from_file(configuration)
    first.load()
    second.load()
    assert get_default_agent_checkpointer() is second.checkpointer
    first.shutdown()
    assert get_default_agent_checkpointer() is second.checkpointer
    second.shutdown()


def test_load_replaces_what_the_program_set_even_by_none(project: Project) -> None:
    set_default_agent_checkpointer(InMemorySaver())
    with Engine.from_file(project.config("")):
        assert get_default_agent_checkpointer() is None


def test_a_module_has_the_namespace_of_its_name(project: Project) -> None:
    record(project, "a", services="['document']")
    with Engine.from_file(configure(project, "a", more=DOCUMENTS)) as engine:
        module = engine.modules[project.named("a")]
        assert module.engine.services.document.namespace == project.named("a")
    with pytest.raises(ServiceUnavailable, match="the engine is shut down"):
        _ = module.engine.services.document


def test_an_undeclared_service_is_refused(project: Project) -> None:
    record(project, "a", services="['document']")
    record(project, "b")
    with Engine.from_file(configure(project, "a", "b", more=DOCUMENTS)) as engine:
        services = engine.modules[project.named("b")].engine.services
        with pytest.raises(ServiceNotDeclared) as caught:
            _ = services.document
        assert str(caught.value).replace(project.prefix, "@") == (
            "module @b: it uses the service 'document' without declaring it. "
            "Add DocumentService to the services of its ModuleDependencies."
        )
        with pytest.raises(ServiceNotDeclared, match="there is no service 'documents'; did you"):
            _ = services.documents  # type: ignore[attr-defined]  # what the test is about


def test_a_module_sees_the_modules_it_declared(project: Project) -> None:
    record(project, "a", modules="['@b', '@c#soft']")
    record(project, "b")
    record(project, "c")
    record(project, "d")
    with Engine.from_file(configure(project, "a", "b", "c", "d")) as engine:
        seen = engine.modules[project.named("a")].engine.modules
        assert set(seen) == {project.named("b"), project.named("c")}
        assert seen[project.named("b")] is engine.modules[project.named("b")]


@pytest.mark.parametrize(
    ("failing", "done"),
    [
        ("__init__", ["init a", "load a", "unloaded a"]),
        ("on_load", ["init a", "load a", "init b", "unloaded b", "unloaded a"]),
        (
            "on_initialized",
            ["init a", "load a", "init b", "load b", "initialized a", "unloaded b", "unloaded a"],
        ),
    ],
)
def test_a_failing_module_is_named_and_all_is_released(
    project: Project, failing: str, done: list[str]
) -> None:
    record(project, "a", services="['document']")
    record(project, "b", modules="['@a']")
    package = project.directory / project.named("b") / "__init__.py"
    code = package.read_text().replace(f"def {failing}(self", f"def {failing}(self", 1)
    head, found, tail = code.partition(f"    def {failing}(self")
    signature, _, body = tail.partition("\n")
    package.write_text(f"{head}{found}{signature}\n        raise OSError('disk on fire')\n{body}")
    engine = Engine.from_file(configure(project, "a", "b", more=DOCUMENTS))
    with pytest.raises(ModuleError) as caught:
        engine.load()
    assert str(caught.value).replace(project.prefix, "@") == (
        f"module @b: its {failing} failed: OSError: disk on fire. Mend it, or set 'enabled: false'."
    )
    assert isinstance(caught.value.__cause__, OSError)
    assert log_of(project) == done
    assert engine.document_root is None
    assert dict(engine.modules) == {}


def test_a_failing_unload_does_not_keep_the_rest(project: Project) -> None:
    record(project, "a", services="['document']")
    record(project, "b", modules="['@a']")
    package = project.directory / project.named("b") / "__init__.py"
    package.write_text(package.read_text().replace('self.note("unloaded")', "1 / 0"))
    engine = Engine.from_file(configure(project, "a", "b", more=DOCUMENTS))
    engine.load()
    with pytest.raises(ModuleError, match="its on_unloaded failed: ZeroDivisionError"):
        engine.shutdown()
    assert log_of(project)[-1] == "unloaded a"
    assert engine.document_root is None


def test_a_failing_unload_does_not_hide_the_failure_before_it(project: Project) -> None:
    record(project, "a")
    package = project.directory / project.named("a") / "__init__.py"
    package.write_text(package.read_text().replace('self.note("unloaded")', "1 / 0"))
    with pytest.raises(KeyError) as caught, Engine.from_file(configure(project, "a")):
        raise KeyError("first")
    assert caught.value.__notes__ == [
        (
            f"While shutting down: ModuleError: module {project.named('a')}: its on_unloaded "
            "failed: ZeroDivisionError: division by zero. Mend it, or set 'enabled: false'."
        )
    ]


def test_a_secret_in_a_modules_failure_is_masked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABI_TEST_KEY", "s3cret")
    project.module(
        "a",
        """
        class ABIModule(BaseModule):
            class Configuration(ModuleConfiguration):
                key: str

            def on_load(self):
                raise OSError(f"refused {self.configuration.key}")
        """,
    )
    file = project.config("modules: [{module: @a, path: ., config: {key: '${ABI_TEST_KEY}'}}]")
    with pytest.raises(ModuleError, match=r"its on_load failed: OSError: refused \*\*\*\."):
        Engine.from_file(file).load()


def test_an_unknown_adapter_is_told(project: Project) -> None:
    record(project, "a", services="['document']")
    more = "services:\n  document:\n    document_adapter:\n      adapter: sqlit\n"
    with pytest.raises(ConfigurationError) as caught:
        Engine.from_file(configure(project, "a", more=more)).load()
    assert str(caught.value).replace(str(project.directory), "DIR") == (
        "DIR/config.yaml:6: services.document.document_adapter.adapter: no document adapter is "
        "called 'sqlit'; did you mean 'sqlite'? Use memory or nats_rpc or postgresql or sqlite, or "
        "install the plugin that offers 'sqlit'."
    )


def test_a_store_that_cannot_be_opened_is_told(project: Project) -> None:
    record(project, "a", services="['document']")
    project.write("storage", "a file where a folder is to be")
    with pytest.raises(ServiceUnavailable) as caught:
        Engine.from_file(configure(project, "a")).load()
    assert caught.value.where == "document service (adapter 'sqlite')"
    assert "storage" in caught.value.what
    assert caught.value.mend == "Check services.document.document_adapter in the configuration."


def test_agents_are_found_and_built_once(project: Project) -> None:
    record(project, "a", services="['document']")
    project.write("@a/agents/support.py", AGENTS)
    project.write("@a/agents/_private.py", "1 / 0")
    project.write("@a/agents/support_test.py", "1 / 0")
    more = f"default_agent: support\n{DOCUMENTS}"
    with Engine.from_file(configure(project, "a", more=more)) as engine:
        info = engine.agents["support"]
        assert (info.name, info.module, info.description) == (
            "support",
            project.named("a"),
            "Helps",
        )
        assert set(engine.agents) == {"support", "broken"}
        agent = engine.agent("support")
        assert engine.agent() is agent
        assert agent.checkpointer is engine.checkpointer
        assert agent.invoke("Hello, my name is Ada.")
        assert len(agent.snapshot().values["messages"]) == 2
    with pytest.raises(AgentNotFound, match="is the engine loaded"):
        engine.agent("support")


def test_agents_of_two_engines_keep_their_own_memory(project: Project) -> None:
    record(project, "a", services="['document']")
    project.write("@a/agents/support.py", AGENTS)
    configuration = configure(project, "a", more=DOCUMENTS)
    with Engine.from_file(configuration) as first, Engine.from_file(configuration) as second:
        assert first.agent("support").checkpointer is first.checkpointer
        assert second.agent("support").checkpointer is second.checkpointer
        assert first.checkpointer is not second.checkpointer


def test_functions_that_create_agents_are_found(project: Project) -> None:
    record(project, "a")
    project.write(
        "@a/agents/greeter.py",
        '''
        """Greets."""
        def create_agent(agent_shared_state=None, agent_configuration=None):
            return "a greeter"
        ''',
    )
    project.write(
        "@a/agents/named.py",
        """
        NAME, DESCRIPTION = "other", "Is named"
        def create_agent(agent_shared_state=None, agent_configuration=None):
            return "another"
        """,
    )
    project.write("@a/agents/using.py", "from langchain.agents import create_agent\n")
    with Engine.from_file(configure(project, "a")) as engine:
        assert {info.name: info.description for info in engine.agents.values()} == {
            "greeter": "Greets.",
            "other": "Is named",
        }
        assert engine.agent("greeter") == "a greeter"


def test_a_failing_factory_is_named(project: Project) -> None:
    record(project, "a")
    project.write("@a/agents/support.py", AGENTS)
    with (
        Engine.from_file(configure(project, "a")) as engine,
        pytest.raises(AgentError) as caught,
    ):
        engine.agent("broken")
    assert str(caught.value).replace(project.prefix, "@") == (
        "agent 'broken' of module @a: its factory failed: ZeroDivisionError: division by zero. "
        "Mend the factory."
    )


def test_an_agents_file_that_cannot_be_imported_is_named(project: Project) -> None:
    record(project, "a")
    project.write("@a/agents/bad.py", "1 / 0")
    with pytest.raises(ModuleError) as caught:
        Engine.from_file(configure(project, "a")).load()
    assert str(caught.value).replace(project.prefix, "@") == (
        "module @a: the import of @a.agents.bad failed: ZeroDivisionError: division by zero. "
        "Mend it, or start its name with _ if it is no agent."
    )


def test_two_agents_of_one_name_are_refused(project: Project) -> None:
    for name in ("a", "b"):
        record(project, name)
        project.write(f"@{name}/agents/twin.py", "def create_agent(**_): ...\n")
    with pytest.raises(ModuleError) as caught:
        Engine.from_file(configure(project, "a", "b")).load()
    assert str(caught.value).replace(project.prefix, "@") == (
        "module @b: its agent 'twin' has the name of an agent of @a. "
        "Give one of the two another name."
    )


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            "default_agent: suport",
            (
                "DIR/config.yaml:3: default_agent: no module has an agent 'suport'; did you mean "
                "'support'? The agents are: support, broken."
            ),
        ),
        (
            "agents: {zzz: {}}",
            (
                "DIR/config.yaml:3: agents.zzz: no module has an agent 'zzz'. "
                "The agents are: support, broken."
            ),
        ),
    ],
)
def test_a_configured_agent_that_is_not_there_is_told(
    project: Project, more: str, text: str
) -> None:
    record(project, "a")
    project.write("@a/agents/support.py", AGENTS)
    engine = Engine.from_file(configure(project, "a", more=more))
    with pytest.raises(ConfigurationError) as caught:
        engine.load()
    assert str(caught.value).replace(str(project.directory), "DIR") == text
    engine.load([project.named("a")])  # a part of the modules need not have every agent
    engine.shutdown()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("suport", "there is no agent 'suport'; did you mean 'support'?"),
        (None, "no agent was named and the configuration has no default_agent."),
    ],
)
def test_an_unknown_agent_is_told(project: Project, name: str | None, text: str) -> None:
    record(project, "a")
    project.write("@a/agents/support.py", AGENTS)
    with (
        Engine.from_file(configure(project, "a")) as engine,
        pytest.raises(AgentNotFound) as caught,
    ):
        engine.agent(name)
    assert str(caught.value) == f"{text} The agents are: support, broken."


def test_a_module_is_reachable_by_its_class_while_loaded(project: Project) -> None:
    record(project, "a")
    with Engine.from_file(configure(project, "a")) as engine:
        module: Any = engine.modules[project.named("a")]
        assert type(module).get_instance() is module
    with pytest.raises(ModuleError, match=r"it is not loaded\. Load it: enable it"):
        type(module).get_instance()


def test_an_engine_writes_nothing_outside_its_project(
    project: Project, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    record(project, "a", services="['document']")
    with Engine.from_file(configure(project, "a")):
        pass
    assert list(elsewhere.iterdir()) == []


def test_loading_warns_of_nothing(project: Project) -> None:
    record(project, "a", services="['document']")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Engine.from_file(configure(project, "a", more=DOCUMENTS)):
            pass


def test_an_undeclared_service_used_while_loading_is_told_as_such(project: Project) -> None:
    project.module(
        "a",
        """
        class ABIModule(BaseModule):
            def on_load(self):
                self.engine.services.document
        """,
    )
    with pytest.raises(ServiceNotDeclared, match="uses the service 'document' without declaring"):
        Engine.from_file(configure(project, "a")).load()


@pytest.mark.parametrize("hook", ["__init__", "on_load", "on_initialized", "on_unloaded"])
def test_a_hook_that_ends_the_program_is_named(project: Project, hook: str) -> None:
    project.module(
        "a",
        f"""
        class ABIModule(BaseModule):
            def {hook}(self, *_):
                raise SystemExit(0)
        """,
    )
    with (
        pytest.raises(ModuleError, match=f"its {hook} failed: SystemExit: 0"),
        Engine.from_file(configure(project, "a")),
    ):
        pass


def test_a_factory_that_ends_the_program_is_named(project: Project) -> None:
    record(project, "a")
    project.write("@a/agents/support.py", "def create_agent(**_):\n    raise SystemExit(0)\n")
    with (
        Engine.from_file(configure(project, "a")) as engine,
        pytest.raises(AgentError, match="its factory failed: SystemExit: 0"),
    ):
        engine.agent("support")


def test_an_agents_file_that_ends_the_program_is_named(project: Project) -> None:
    record(project, "a")
    project.write("@a/agents/support.py", "raise SystemExit(0)\n")
    with pytest.raises(ModuleError, match=r"the import of .*support failed: SystemExit: 0"):
        Engine.from_file(configure(project, "a")).load()
