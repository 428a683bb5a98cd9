"""Every hook is answered by somebody, documented with its arguments, and tested here.

The test of a hook ``abi_x`` is named ``test_hook_abi_x``.
"""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from types import FunctionType

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from naas_abi_core.errors import ChatModelError
from naas_abi_core.plugins import specs
from naas_abi_core.plugins.manager import create_plugin_manager
from naas_abi_core.plugins.specs import CheckpointerContext, CheckpointerOffer

REFERENCE = Path(__file__).parents[3] / "docs/reference/hooks.md"

HOOKS = {
    name: function
    for name, function in vars(specs).items()
    if name.startswith("abi_") and isinstance(function, FunctionType)
}


def test_there_are_hooks() -> None:
    assert set(HOOKS) == {"abi_checkpointer", "abi_document_adapter", "abi_chat_model"}


@pytest.mark.parametrize("name", HOOKS)
def test_the_hook_is_documented_with_its_arguments(name: str) -> None:
    arguments = ", ".join(inspect.signature(HOOKS[name]).parameters)
    assert f"\n## `{name}({arguments})`\n" in REFERENCE.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [CheckpointerContext, CheckpointerOffer])
def test_the_attributes_of_hook_values_are_documented(kind: type) -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    missing = [field.name for field in fields(kind) if f"| `{field.name}` |" not in text]
    assert missing == []


@pytest.mark.parametrize("name", HOOKS)
def test_the_hook_has_a_test(name: str) -> None:
    assert f"test_hook_{name}" in globals()


@pytest.mark.parametrize("name", HOOKS)
def test_the_hook_is_implemented_by_a_plugin_we_ship(name: str) -> None:
    manager = create_plugin_manager(entry_points=False)
    assert getattr(manager.hook, name).get_hookimpls()


def test_hook_abi_checkpointer() -> None:
    manager = create_plugin_manager(entry_points=False)
    offer = manager.hook.abi_checkpointer(context=CheckpointerContext())
    assert isinstance(offer, CheckpointerOffer)
    assert isinstance(offer.open(), InMemorySaver)


def test_hook_abi_document_adapter(tmp_path: Path) -> None:
    manager = create_plugin_manager(entry_points=False)
    file = tmp_path / "documents.sqlite"
    opener = manager.hook.abi_document_adapter(name="sqlite", config={"path": str(file)})
    assert not file.exists()
    adapter = opener()
    try:
        assert file.exists()
        assert adapter.namespaces() == []
    finally:
        adapter.close()
    assert manager.hook.abi_document_adapter(name="no-such", config={}) is None


def test_hook_abi_chat_model() -> None:
    manager = create_plugin_manager(entry_points=False)
    model = manager.hook.abi_chat_model(name="demonstration", settings={})
    assert model.invoke([HumanMessage("Hello")]).content
    assert manager.hook.abi_chat_model(name="no-such", settings={}) is None


def test_a_model_whose_package_is_missing_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "langchain_google_genai", None)
    manager = create_plugin_manager(entry_points=False)
    with pytest.raises(ChatModelError) as caught:
        manager.hook.abi_chat_model(name="google_genai:gemini-x", settings={})
    assert str(caught.value) == (
        "chat model 'google_genai:gemini-x': the package of its provider is not installed. "
        "Install it: pip install langchain-google-genai."
    )


def test_an_unknown_provider_is_told_without_the_settings() -> None:
    manager = create_plugin_manager(entry_points=False)
    with pytest.raises(ChatModelError) as caught:
        manager.hook.abi_chat_model(name="nosuch:m", settings={"api_key": "s3cret"})
    assert "chat model 'nosuch:m': " in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_setting_the_demonstration_model_does_not_have_is_told() -> None:
    manager = create_plugin_manager(entry_points=False)
    with pytest.raises(ChatModelError) as caught:
        manager.hook.abi_chat_model(name="demonstration", settings={"temprature": "s3cret"})
    assert caught.value.what.startswith("it has no setting 'temprature'")
    assert "s3cret" not in str(caught.value)
