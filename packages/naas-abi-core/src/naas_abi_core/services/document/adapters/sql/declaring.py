"""Declaring a collection: its table, its key columns, its indexes, and the documents it has."""

from __future__ import annotations

from collections.abc import Iterator
from sqlite3 import Connection, IntegrityError
from typing import Any, Final

from naas_abi_core.services.document.adapters.sql.catalog import Catalog
from naas_abi_core.services.document.adapters.sql.layout import (
    Index,
    Layout,
    key_fields,
)
from naas_abi_sdk.document.encoding import decode
from naas_abi_sdk.document.types import CollectionSpec, Data
from naas_abi_sdk.document.validation import check_types, merge_specs
from naas_abi_sdk.errors import InvalidArgument, UniqueViolation

__all__ = ["declare", "is_declared"]

#: Documents held in memory while a collection is moved to a table with more key columns.
_BATCH: Final = 64


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
    if old is not None:
        _take_over(connection, old, new)
    if old is not None and not same_table:
        connection.execute(f"DROP TABLE {old.table}")
    for index in new.indexes:
        _create_index(connection, new, index)


def _take_over(connection: Connection, old: Layout, new: Layout) -> None:
    """Check the stored documents against new types; move them if the table is another."""
    if new.table != old.table:
        _move(connection, old, new)
    elif _types(new.spec) != _types(old.spec):
        for id_, data, _ in _documents(connection, old):
            _check(new.spec, id_, data)


def _move(connection: Connection, old: Layout, new: Layout) -> None:
    batch: list[tuple[Any, ...]] = []
    for id_, data, row in _documents(connection, old):
        _check(new.spec, id_, data)
        batch.append((*row, *new.key_values(data)))
        if len(batch) == _BATCH:
            connection.executemany(new.move_in, batch)
            batch.clear()
    connection.executemany(new.move_in, batch)


def _documents(connection: Connection, layout: Layout) -> Iterator[tuple[str, Data, Any]]:
    rows = connection.execute(layout.select(", ".join(layout.moved_columns), "ORDER BY id"))
    for row in rows:
        *_, text, payload = row
        yield row[0], decode(text, payload or b""), row


def _check(spec: CollectionSpec, id_: str, data: Data) -> None:
    try:
        check_types(spec.fields, data)
    except InvalidArgument as error:
        message = f"document {id_!r} does not fit collection {spec.name!r}: {error}"
        raise InvalidArgument(message) from error


def _types(spec: CollectionSpec) -> dict[str, str]:
    return {field.name: field.type for field in spec.fields}


def _create_index(connection: Connection, layout: Layout, index: Index) -> None:
    try:
        connection.execute(layout.create_index(index))
    except IntegrityError as error:
        message = (
            f"documents of collection {layout.spec.name!r} already share values of "
            f"{', '.join(index.fields)}, which cannot become unique before they differ"
        )
        raise UniqueViolation(message) from error
