"""Declaring a collection: its table, its key columns, its indexes, and the documents it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from sqlite3 import Connection, IntegrityError
from typing import Any

from naas_abi_core.services.document.adapters.sql.catalog import Catalog
from naas_abi_core.services.document.adapters.sql.layout import (
    Index,
    Layout,
    key_fields,
)
from naas_abi_core.services.document.adapters.sql.reading import Execute
from naas_abi_sdk.document.encoding import decode
from naas_abi_sdk.document.types import CollectionSpec, Data
from naas_abi_sdk.document.validation import check_types, merge_specs
from naas_abi_sdk.errors import InvalidArgument, UniqueViolation

__all__ = ["check_documents", "declare", "is_declared", "moved_rows", "not_unique"]


def is_declared(layout: Layout | None, spec: CollectionSpec) -> bool:
    """Whether declaring ``spec`` would change nothing."""
    return layout is not None and merge_specs(layout.spec, spec) == layout.spec


def declare(connection: Connection, catalog: Catalog, namespace: str, spec: CollectionSpec) -> None:
    """Merge ``spec`` into what is declared, in the transaction ``connection`` is in.

    Raises:
        InvalidArgument: a field has another type already, or a stored document does not fit.
        UniqueViolation: stored documents break a new unique constraint.
    """
    old = catalog.find_layout(connection, namespace, spec.name)
    if is_declared(old, spec):
        return
    catalog.forget(namespace, spec.name)
    merged = merge_specs(old.spec if old else None, spec)
    keys = key_fields(merged, old.keys if old else ())
    same_table = old is not None and old.keys == keys
    new = catalog.store(
        connection, namespace, merged, keys, old.number if old and same_table else None
    )
    if not same_table:
        connection.execute(new.create_table)
    if old is not None and same_table:
        check_documents(connection.execute, old, new)
    elif old is not None:
        connection.executemany(new.move_in, moved_rows(connection.execute, old, new))
        connection.execute(f"DROP TABLE {old.table}")
    for index in new.indexes:
        _create_index(connection, new, index)


def moved_rows(execute: Execute, old: Layout, new: Layout) -> Iterator[tuple[Any, ...]]:
    """The documents of ``old`` as ``new.move_in`` takes them, or ``InvalidArgument``."""
    for data, row in _checked_documents(execute, old, new.spec):
        yield (*row, *new.key_values(data))


def check_documents(execute: Execute, old: Layout, new: Layout) -> None:
    """Raise ``InvalidArgument`` if a document of ``old`` does not fit types that are new."""
    if _types(new.spec) != _types(old.spec):
        for _ in _checked_documents(execute, old, new.spec):
            pass


def not_unique(layout: Layout, index: Index) -> UniqueViolation:
    """Why an index cannot be made."""
    message = (
        f"documents of collection {layout.spec.name!r} already share values of "
        f"{', '.join(index.fields)}, which cannot become unique before they differ"
    )
    return UniqueViolation(message)


def _checked_documents(
    execute: Execute, layout: Layout, spec: CollectionSpec
) -> Iterator[tuple[Data, Any]]:
    dialect, columns = layout.dialect, layout.moved_columns
    text, payload = columns.index("data"), columns.index("payload")
    sql = layout.select(f"{dialect.id}, {', '.join(columns)}", "ORDER BY id")
    with closing(execute(sql, ())) as rows:
        for id_, *row in rows:
            data = decode(row[text], row[payload] or b"")
            try:
                check_types(spec.fields, data)
            except InvalidArgument as error:
                name = dialect.whole_id(id_)
                message = f"document {name!r} does not fit collection {spec.name!r}: {error}"
                raise InvalidArgument(message) from error
            yield data, row


def _types(spec: CollectionSpec) -> dict[str, str]:
    return {field.name: field.type for field in spec.fields}


def _create_index(connection: Connection, layout: Layout, index: Index) -> None:
    try:
        connection.execute(layout.create_index(index))
    except IntegrityError as error:
        raise not_unique(layout, index) from error
