from __future__ import annotations

import importlib
import importlib.util

import pytest

import naas_abi_core.services.agent as agents
from naas_abi_core.errors import ChatModelError
from naas_abi_core.plugins.manager import create_plugin_manager
from naas_abi_core.plugins.specs import hookimpl
from naas_abi_core.services.agent import create_chat_model
from naas_abi_core.services.agent.demonstration import DemonstrationChatModel
from naas_abi_core.services.agent.models import check_chat_model_name


def test_the_demonstration_model_needs_nothing() -> None:
    assert isinstance(create_chat_model("demonstration"), DemonstrationChatModel)


@pytest.mark.skipif(
    importlib.util.find_spec("langchain_openai") is not None, reason="the package is installed"
)
def test_a_missing_provider_package_is_named() -> None:
    with pytest.raises(ChatModelError, match="pip install langchain-openai"):
        create_chat_model("openai:gpt-4.1")


def test_an_unknown_name_says_what_to_use() -> None:
    with pytest.raises(ChatModelError, match=r"there is no chat model 'gpt'.*provider:model"):
        create_chat_model("gpt", plugins=create_plugin_manager(entry_points=False))


def test_an_unknown_provider_is_told_with_the_nearest() -> None:
    # Releases of LangChain that list no providers are asked when the model is built.
    told = r"no provider 'opnai'; did you mean 'openai'\?|'opnai:gpt-4.1': it cannot be built"
    with pytest.raises(ChatModelError, match=told):
        create_chat_model("opnai:gpt-4.1", plugins=create_plugin_manager(entry_points=False))


def test_a_name_is_checked_and_nothing_is_built() -> None:
    plugins = create_plugin_manager(entry_points=False)
    check_chat_model_name("openai:gpt-4.1", plugins=plugins)
    with pytest.raises(ChatModelError, match="there is no chat model 'gpt'"):
        check_chat_model_name("gpt", plugins=plugins)


def test_a_name_may_be_another_plugins_own() -> None:
    class Plugin:
        @hookimpl
        def abi_chat_model(self, name: str, settings: object) -> None:
            """Knows none today."""

    plugins = create_plugin_manager(entry_points=False)
    plugins.register(Plugin())
    check_chat_model_name("gpt", plugins=plugins)


def test_public_names() -> None:
    for name in agents.__all__:
        assert getattr(agents, name).__name__ == name
    assert "DocumentCheckpointSaver" not in agents.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = agents.nothing  # type: ignore[attr-defined]  # the point


def test_the_published_path_of_the_saver_is_a_module() -> None:
    published = importlib.import_module("naas_abi_core.services.agent.DocumentCheckpointSaver")
    from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver

    assert published.DocumentCheckpointSaver is DocumentCheckpointSaver
    assert agents.DocumentCheckpointSaver is published  # type: ignore[attr-defined]  # a submodule
