"""How plugins are found, put in order, refused and traced."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from naas_abi_core.errors import PluginError
from naas_abi_core.plugins.manager import create_plugin_manager
from naas_abi_core.plugins.specs import CheckpointerContext
from tests.support.distributions import install_plugin

ANSWERS = """\
from naas_abi_core.plugins.specs import CheckpointerOffer, hookimpl

@hookimpl{options}
def abi_checkpointer(context):
    return CheckpointerOffer(source=__name__, why="always", open=dict)
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path to install distributions into."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def source(context: CheckpointerContext) -> str:
    found: str = create_plugin_manager().hook.abi_checkpointer(context=context).source
    return found


def order(name: str) -> list[str]:
    """Who is asked, first to last."""
    hook = getattr(create_plugin_manager(entry_points=False).hook, name)
    return [implementation.plugin_name for implementation in reversed(hook.get_hookimpls())]


def test_ours_are_asked_in_a_fixed_order() -> None:
    assert order("abi_checkpointer") == ["engine", "postgresql", "memory"]


def test_others_are_asked_before_ours(site: Path) -> None:
    install_plugin(site, "abi_test_first", ANSWERS.format(options=""))
    context = CheckpointerContext(environment={"POSTGRES_URL": "postgresql://h/d"})
    assert source(context) == "abi_test_first"


def test_of_two_others_the_later_name_is_asked_first(site: Path) -> None:
    install_plugin(site, "abi_test_a", ANSWERS.format(options=""))
    install_plugin(site, "abi_test_b", ANSWERS.format(options=""))
    assert source(CheckpointerContext()) == "abi_test_b"


def test_tryfirst_comes_before_a_later_name(site: Path) -> None:
    install_plugin(site, "abi_test_c", ANSWERS.format(options="(tryfirst=True)"))
    install_plugin(site, "abi_test_d", ANSWERS.format(options=""))
    assert source(CheckpointerContext()) == "abi_test_c"


def test_trylast_comes_after_configured_stores_and_before_memory(site: Path) -> None:
    install_plugin(site, "abi_test_last", ANSWERS.format(options="(trylast=True)"))
    assert source(CheckpointerContext()) == "abi_test_last"
    configured = CheckpointerContext(environment={"POSTGRES_URL": "postgresql://h/d"})
    assert source(configured) == "LangGraph's PostgresSaver"


def test_others_are_left_out_on_request(site: Path) -> None:
    install_plugin(site, "abi_test_out", ANSWERS.format(options=""))
    manager = create_plugin_manager(entry_points=False)
    offer = manager.hook.abi_checkpointer(context=CheckpointerContext())
    assert offer.source == "LangGraph's InMemorySaver"


def test_a_plugin_that_ends_the_program_is_named(site: Path) -> None:
    install_plugin(site, "abi_test_exits", "raise SystemExit(0)")
    with pytest.raises(PluginError, match=r"abi_test_exits: it cannot be loaded: SystemExit: 0"):
        create_plugin_manager()


def test_a_plugin_that_cannot_be_imported_is_named(site: Path) -> None:
    install_plugin(site, "abi_test_broken", "import no_such_thing")
    with pytest.raises(PluginError) as caught:
        create_plugin_manager()
    assert str(caught.value) == (
        "plugin 'abi_test_broken-plugin' (abi_test_broken) of abi_test_broken: "
        "it cannot be loaded: ModuleNotFoundError: No module named 'no_such_thing'. "
        "Mend it, or remove it: pip uninstall abi_test_broken."
    )
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_misspelt_hook_is_refused(site: Path) -> None:
    code = ANSWERS.replace("abi_checkpointer", "abi_chekpointer").format(options="")
    install_plugin(site, "abi_test_misspelt", code)
    with pytest.raises(PluginError) as caught:
        create_plugin_manager()
    assert caught.value.where == "plugin 'abi_test_misspelt-plugin'"
    assert caught.value.what.startswith("unknown hook 'abi_chekpointer'")
    assert caught.value.mend == (
        "The hooks are abi_chat_model, abi_checkpointer, abi_document_adapter. Correct the name, "
        "or mark a hook of another distribution with hookimpl(optionalhook=True)."
    )


def test_a_misspelt_argument_is_refused(site: Path) -> None:
    code = ANSWERS.replace("(context)", "(kontext)").format(options="")
    install_plugin(site, "abi_test_argument", code)
    with pytest.raises(PluginError, match="kontext"):
        create_plugin_manager()


def test_a_hook_of_another_distribution_may_be_optional(site: Path) -> None:
    code = ANSWERS.replace("abi_checkpointer", "abi_elsewhere")
    install_plugin(site, "abi_test_optional", code.format(options="(optionalhook=True)"))
    create_plugin_manager()


def test_the_trace_shows_calls_and_answers_and_no_secrets() -> None:
    code = """
from naas_abi_core.plugins.manager import create_plugin_manager
from naas_abi_core.plugins.specs import CheckpointerContext
hook = create_plugin_manager(entry_points=False).hook
url = {"POSTGRES_URL": "postgresql://u:s3cret@h/d"}
hook.abi_checkpointer(context=CheckpointerContext(environment=url))
hook.abi_document_adapter(name="none", config={"dsn": "s3cret"})
try:
    hook.abi_chat_model(name="nosuch:m", settings={"api_key": "s3cret"})
except Exception:
    pass
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ABI_TRACE_PLUGINS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "abi_checkpointer(context=CheckpointerContext) asks engine, postgresql, memory",
        'abi_checkpointer -> CheckpointerOffer "LangGraph\'s PostgresSaver"',
        "abi_document_adapter(name='none', config={dsn}) asks document-adapters",
        "abi_document_adapter -> no answer",
        "abi_chat_model(name='nosuch:m', settings={api_key}) asks chat-models",
        "abi_chat_model -> raised ChatModelError",
    ]


def test_without_the_switch_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    manager = create_plugin_manager(entry_points=False)
    manager.hook.abi_checkpointer(context=CheckpointerContext())
    assert capsys.readouterr().err == ""
