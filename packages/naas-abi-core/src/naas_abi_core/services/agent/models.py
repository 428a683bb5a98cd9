"""Chat models by name, through the plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel

from naas_abi_core.errors import ChatModelError

if TYPE_CHECKING:
    import pluggy

__all__ = ["check_chat_model_name", "create_chat_model"]


def check_chat_model_name(name: str, *, plugins: pluggy.PluginManager | None = None) -> None:
    """Refuse a name nobody can know. Builds nothing, so it says nothing of settings and packages.

    Where another plugin answers too every name may be one of its own, and none is refused.

    Raises:
        ChatModelError: see :func:`create_chat_model`.
    """
    from naas_abi_core.plugins.builtin import chat_models
    from naas_abi_core.plugins.manager import process_plugin_manager

    manager = plugins or process_plugin_manager()
    if all(each.plugin is chat_models for each in manager.hook.abi_chat_model.get_hookimpls()):
        chat_models.check_name(name)


def create_chat_model(
    name: str,
    settings: Mapping[str, Any] | None = None,
    *,
    plugins: pluggy.PluginManager | None = None,
) -> BaseChatModel:
    """Build the chat model called ``name``.

    Args:
        name: ``demonstration``, which needs no network; ``provider:model`` such as
            ``openai:gpt-4.1`` for any provider LangChain knows; or a plugin's own name.
        settings: Keyword arguments of the model, such as ``temperature``.
        plugins: Who is asked; the plugins of the process by default.

    Raises:
        ChatModelError: nobody knows the name, the provider's package is not installed, or the
            model refuses its settings.
    """
    from naas_abi_core.plugins.manager import process_plugin_manager

    manager = plugins or process_plugin_manager()
    model: BaseChatModel | None = manager.hook.abi_chat_model(name=name, settings=settings or {})
    if model is None:
        raise ChatModelError(
            f"there is no chat model {name!r}",
            mend="Use 'demonstration', or 'provider:model' such as 'openai:gpt-4.1'.",
        )
    return model
