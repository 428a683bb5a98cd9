"""LangGraph's serializer, made to keep values as they are, or to say which it cannot keep.

Plain values and LangChain's messages go to LangGraph's serializer and nowhere else. Of any other
value LangGraph's bytes are read back and compared with it: if they give the same value, they are
what is stored. Otherwise ``tagging`` serializes it, under a kind of its own, and that is compared
in turn. What neither keeps is refused. So content addresses do not change for what LangGraph keeps,
and what is stored was read back once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any, Final, final

from naas_abi_sdk.errors import NotFaithful
from naas_abi_sdk.langgraph_documents._langgraph import (
    EncryptedSerializer,
    JsonPlusSerializer,
    SerializerProtocol,
    loads,
    with_allowed,
)
from naas_abi_sdk.langgraph_documents.allowing import (
    REGISTERED,
    AllowedTypes,
    TypeName,
    type_names,
    warn_of,
)
from naas_abi_sdk.langgraph_documents.building import Builder
from naas_abi_sdk.langgraph_documents.recognising import is_plain
from naas_abi_sdk.langgraph_documents.sameness import Difference, difference
from naas_abi_sdk.langgraph_documents.shapes import where
from naas_abi_sdk.langgraph_documents.tagging import KIND, Tagger
from naas_abi_sdk.langgraph_documents.unavailable import UnavailableValue, reading

__all__ = ["FaithfulSerializer", "faithful", "writes_as"]

#: The kind of LangGraph's serialization, and of ours.
_LANGGRAPH: Final = "msgpack"

#: Serializers of which the faithful one is kept; every compiled graph may bring one.
_SERIALIZERS: Final = 256


@final
class FaithfulSerializer(JsonPlusSerializer):
    """A LangGraph serializer that never changes a value in silence, and never reads a pickle.

    Usable wherever LangGraph takes a serializer, also inside its ``EncryptedSerializer``.

    Args:
        langgraph: Serializer to keep what it can; LangGraph's default when None.
        allowed_types: Classes that may be read beside the registered ones, as classes or dotted
            paths; any other is refused when saved and inert when read. None leaves the choice to
            ``langgraph``, which by default allows everything and warns.
    """

    def __init__(
        self,
        langgraph: JsonPlusSerializer | None = None,
        *,
        allowed_types: Iterable[type | TypeName | str] | None = None,
    ) -> None:
        super().__init__()
        self._langgraph = JsonPlusSerializer() if langgraph is None else langgraph
        names = None if allowed_types is None else type_names(allowed_types)
        self._types = AllowedTypes(names)
        self._builder = Builder(self._allows, self._notice)
        self._tagger = Tagger(self._by_langgraph)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The kind and bytes of a value.

        Raises:
            NotFaithful: it would not come back as it is.
        """
        if is_plain(obj):
            return self.dumps_plain(obj)
        if type(obj) is UnavailableValue and obj.unavailable_bytes[0] == _LANGGRAPH:
            return _LANGGRAPH, self._tagger.serialize(obj)
        try:
            typed = self._langgraph.dumps_typed(obj)
            if typed[0] != "pickle" and self._difference(obj, typed) is None:
                return typed
        except Exception:  # noqa: BLE001, S110 -- whatever it cannot do, ours is tried next
            pass
        return self._tagged(obj)

    def dumps_plain(self, obj: Any) -> tuple[str, bytes]:
        """The kind and bytes of a value that ``is_plain``."""
        return self._langgraph.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a kind and bytes; see :class:`UnavailableValue` for what cannot be built.

        Raises:
            ValueError: it is a pickle, or damaged.
        """
        kind, payload = data
        if kind in (_LANGGRAPH, KIND):
            return self._builder.load(kind, payload)
        if kind == "pickle":
            message = "it is a pickle, which could run anything, so it is never read"
            raise ValueError(message)
        return self._langgraph.loads_typed(data)

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[Any]) -> FaithfulSerializer:
        """One that may read more types; itself if it may read them already."""
        extra = type_names(extra_allowlist)
        langgraph = with_allowed(self._langgraph, extra)
        types = self._types.also(extra)
        if types == self._types and langgraph is self._langgraph:
            return self
        return FaithfulSerializer(langgraph, allowed_types=types.names)

    def _allows(self, name: TypeName) -> bool:
        return self._types.allows(name) and (
            self._types.names is not None or name in REGISTERED or self._langgraph_allows(name)
        )

    def _langgraph_allows(self, name: TypeName) -> bool:
        module, path = name
        return any(loads(self._langgraph, module, it) for it in (path, path.rpartition(".")[2]))

    def _notice(self, name: TypeName) -> None:
        if self._types.names is None and name not in REGISTERED and loads(self._langgraph, "", ""):
            warn_of(name)

    def _by_langgraph(self, value: Any) -> bytes:
        kind, payload = self._langgraph.dumps_typed(value)
        if kind != _LANGGRAPH:
            message = f"LangGraph serializes it as {kind}"
            raise TypeError(message)
        return payload

    def _difference(self, value: Any, typed: tuple[str, bytes]) -> Difference | None:
        with reading(None):
            return difference(value, self.loads_typed(typed))

    def _tagged(self, obj: Any) -> tuple[str, bytes]:
        try:
            typed = KIND, self._tagger.serialize(obj)
            found = self._difference(obj, typed)
        except NotFaithful as error:
            path = where(obj, error.value) or ""
            raise NotFaithful(path, error.value, str(error)) from error
        except Exception as error:
            raise NotFaithful("", obj, f"{type(error).__name__}: {error}") from error
        if found is None:
            return typed
        raise NotFaithful(found.path, found.stored, _why(found))


@lru_cache(_SERIALIZERS)
def faithful(serde: SerializerProtocol) -> SerializerProtocol:
    """``serde`` made faithful if it is LangGraph's, else as it is: another's choice."""
    if type(serde) is JsonPlusSerializer:
        return FaithfulSerializer(serde)
    if type(serde) is EncryptedSerializer:
        inner: Any = serde.serde
        return EncryptedSerializer(serde.cipher, faithful(inner))
    return serde


def writes_as(serde: SerializerProtocol) -> Hashable | None:
    """What decides the bytes a serializer writes: equal for two that write the same.

    LangGraph gives every compiled graph a copy of the serializer that differs in what it may
    *load*, so the object itself would tell apart what writes alike. None for a serializer this
    module does not know.
    """
    if type(serde) is FaithfulSerializer:
        return FaithfulSerializer
    if type(serde) is EncryptedSerializer:
        inner = writes_as(serde.serde)
        return None if inner is None else (EncryptedSerializer, serde.cipher, inner)
    return None


def _why(found: Difference) -> str:
    if isinstance(found.loaded, UnavailableValue):
        return f"it could not be read again: {found.loaded.unavailable_because}"
    kind = type(found.loaded)
    return f"it would come back as another {kind.__module__}.{kind.__qualname__}"
