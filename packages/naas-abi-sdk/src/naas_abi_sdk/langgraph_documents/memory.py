"""What a saver brings to every operation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from naas_abi_sdk.langgraph_documents._langgraph import SerializerProtocol
from naas_abi_sdk.langgraph_documents.caching import ValueCache
from naas_abi_sdk.langgraph_documents.faithful import faithful
from naas_abi_sdk.langgraph_documents.recall import Recall
from naas_abi_sdk.langgraph_documents.recognising import Recogniser
from naas_abi_sdk.langgraph_documents.reviving import Revival
from naas_abi_sdk.langgraph_documents.trails import Trails

__all__ = ["Memory"]


@dataclass(frozen=True, slots=True)
class Memory:
    """A saver's scope, its serializer, and what it remembers between calls.

    Attributes:
        agent_id: Scope of the documents within their namespace.
        serde: What was given as serializer, made faithful if it is LangGraph's.
        recall: What is known to be stored.
        recogniser: What need not be serialized again.
        values: What need not be read again.
        revival: What need not be deserialized again.
        trails: What need not be read again of the ancestors of a checkpoint.
        copied_keys: Keys of a run's configuration that are copied into metadata; None copies all
            that do not look like a secret's.
        given: The serializer as it was given.
    """

    agent_id: str
    serde: SerializerProtocol
    recall: Recall = field(default_factory=Recall)
    recogniser: Recogniser = field(default_factory=Recogniser)
    values: ValueCache = field(default_factory=ValueCache)
    revival: Revival = field(default_factory=Revival)
    trails: Trails = field(default_factory=Trails)
    copied_keys: frozenset[str] | None = None
    given: SerializerProtocol = field(init=False)

    def __post_init__(self) -> None:
        """Take the faithful serializer."""
        given: Any = self.serde
        object.__setattr__(self, "given", given)
        object.__setattr__(self, "serde", faithful(given))

    def with_serde(self, serde: Any) -> Memory:
        """This memory for another serializer; itself for the one it has."""
        return self if serde is self.given else replace(self, serde=serde)
