"""Every hook of the engine. This file is the table of contents of what a plugin may do.

A plugin is a module or object whose functions, named like the hooks below, are marked with
:data:`hookimpl`. It is found through the entry-point group :data:`ENTRY_POINT_GROUP`. The
plugins that ship with the engine use these same hooks.

Every hook here asks for exactly one answer: plugins are asked in turn until one does not answer
None. Others' plugins come before ours, ``tryfirst`` before all, ``trylast`` after all but the
in-memory checkpointer. A plugin that cannot do what it was asked for raises; it answers None only
when it was not meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pluggy

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from naas_abi_core.services.document.port import DocumentPort

__all__ = [
    "ENTRY_POINT_GROUP",
    "PROJECT",
    "ChatModel",
    "Checkpointer",
    "CheckpointerContext",
    "CheckpointerOffer",
    "abi_chat_model",
    "abi_checkpointer",
    "abi_document_adapter",
    "hookimpl",
    "hookspec",
]

#: pluggy's name for this set of hooks; markers of one project do not see those of another.
PROJECT: Final = "naas_abi"

#: Entry-point group in which distributions announce their plugins.
ENTRY_POINT_GROUP: Final = "naas_abi"

# Names for LangChain's and LangGraph's types: they are not imported to be named.
ChatModel: TypeAlias = "BaseChatModel"
Checkpointer: TypeAlias = "BaseCheckpointSaver[Any]"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@dataclass(frozen=True, slots=True)
class CheckpointerContext:
    """What a plugin may base its choice of a checkpointer on. Holds secrets: do not print it.

    Attributes:
        engine_checkpointer: The saver the loaded engine bound, or None.
        engine_reason: Why the engine bound it, or bound none.
        unused: Stores that were configured and cannot be used, each with its mend. Whoever offers
            memory that ends with the process warns of them.
        environment: Environment variables at the time of the question.
    """

    engine_checkpointer: Checkpointer | None = None
    engine_reason: str = "no engine is loaded in this process"
    unused: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class CheckpointerOffer:
    """A checkpointer that could be opened.

    Attributes:
        source: What it is, in a few words: ``"PostgresSaver"``.
        why: Why it is offered, without secrets: ``"POSTGRES_URL is set"``.
        open: Opens it, or raises ``CheckpointerError``. Called for every agent built without
            ``memory=``, perhaps from many threads: what is to be shared, the plugin keeps.
    """

    source: str
    why: str
    open: Callable[[], Checkpointer]


@hookspec(firstresult=True)
def abi_checkpointer(context: CheckpointerContext) -> CheckpointerOffer | None:
    """Offer the checkpointer of agents built with ``memory=None``.

    Opens nothing: the question is also asked only to show the answer.
    """


@hookspec(firstresult=True)
def abi_document_adapter(name: str, config: Mapping[str, Any]) -> Callable[[], DocumentPort] | None:
    """Offer the document store that the configuration calls ``name``.

    Opens nothing: the answer is called, once, when the engine needs the store; ``abi config check``
    does not call it. The hook, or the answer when called, raises ``ValueError`` for a ``config`` it
    does not understand, naming the key. A ``path`` in ``config`` is absolute already.
    """


@hookspec(firstresult=True)
def abi_chat_model(name: str, settings: Mapping[str, Any]) -> ChatModel | None:
    """Build the chat model called ``name``, such as ``demonstration`` or ``openai:gpt-4.1``.

    Sends nothing over the network. Raises ``ChatModelError`` for a model that is its own but
    cannot be built.
    """
