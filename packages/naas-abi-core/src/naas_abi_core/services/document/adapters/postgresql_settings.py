"""What a PostgreSQL store is configured with, checked, and what may be told of it in errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, final
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from naas_abi_sdk.errors import InvalidArgument

__all__ = ["Settings", "check_settings"]

#: Lower case only, so that it means the same quoted and not; PostgreSQL cuts names at 63 bytes.
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")

#: Seconds of silence after which the system asks whether the other machine is still there, how
#: often it asks again, and how often in vain: a dead peer is noticed in about half a minute.
_KEEPALIVE: Final = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """Checked settings; times are seconds."""

    parameters: dict[str, Any]
    schema: str
    pool_max_size: int
    pool_timeout: float
    connect_timeout: float
    statement_timeout: float

    @property
    def place(self) -> str:
        """The database, for people: nothing secret."""
        given = self.parameters
        host = given.get("host") or given.get("hostaddr") or "localhost"
        port = given.get("port") or 5432
        return f"PostgreSQL at {host}:{port}/{given.get('dbname') or given.get('user') or ''}"

    @property
    def milliseconds(self) -> int:
        """:attr:`statement_timeout` as PostgreSQL wants it; never 0, which would mean none."""
        return max(1, ceil(self.statement_timeout * 1000))

    def without_secrets(self, text: str) -> str:
        """``text`` with the passwords of the connection string starred."""
        for name in ("password", "sslpassword"):
            secret = str(self.parameters.get(name) or "")
            for written in {secret, quote(secret, safe="")} - {""}:
                text = text.replace(written, "***")
        return text


def check_settings(
    dsn: object,
    schema: object,
    pool_max_size: object,
    *,
    pool_timeout: object,
    connect_timeout: object,
    statement_timeout: object,
) -> Settings:
    """Check what was configured.

    Raises:
        InvalidArgument: a setting is none of its kind; the message never quotes the dsn.
    """
    if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema):
        message = (
            "schema must be a name of lower-case letters, digits and underscores, at most 63, "
            f"not {schema!r}"
        )
        raise InvalidArgument(message)
    if isinstance(pool_max_size, bool) or not isinstance(pool_max_size, int) or pool_max_size < 1:
        message = (
            f"pool_max_size must be a number of connections of at least 1, not {pool_max_size!r}"
        )
        raise InvalidArgument(message)
    return Settings(
        _parameters(dsn),
        schema,
        pool_max_size,
        _seconds("pool_timeout", pool_timeout),
        _seconds("connect_timeout", connect_timeout),
        _seconds("statement_timeout", statement_timeout),
    )


def _parameters(dsn: object) -> dict[str, Any]:
    if isinstance(dsn, str) and dsn:
        try:
            given = conninfo_to_dict(dsn)
        except psycopg.ProgrammingError:
            pass  # its own text quotes what it could not read, which may be the password
        else:
            return {**_KEEPALIVE, **given, "client_encoding": "utf8"}
    message = (
        "dsn must be a connection string such as postgresql://user:password@host:5432/database; "
        "characters such as @ : / % in a password must be percent-encoded"
    )
    raise InvalidArgument(message)


def _seconds(name: str, value: object) -> float:
    # A day is more than anyone waits, and less than PostgreSQL's largest timeout.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 86_400:
        message = f"{name} must be a number of seconds above 0 and up to 86400, not {value!r}"
        raise InvalidArgument(message)
    return float(value)
