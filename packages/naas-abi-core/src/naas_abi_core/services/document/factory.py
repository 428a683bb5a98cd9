"""Opens document stores by name; with ``plugins/builtin.py`` the only place that names adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, final

from naas_abi_core.services.document.port import DocumentPort
from naas_abi_core.services.document.service import DocumentRoot, DocumentService
from naas_abi_sdk.errors import InvalidArgument

__all__ = ["ADAPTER_NAMES", "DocumentFactory", "create_adapter"]


def create_adapter(name: str, config: Mapping[str, Any] | None = None) -> DocumentPort:
    """Open the store called ``name``.

    Args:
        name: One of :data:`ADAPTER_NAMES`.
        config: The adapter's settings. ``sqlite``: ``path`` of the file, whose folders are made
            (default ``storage/documents.sqlite``), and ``timeout`` in seconds a call waits for
            other writers (default 5). ``postgresql``: ``dsn``, and what
            :class:`PostgreSQLDocuments` takes besides. ``memory``: none.

    Raises:
        InvalidArgument: no adapter has this name, or it does not have such a setting.
        DocumentStorageError: the store cannot be opened.
    """
    opener = _OPENERS.get(name)
    if opener is None:
        message = f"unknown document adapter {name!r}; known are {', '.join(ADAPTER_NAMES)}"
        raise InvalidArgument(message)
    return opener(dict(config or {}))


@final
class DocumentFactory:
    """:func:`create_adapter` and the service over it, as static methods."""

    @staticmethod
    def create_adapter(name: str, config: Mapping[str, Any] | None = None) -> DocumentPort:
        """Open the store called ``name``; see :func:`create_adapter`."""
        return create_adapter(name, config)

    @staticmethod
    def create_root(name: str, config: Mapping[str, Any] | None = None) -> DocumentRoot:
        """Open the store called ``name`` and return its root."""
        return DocumentService.for_engine(create_adapter(name, config))


def _open_sqlite(settings: dict[str, Any]) -> DocumentPort:
    from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments

    path = settings.pop("path", "storage/documents.sqlite")
    timeout = settings.pop("timeout", 5.0)
    _refuse_rest("sqlite", settings, known="path, timeout")
    return SQLiteDocuments(path, timeout=timeout)


def _open_postgresql(settings: dict[str, Any]) -> DocumentPort:
    from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments

    dsn = settings.pop("dsn", None)
    given = {name: settings.pop(name) for name in _POSTGRESQL_SETTINGS if name in settings}
    _refuse_rest("postgresql", settings, known=", ".join(("dsn", *_POSTGRESQL_SETTINGS)))
    if dsn is None:
        message = (
            "document adapter 'postgresql' needs the setting dsn, a connection string such as "
            "postgresql://user:password@host:5432/database"
        )
        raise InvalidArgument(message)
    return PostgreSQLDocuments(dsn, **given)


def _open_memory(settings: dict[str, Any]) -> DocumentPort:
    from naas_abi_sdk.testing import MemoryDocuments

    _refuse_rest("memory", settings, known="none")
    return MemoryDocuments()


def _refuse_rest(name: str, settings: Mapping[str, Any], *, known: str) -> None:
    if settings:
        unknown = ", ".join(sorted(settings))
        message = f"document adapter {name!r} has no setting {unknown}; its settings: {known}"
        raise InvalidArgument(message)


_POSTGRESQL_SETTINGS: Final = (
    "schema",
    "pool_max_size",
    "pool_timeout",
    "connect_timeout",
    "statement_timeout",
)

_OPENERS: Final[dict[str, Callable[[dict[str, Any]], DocumentPort]]] = {
    "memory": _open_memory,
    "postgresql": _open_postgresql,
    "sqlite": _open_sqlite,
}

#: The adapters this distribution brings.
ADAPTER_NAMES: Final = tuple(sorted(_OPENERS))
