"""Declaring a collection in PostgreSQL: its table, its keys, its indexes, and the documents it has.

Declarations of one schema follow each other (:func:`~.postgresql_schema.lock_schema`). Writers of
the collection have finished or wait until its table has its new name, and then do not find the old
one; see :class:`~.postgresql_catalog.Catalog`.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import psycopg

from naas_abi_core.services.document.adapters.postgresql_catalog import Catalog
from naas_abi_core.services.document.adapters.postgresql_sessions import Session
from naas_abi_core.services.document.adapters.sql.declaring import (
    check_documents,
    is_declared,
    moved_rows,
    not_unique,
)
from naas_abi_core.services.document.adapters.sql.layout import Index, Layout, key_fields
from naas_abi_sdk.document.types import CollectionSpec
from naas_abi_sdk.document.validation import merge_specs

__all__ = ["declare", "drop"]

#: Documents held in memory while a collection is moved to a table with more key columns.
_BATCH: Final = 64


def declare(session: Session, catalog: Catalog, namespace: str, spec: CollectionSpec) -> None:
    """Merge ``spec`` into what is declared, in the transaction, in which the schema is locked.

    Raises:
        InvalidArgument: a field has another type already, or a stored document does not fit.
        UniqueViolation: stored documents break a new unique constraint.
    """
    old = catalog.find_layout(session, namespace, spec.name)
    if is_declared(old, spec):
        return
    merged = merge_specs(old.spec if old else None, spec)
    keys = key_fields(merged, old.keys if old else ())
    if old is not None:
        session.execute(f"LOCK TABLE {old.table} IN ACCESS EXCLUSIVE MODE")
    new = catalog.store(session, namespace, merged, keys)
    if old is not None and old.keys == keys:
        check_documents(session.stream, old, new)
        _rename(session, old, new)
    else:
        _create_table(session, new)
        if old is not None:
            _move(session, old, new)
    for index in new.indexes:
        _create_index(session, new, index)


def drop(session: Session, catalog: Catalog, namespace: str, name: str) -> None:
    """Delete a collection and its documents, or raise ``CollectionNotFound``."""
    layout = catalog.read_layout(session, namespace, name)
    catalog.remove(session, namespace, name)
    session.execute(f"DROP TABLE {layout.table}")


def _create_table(session: Session, layout: Layout) -> None:
    session.execute(layout.create_table)
    # Out of line and as it is: what agents store as bytes seldom gets smaller, and reading other
    # columns then skips it.
    session.execute(f"ALTER TABLE {layout.table} ALTER COLUMN payload SET STORAGE EXTERNAL")


def _rename(session: Session, old: Layout, new: Layout) -> None:
    session.execute(f"ALTER TABLE {old.table} RENAME TO {new.name}")
    schema = old.dialect.schema
    for index in old.indexes:
        name = index.name.replace(old.name, new.name, 1)
        session.execute(f"ALTER INDEX {schema}{index.name} RENAME TO {name}")


def _move(session: Session, old: Layout, new: Layout) -> None:
    rows = moved_rows(session.stream, old, new)
    while batch := list(islice(rows, _BATCH)):
        for row in batch:
            session.execute(new.move_in, row)
    session.execute(f"DROP TABLE {old.table}")


def _create_index(session: Session, layout: Layout, index: Index) -> None:
    try:
        session.execute(layout.create_index(index))
    except psycopg.errors.UniqueViolation as error:
        raise not_unique(layout, index) from error
