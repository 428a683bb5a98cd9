"""What an engine opens in NATS mode: the host of its services, and its modules' way to them.

Modules of the engine use its document service through the broker, as modules elsewhere do; the
engine's own saver does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from naas_abi_core.engine.configuration import EngineConfiguration, NatsSettings
from naas_abi_core.errors import ConfigurationError, ServiceUnavailable

if TYPE_CHECKING:
    from naas_abi_core.broker.hosting import HostSettings
    from naas_abi_core.services.document.port import DocumentPort
    from naas_abi_core.services.document.service import DocumentRoot
    from naas_abi_sdk.connecting import BrokerSettings

__all__ = ["Serving", "broker_settings", "check_servable"]

#: What the engine's clients and those of its modules are called in their tokens.
_IDENTITY: Final = "engine"

_VERSION: Final = "1.0.0"

#: Settings that name files, by the names they have both in NATS mode and of an adapter.
_FILES: Final = (
    "credentials_file",
    "nkey_seed_file",
    "tls_ca_file",
    "tls_certificate_file",
    "tls_key_file",
)


@final
class Serving:
    """The document service over NATS, from its construction to :meth:`close`.

    Attributes:
        module_documents: The document service as the engine's modules use it.

    Raises:
        ConfigurationError: the broker's url is none.
        ServiceUnavailable: the broker cannot be reached, or refuses the login.
    """

    def __init__(self, documents: DocumentPort, configuration: EngineConfiguration) -> None:
        from naas_abi_core.broker.hosting import BrokerHost, HostedService
        from naas_abi_core.services.document.endpoints import document_operations
        from naas_abi_core.services.document.factory import create_adapter
        from naas_abi_core.services.document.service import DocumentService
        from naas_abi_sdk.errors import InvalidArgument, TransportError
        from naas_abi_sdk.subjects import DOCUMENT_PREFIX

        nats = configuration.nats
        assert nats is not None
        service = HostedService(
            "document", _VERSION, DOCUMENT_PREFIX, document_operations(documents)
        )
        files = _files(nats, configuration.directory)
        try:
            self._host = BrokerHost(_host_settings(nats, files), [service])
            try:
                client = create_adapter("nats_rpc", _client_settings(nats, files))
            except BaseException:
                self._host.close()
                raise
        except InvalidArgument as error:
            told = configuration.without_secrets(str(error))
            problem = configuration.problem(told, ("nats",), "Correct the key that is named.")
            raise ConfigurationError(problem) from error
        except TransportError as error:
            raise ServiceUnavailable(
                configuration.without_secrets(str(error)),
                where="nats",
                mend="Start the broker, or correct nats.nats_url and the login.",
            ) from error
        self.module_documents: DocumentRoot = DocumentService.for_engine(client)

    def close(self) -> None:
        """Stop in order: the modules' client, then the service, which answers what it accepted."""
        try:
            self.module_documents.close()
        finally:
            self._host.close()


def check_servable(configuration: EngineConfiguration) -> None:
    """Refuse a configuration whose store is the service that the engine is to serve.

    Raises:
        ConfigurationError: it is.
    """
    if configuration.services.document.document_adapter.adapter == "nats_rpc":
        raise ConfigurationError(
            configuration.problem(
                "an engine in NATS mode serves its documents, so it cannot get them over NATS",
                ("services", "document", "document_adapter", "adapter"),
                "Use sqlite or postgresql here, or remove 'nats'.",
            )
        )


def broker_settings(configuration: EngineConfiguration) -> BrokerSettings:
    """Where the broker of a configuration with ``nats`` is, and how to log in there."""
    from naas_abi_sdk.connecting import BrokerSettings

    assert configuration.nats is not None
    files = _files(configuration.nats, configuration.directory)
    return BrokerSettings(configuration.nats.nats_url, **files)


def _files(nats: NatsSettings, directory: Path) -> dict[str, str]:
    """The files that are set, relative ones found from the project's directory."""
    given = ((name, getattr(nats, name)) for name in _FILES)
    return {name: str(directory / file.expanduser()) for name, file in given if file is not None}


def _host_settings(nats: NatsSettings, files: dict[str, str]) -> HostSettings:
    from naas_abi_core.broker.hosting import HostSettings
    from naas_abi_core.broker.limits import TransferLimits
    from naas_abi_sdk.connecting import BrokerSettings

    overflow = nats.rpc_overflow
    limits = TransferLimits(**overflow.model_dump(exclude={"enabled"}))
    return HostSettings(
        BrokerSettings(nats.nats_url, **files),
        nats.jwt_secret,
        own_namespace_only=nats.own_namespace_only,
        max_concurrent=nats.max_concurrent_requests,
        overflow=limits if overflow.enabled else None,
        connect_seconds=nats.client_timeout_seconds,
        drain_seconds=nats.engine.drain_seconds,
    )


def _client_settings(nats: NatsSettings, files: dict[str, str]) -> dict[str, Any]:
    return {
        "nats_url": nats.nats_url,
        "jwt_secret": nats.jwt_secret,
        "service_identity": _IDENTITY,
        "timeout_seconds": nats.client_timeout_seconds,
        **files,
    }
