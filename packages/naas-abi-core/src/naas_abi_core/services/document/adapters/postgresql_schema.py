"""The schema a PostgreSQL store keeps its tables in: made, and brought to this version's format.

Each entry of :data:`MIGRATIONS` brings a schema of the format before it to its own, in one
transaction, under an advisory lock that ends with it: of many processes that start at once, one
does it and the others find it done. A schema of a newer format, or with the table of naas-abi-core
3, is refused and left as it is.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from naas_abi_core.services.document.adapters.postgresql_sessions import Session
from naas_abi_core.services.document.adapters.postgresql_settings import Settings
from naas_abi_sdk.errors import DocumentStorageError

__all__ = ["MIGRATIONS", "lock_schema", "prepare_schema"]

#: Statements by the format they lead to, 1 being the first; ``{schema}`` is the quoted name. Names
#: may be of any length, which no index takes: ``key`` is a digest of both.
MIGRATIONS: Final = (
    (
        (
            "CREATE TABLE {schema}.abi_catalog (key BYTEA PRIMARY KEY, number BIGINT NOT NULL, "
            "namespace TEXT NOT NULL, name TEXT NOT NULL, spec TEXT NOT NULL, keys TEXT NOT NULL)"
        ),
        "CREATE SEQUENCE {schema}.abi_catalog_number",
        "CREATE TABLE {schema}.abi_format (format INTEGER NOT NULL)",
        "INSERT INTO {schema}.abi_format VALUES (1)",
    ),
)

_TABLES: Final = (
    "SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r' AND relnamespace = "
    "(SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = ?)"
)


def prepare_schema(session: Session, settings: Settings) -> None:
    """Make the schema, or bring it to this version's format.

    Raises:
        DocumentStorageError: it is not ours, or newer.
    """
    with session.transaction():
        if _format(session, settings) == len(MIGRATIONS):
            return
    with session.transaction():
        lock_schema(session, settings)
        found = _format(session, settings)
        quoted = f'"{settings.schema}"'
        if not session.execute(
            "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ?", (settings.schema,)
        ).fetchone():
            # Not IF NOT EXISTS, which asks for the right to create even where there is nothing to.
            session.execute(f"CREATE SCHEMA {quoted}")
        for statements in MIGRATIONS[found:]:
            for statement in statements:
                session.execute(statement.format(schema=quoted))
        if found:
            session.execute(f"UPDATE {quoted}.abi_format SET format = ?", (len(MIGRATIONS),))  # noqa: S608 -- the name is checked


def lock_schema(session: Session, settings: Settings) -> None:
    """Let no other process change the schema's tables until the transaction ends."""
    key = int.from_bytes(sha256(f"abi documents {settings.schema}".encode()).digest()[:8], "big")
    session.execute("SELECT pg_advisory_xact_lock(?)", (key - 2**63,))


def _format(session: Session, settings: Settings) -> int:
    """The format of the schema; 0 if it is not there, or empty of tables of ours."""
    tables = {name for (name,) in session.execute(_TABLES, (settings.schema,))}
    if "abi_format" in tables:
        row = session.execute(f'SELECT format FROM "{settings.schema}".abi_format').fetchone()  # noqa: S608 -- the name is checked
        found = int(row[0]) if row else 0
        if 0 < found <= len(MIGRATIONS):
            return found
        problem = (
            f"has format {found}, this version reads up to {len(MIGRATIONS)}; upgrade "
            "naas-abi-core, or configure another schema"
        )
    elif "abi_documents" in tables:
        problem = (
            "was written by naas-abi-core 3, whose layout this version does not write; nothing "
            "was changed. Configure another schema, and move the documents over"
        )
    else:
        return 0
    message = f"schema {settings.schema} of {settings.place} {problem}"
    raise DocumentStorageError(message)
