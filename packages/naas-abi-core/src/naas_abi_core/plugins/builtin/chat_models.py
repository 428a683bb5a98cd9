"""Builds the demonstration model, and any model LangChain has a package for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from naas_abi_core.errors import ChatModelError, nearest
from naas_abi_core.plugins.specs import hookimpl

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["DEMONSTRATION", "abi_chat_model", "check_name"]

#: Name of the offline model that needs no key.
DEMONSTRATION: Final = "demonstration"


@hookimpl
def abi_chat_model(name: str, settings: Mapping[str, Any]) -> BaseChatModel | None:
    """``demonstration``, else ``provider:model`` as LangChain's ``init_chat_model`` takes it."""
    if name == DEMONSTRATION:
        return _demonstration(settings)
    return _of_a_provider(name, settings) if ":" in name else None


def check_name(name: str) -> None:
    """Refuse a name that :func:`abi_chat_model` builds nothing of; builds nothing itself.

    Raises:
        ChatModelError: it is neither ``demonstration`` nor a known ``provider:model``.
    """
    provider, colon, model = name.partition(":")
    if name == DEMONSTRATION:
        return
    if not (provider and colon and model):
        raise ChatModelError(
            f"there is no chat model {name!r}",
            mend="Use 'demonstration', or 'provider:model' such as 'openai:gpt-4.1'.",
        )
    from langchain.chat_models import base

    # LangChain tells the providers it knows in a sentence only; without this list it is asked when
    # the model is built.
    known = list(getattr(base, "_BUILTIN_PROVIDERS", ()))
    if known and provider.replace("-", "_") not in known:
        raise ChatModelError(
            f"LangChain knows no provider {provider!r}{nearest(provider, known)}",
            where=f"chat model {name!r}",
            mend=f"The providers are: {', '.join(sorted(known))}.",
        )


def _demonstration(settings: Mapping[str, Any]) -> BaseChatModel:
    from naas_abi_core.services.agent.demonstration import DemonstrationChatModel

    # LangChain's models ignore what they do not know, so a misspelt setting would go unseen.
    for setting in settings:
        known = list(DemonstrationChatModel.model_fields)
        if setting not in known:
            raise ChatModelError(
                f"it has no setting {setting!r}{nearest(setting, known)}",
                where=f"chat model {DEMONSTRATION!r}",
                mend="Remove the setting; this model needs none.",
            )
    return DemonstrationChatModel(**settings)


def _of_a_provider(name: str, settings: Mapping[str, Any]) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    check_name(name)
    try:
        model: BaseChatModel = init_chat_model(name, **settings)
    except ImportError as error:
        raise ChatModelError(
            "the package of its provider is not installed",
            where=f"chat model {name!r}",
            mend=f"Install it: pip install {_package(name, error)}.",
        ) from error
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- providers raise what they like
        told = _without_settings(error, settings)
        raise ChatModelError(
            f"it cannot be built: {told}",
            where=f"chat model {name!r}",
            mend="Correct its name, its settings, or the environment its provider reads.",
        ) from (error if told == str(error) else None)
    return model


def _without_settings(error: BaseException, settings: Mapping[str, Any]) -> str:
    """The first line of ``error``, without any setting's value: one may be a key."""
    if isinstance(error, ValidationError):
        return "; ".join(
            f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"
            for detail in error.errors(include_url=False, include_context=False)
        )
    text = str(error).strip().partition("\n")[0]
    for value in settings.values():
        if isinstance(value, str) and value:
            text = text.replace(value, "***")
    return text


def _package(name: str, error: ImportError) -> str:
    """What LangChain asks for; its text names the package between backquotes."""
    quoted = str(error).split("`")
    for text in quoted:
        words = text.split()
        if words[:2] == ["pip", "install"] and len(words) > 2:
            return words[-1]
    return f"langchain-{name.partition(':')[0].replace('_', '-')}"
