"""Opens document stores by name; with ``plugins/builtin.py`` the only place that names adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, final

from naas_abi_core.broker.limits import SHORTEST_SECRET
from naas_abi_core.services.document.port import DocumentPort
from naas_abi_core.services.document.service import DocumentRoot, DocumentService
from naas_abi_sdk.errors import InvalidArgument
from naas_abi_sdk.limits import CALL_TIMEOUT

__all__ = ["ADAPTER_NAMES", "DocumentFactory", "create_adapter"]


def create_adapter(name: str, config: Mapping[str, Any] | None = None) -> DocumentPort:
    """Open the store called ``name``.

    Args:
        name: One of :data:`ADAPTER_NAMES`.
        config: The adapter's settings. ``sqlite``: ``path`` of the file, whose folders are made
            (default ``storage/documents.sqlite``), and ``timeout`` in seconds a call waits for
            other writers (default 5). ``postgresql``: ``dsn``, and what
            :class:`PostgreSQLDocuments` takes besides. ``nats_rpc``: ``nats_url``,
            ``jwt_secret``, ``service_identity`` (default ``engine``), ``timeout_seconds``
            (default 10), and the files of :class:`BrokerSettings`. ``memory``: none.

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


def _open_nats_rpc(settings: dict[str, Any]) -> DocumentPort:
    from naas_abi_core.services.document.adapters.remote import RemoteDocuments
    from naas_abi_sdk.connecting import BrokerSettings

    url, secret = settings.pop("nats_url", None), settings.pop("jwt_secret", None)
    identity = settings.pop("service_identity", "engine")
    timeout = settings.pop("timeout_seconds", CALL_TIMEOUT)
    files = {name: settings.pop(name) for name in _BROKER_FILES if name in settings}
    _refuse_rest("nats_rpc", settings, known=", ".join(_NATS_RPC_SETTINGS))
    if not isinstance(url, str):
        message = "document adapter 'nats_rpc' needs nats_url, such as nats://127.0.0.1:4222"
        raise InvalidArgument(message)
    if not isinstance(secret, str) or len(secret) < SHORTEST_SECRET:
        message = (
            "document adapter 'nats_rpc' needs jwt_secret, the nats.jwt_secret of the engine that "
            f"serves, of at least {SHORTEST_SECRET} characters"
        )
        raise InvalidArgument(message)
    if not isinstance(identity, str) or not identity:
        message = f"service_identity must be a text and not empty, not {identity!r}"
        raise InvalidArgument(message)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        message = f"timeout_seconds must be a number above 0, not {timeout!r}"
        raise InvalidArgument(message)
    broker = BrokerSettings(url, **files)
    return RemoteDocuments(broker, secret, identity=identity, timeout=timeout)


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

_BROKER_FILES: Final = (
    "credentials_file",
    "nkey_seed_file",
    "tls_ca_file",
    "tls_certificate_file",
    "tls_key_file",
)

_NATS_RPC_SETTINGS: Final = (
    "nats_url",
    "jwt_secret",
    "service_identity",
    "timeout_seconds",
    *_BROKER_FILES,
)

_OPENERS: Final[dict[str, Callable[[dict[str, Any]], DocumentPort]]] = {
    "memory": _open_memory,
    "nats_rpc": _open_nats_rpc,
    "postgresql": _open_postgresql,
    "sqlite": _open_sqlite,
}

#: The adapters this distribution brings.
ADAPTER_NAMES: Final = tuple(sorted(_OPENERS))
