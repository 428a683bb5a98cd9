"""Which types a stored value may name: reading one imports its module, so not every one may.

What LangGraph, LangChain and the standard library keep in state is registered here. Beyond that a
serializer is *open*, and warns once for each other type, or *strict*, and knows only the types it
was given. In neither case is anything built that no serializer would have written, such as a
function, whatever the stored bytes name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

__all__ = ["REGISTERED", "AllowedTypes", "TypeName", "type_name", "type_names", "warn_of"]

logger = logging.getLogger(__name__)

#: A type's module and its qualified name in it.
TypeName = tuple[str, str]

_MESSAGES: Final = {
    "ai": "AIMessage AIMessageChunk",
    "base": "BaseMessage BaseMessageChunk TextAccessor",
    "chat": "ChatMessage ChatMessageChunk",
    "function": "FunctionMessage FunctionMessageChunk",
    "human": "HumanMessage HumanMessageChunk",
    "modifier": "RemoveMessage",
    "system": "SystemMessage SystemMessageChunk",
    "tool": "ToolMessage ToolMessageChunk",
}
_REGISTERED: Final = {
    "builtins": "bool bytearray bytes complex dict float frozenset int list memoryview range set "
    "str tuple",
    "collections": "Counter OrderedDict defaultdict deque",
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "ipaddress": "IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network",
    "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",
    # Where Python 3.13 has them.
    "pathlib._local": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",
    "re": "compile",
    "uuid": "UUID",
    "zoneinfo": "ZoneInfo",
    "pydantic.types": "SecretBytes SecretStr",
    "langchain_core.documents.base": "Document",
    "langgraph.checkpoint.serde.types": "_DeltaSnapshot",
    "langgraph.store.base": "GetOp Item",
    "langgraph.types": "Command Interrupt Overwrite PregelTask Send StateSnapshot TimeoutPolicy",
    **{f"langchain_core.messages.{module}": names for module, names in _MESSAGES.items()},
}
REGISTERED: Final[frozenset[TypeName]] = frozenset(
    (module, name) for module, names in _REGISTERED.items() for name in names.split()
)

#: Types that a warning was logged for: one for each in a process, and never without bound.
_warned: Final[set[TypeName]] = set()
_WARNED_AT_MOST: Final = 1_000


@final
@dataclass(frozen=True, slots=True)
class AllowedTypes:
    """The types that may be read beside the registered ones.

    Attributes:
        names: Them; None allows every type, with a warning for each.
    """

    names: frozenset[TypeName] | None = None

    def allows(self, name: TypeName) -> bool:
        """Whether the type of this name may be imported and built.

        A class inside another is known by its whole name as well as by its last part, which is
        how LangGraph names the types of a graph's state.
        """
        short = (name[0], name[1].rpartition(".")[2])
        return name in REGISTERED or self.names is None or name in self.names or short in self.names

    def also(self, more: Iterable[TypeName]) -> AllowedTypes:
        """These and ``more``."""
        return self if self.names is None else AllowedTypes(self.names | frozenset(more))


def warn_of(name: TypeName) -> None:
    """Warn, once in a process, that a type is read which nobody allowed."""
    if name not in _warned and len(_warned) < _WARNED_AT_MOST:
        _warned.add(name)
        logger.warning(
            "%s.%s is read from a checkpoint though it is not registered: whoever can write to the "
            "store chooses what is imported. Give the saver the types it may read.",
            *name,
        )


def type_name(kind: type) -> TypeName:
    """The name a type is known by."""
    return kind.__module__, kind.__qualname__


def type_names(types: Iterable[type | TypeName | str]) -> frozenset[TypeName]:
    """The names of ``types``, each a class, its module and name, or its dotted path.

    In a dotted path the module ends before the first part that starts with a capital letter, else
    before the last part.

    Raises:
        ValueError: a text is no dotted path.
    """
    return frozenset(type_name(item) if isinstance(item, type) else _parsed(item) for item in types)


def _parsed(name: TypeName | str) -> TypeName:
    if not isinstance(name, str):
        return name
    parts = name.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        message = f"{name!r} is not the dotted path of a class, such as 'shop.cart.Cart'"
        raise ValueError(message)
    at = next((i for i, part in enumerate(parts) if i and part[0].isupper()), len(parts) - 1)
    return ".".join(parts[:at]), ".".join(parts[at:])
