"""What ``config.yaml`` may say, and how it is read.

Every key is a field of a model below, so an unknown one is an error. Errors name the file, line,
key, nearest valid key and mend, all problems of a file at once, and never print a secret.
Every key is explained in docs/reference/configuration.md, which a test compares with the models.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictBool,
    ValidationError,
    field_validator,
)

from naas_abi_core.broker.limits import (
    DRAIN_SECONDS,
    MAX_CONCURRENT,
    SHORTEST_SECRET,
    TransferLimits,
)
from naas_abi_core.engine.problems import problem_at, problems_of
from naas_abi_core.engine.secrets import Secrets, read_dotenv
from naas_abi_core.engine.yaml_file import YamlFile, read_yaml
from naas_abi_core.errors import ConfigurationError, Problem

__all__ = [
    "AgentMemorySettings",
    "AgentSettings",
    "ChatModelSettings",
    "DocumentAdapterSettings",
    "DocumentSettings",
    "EngineConfiguration",
    "ModuleSettings",
    "NatsEngineSettings",
    "NatsSettings",
    "OverflowSettings",
    "ServicesSettings",
    "Settings",
    "find_configuration",
]

#: Where the embedded document store is when nothing else is said, from the project's directory.
DEFAULT_DOCUMENT_PATH: Final = "storage/documents.sqlite"

_OVERFLOW: Final = TransferLimits()

_ENVIRONMENT_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_MODULE_NAME: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class Settings(BaseModel):
    """A mapping whose keys are all known; values are not changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ChatModelSettings(Settings):
    """A chat model: its name and what its constructor is given."""

    name: str = Field(min_length=1)
    settings: dict[str, Any] = Field(default_factory=dict)


class AgentSettings(Settings):
    """What is said about one agent."""

    chat_model: ChatModelSettings | None = None


class AgentMemorySettings(Settings):
    """What agents may keep in the engine's memory."""

    allowed_types: tuple[str, ...] = ()
    copied_keys: tuple[str, ...] | None = None

    @field_validator("allowed_types")
    @classmethod
    def _are_dotted_paths(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not _MODULE_NAME.fullmatch(name) or "." not in name:
                message = f"{name!r} is not the dotted path of a class, such as 'shop.cart.Cart'"
                raise ValueError(message)
        return names


class ModuleSettings(Settings):
    """A module to load: a Python package that exports ``ABIModule``."""

    module: str
    enabled: StrictBool = True
    path: Path | None = None
    config: dict[str, Any] = Field(default_factory=dict)

    @field_validator("module")
    @classmethod
    def _is_dotted_name(cls, name: str) -> str:
        if not _MODULE_NAME.fullmatch(name):
            message = "it is not the dotted name of a Python package, such as 'shop.support'"
            raise ValueError(message)
        return name


class DocumentAdapterSettings(Settings):
    """The store behind the document service."""

    adapter: str = Field(default="sqlite", min_length=1)
    config: dict[str, Any] = Field(default_factory=dict)


class DocumentSettings(Settings):
    """The document service."""

    document_adapter: DocumentAdapterSettings = Field(default_factory=DocumentAdapterSettings)


class ServicesSettings(Settings):
    """The engine's services."""

    document: DocumentSettings = Field(default_factory=DocumentSettings)


class OverflowSettings(Settings):
    """What is held of requests and replies larger than the broker's messages; sizes in bytes."""

    enabled: StrictBool = True
    max_value_bytes: int = Field(default=_OVERFLOW.max_value_bytes, ge=1)
    max_parked_bytes: int = Field(default=_OVERFLOW.max_parked_bytes, ge=1)
    max_buffered_upload_bytes: int = Field(default=_OVERFLOW.max_buffered_upload_bytes, ge=1)
    chunk_bytes: int = Field(default=_OVERFLOW.chunk_bytes, ge=1024)
    idle_seconds: float = Field(default=_OVERFLOW.idle_seconds, gt=0)
    max_sessions: int = Field(default=_OVERFLOW.max_sessions, ge=1)


class NatsEngineSettings(Settings):
    """How an engine behaves in NATS mode."""

    drain_seconds: float = Field(default=DRAIN_SECONDS, ge=0)


class NatsSettings(Settings):
    """NATS mode: the broker, who may log in there, and what the engine serves through it."""

    nats_url: str = Field(default="nats://127.0.0.1:4222", min_length=1)
    credentials_file: Path | None = None
    nkey_seed_file: Path | None = None
    tls_ca_file: Path | None = None
    tls_certificate_file: Path | None = None
    tls_key_file: Path | None = None
    jwt_secret: str
    own_namespace_only: StrictBool = False
    client_timeout_seconds: float = Field(default=10.0, gt=0)
    max_concurrent_requests: int = Field(default=MAX_CONCURRENT, ge=1)
    rpc_overflow: OverflowSettings = Field(default_factory=OverflowSettings)
    engine: NatsEngineSettings = Field(default_factory=NatsEngineSettings)

    @field_validator("jwt_secret")
    @classmethod
    def _is_long(cls, secret: str) -> str:
        if len(secret) < SHORTEST_SECRET:
            message = f"it is shorter than {SHORTEST_SECRET} characters, so it could be guessed"
            raise ValueError(message)
        return secret


@dataclass(frozen=True, slots=True)
class _Source:
    """The file some values came from, and the secrets that were put in."""

    file: YamlFile | None = None
    secrets: Secrets = field(default_factory=lambda: Secrets({}))


class EngineConfiguration(Settings):
    """Everything an engine is told. Build it in code, or read it with :meth:`from_file`."""

    modules: tuple[ModuleSettings, ...] = ()
    services: ServicesSettings = Field(default_factory=ServicesSettings)
    default_agent: str | None = None
    chat_model: ChatModelSettings = ChatModelSettings(name="demonstration")
    agents: dict[str, AgentSettings] = Field(default_factory=dict)
    nats: NatsSettings | None = None
    agent_memory: AgentMemorySettings = Field(default_factory=AgentMemorySettings)

    _source: _Source = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Keep where the values came from, which :meth:`from_file` passes as the context."""
        self._source = context if isinstance(context, _Source) else _Source()

    @classmethod
    def from_file(
        cls, path: Path | str | None = None, environment: Mapping[str, str] | None = None
    ) -> EngineConfiguration:
        """Read a configuration file and put its secrets in.

        Args:
            path: The file; :func:`find_configuration` finds it when None.
            environment: Variables to use, instead of those of the process.

        Raises:
            ConfigurationError: with everything that is wrong in the file.
        """
        variables = os.environ if environment is None else environment
        found = find_configuration(environment=variables) if path is None else Path(path)
        file = read_yaml(found)
        secrets = Secrets({**read_dotenv(found.parent / ".env"), **variables})
        data = secrets.resolve(file)
        try:
            return cls.model_validate(data, context=_Source(file, secrets))
        except ValidationError as error:
            raise ConfigurationError(problems_of(error, cls, file, secrets)) from None

    @property
    def directory(self) -> Path:
        """The project's directory: that of the file, else the current one."""
        return self.file.absolute().parent if self.file else Path.cwd()

    @property
    def file(self) -> Path | None:
        """The file this was read from."""
        return self._source.file.path if self._source.file else None

    @property
    def names_document_store(self) -> bool:
        """Whether the document service is configured, rather than left to its default."""
        return "document" in self.services.model_fields_set

    def masked(self) -> dict[str, Any]:
        """All values, defaults included, as plain data in which secrets read ``***``."""
        masked: dict[str, Any] = self._source.secrets.mask(self.model_dump(mode="json"))
        return masked

    def without_secrets(self, text: str) -> str:
        """``text`` with every secret of this configuration replaced by ``***``."""
        return str(self._source.secrets.mask(text))

    def problem(self, what: str, key: tuple[str | int, ...], mend: str) -> Problem:
        """A problem at ``key``, with the file and line it is on."""
        return problem_at(self._source.file, what, key, mend)

    def problems_of(
        self, error: ValidationError, model: type[BaseModel], key: tuple[str | int, ...]
    ) -> list[Problem]:
        """What pydantic found in the part of this configuration below ``key``."""
        return problems_of(error, model, self._source.file, self._source.secrets, key)

    def document_adapter_config(self) -> dict[str, Any]:
        """The adapter's ``config``, with ``path`` made absolute from the project's directory."""
        settings = self.services.document.document_adapter
        config = dict(settings.config)
        if settings.adapter == "sqlite":
            config.setdefault("path", DEFAULT_DOCUMENT_PATH)
        path = config.get("path")
        if isinstance(path, str) and path != ":memory:":
            config["path"] = str(self.directory / Path(path).expanduser())
        return config

    def serving(self, nats: NatsSettings) -> EngineConfiguration:
        """This configuration in NATS mode as ``nats`` says."""
        return self.model_copy(update={"nats": nats})

    def chat_model_of(self, agent: str | None) -> ChatModelSettings:
        """The model of an agent: its own, else the one for all."""
        own = self.agents.get(agent) if agent is not None else None
        return (own.chat_model if own else None) or self.chat_model


def find_configuration(
    directory: Path | None = None, environment: Mapping[str, str] | None = None
) -> Path:
    """``config.{ENV}.yaml`` if ``ENV`` is set and there is such a file, else ``config.yaml``.

    Args:
        directory: Where to look; the current directory when None.
        environment: Variables to use, instead of those of the process.

    Raises:
        ConfigurationError: neither is there.
    """
    name = (os.environ if environment is None else environment).get("ENV", "")
    names = ["config.yaml"]
    if _ENVIRONMENT_NAME.fullmatch(name):
        names.insert(0, f"config.{name}.yaml")
    where = Path.cwd() if directory is None else directory
    for candidate in names:
        if (where / candidate).is_file():
            return where / candidate
    raise ConfigurationError(
        Problem(
            f"there is no {' or '.join(names)} here",
            file=where,
            mend="Go to a project's directory, name the file, or run 'abi new project'.",
        )
    )
