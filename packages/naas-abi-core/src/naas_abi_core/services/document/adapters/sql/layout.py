"""How a collection becomes a table.

::

    d_<number>: id | version | created_at | updated_at | size | k0 k1 ... | data | payload

Times are microseconds since 1970 in UTC, ``size`` is the length of the canonical text, ``data`` is
the text with bytes taken out into ``payload``. Each field that is indexed, unique or in a unique
group has a column ``k<n>`` with its sort key (:mod:`naas_abi_sdk.document.matching`), so that the
database compares bytes and needs to know no types. Null and missing have no key, which makes unique
indexes sparse by themselves. A database whose indexes take no long keys has their short forms there
(:mod:`~.dialect`), and one column more, ``long_id``, with the id where ``id`` is a short form.

Names of tables, columns and indexes are made of letters and numbers of ours, never of what a caller
passes; what a caller passes is always bound.

The columns stand in the order in which reading stops soonest: keys before data, payload last. A
collection that gets new key columns gets a new table, of a new number; numbers are never used
again, so whoever still knows the old one notices.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

from naas_abi_core.services.document.adapters.sql.dialect import SQLITE, Dialect
from naas_abi_sdk.document.encoding import canonical_json
from naas_abi_sdk.document.matching import sort_key
from naas_abi_sdk.document.types import CollectionSpec, Data, FieldSpec
from naas_abi_sdk.document.validation import unique_constraints

__all__ = ["Index", "Layout", "key_fields", "spec_from_json", "spec_to_json"]

_MOVED_COLUMNS: Final = ("id", "version", "created_at", "updated_at", "size", "data", "payload")

#: Field types whose values can only be scalars, so that their keys order them.
_SCALAR_TYPES: Final = frozenset(("string", "int", "float", "bool", "datetime", "bytes"))


@dataclass(frozen=True, slots=True)
class Index:
    """An index over key columns; one that is not unique also holds the id."""

    name: str
    fields: tuple[str, ...]
    unique: bool


@final
@dataclass(frozen=True)
class Layout:
    """A collection as it is stored.

    Attributes:
        number: Of its table.
        spec: Its merged declaration.
        keys: The fields that have key columns, in the order of the columns.
        generation: Of the catalog when this was read; see :class:`~.catalog.Catalog`.
        dialect: Of the database.
    """

    namespace: str
    number: int
    spec: CollectionSpec
    keys: tuple[str, ...]
    generation: int
    dialect: Dialect = SQLITE

    @cached_property
    def table(self) -> str:
        """Name of the table, as statements have it."""
        return f"{self.dialect.schema}{self.name}"

    @property
    def name(self) -> str:
        """Name of the table, which those of its indexes begin with."""
        return f"d_{self.number}"

    @cached_property
    def columns(self) -> dict[str, str]:
        """Key column of each field that has one."""
        return {field: f"k{number}" for number, field in enumerate(self.keys)}

    @cached_property
    def scalars(self) -> dict[str, str]:
        """Declared type of each field whose key column orders its values."""
        return {
            field.name: field.type
            for field in self.spec.fields
            if field.name in self.columns and field.type in _SCALAR_TYPES
        }

    @cached_property
    def indexes(self) -> tuple[Index, ...]:
        """A unique index for every unique constraint, another for every field in none of them."""
        groups = unique_constraints(self.spec)
        grouped = {name for group in groups for name in group}
        single = [
            (field.name,)
            for field in self.spec.fields
            if field.indexed and field.name not in grouped
        ]
        return (
            *(self._index(group, unique=True) for group in groups),
            *(self._index(group, unique=False) for group in single),
        )

    @cached_property
    def create_table(self) -> str:
        """The statement that creates the table."""
        dialect = self.dialect
        columns = [
            f"id {dialect.id_type} PRIMARY KEY NOT NULL",
            *(
                f"{name} {dialect.integer_type} NOT NULL"
                for name in ("version", "created_at", "updated_at", "size")
            ),
            *(f"{column} {dialect.bytes_type}" for column in self.columns.values()),
            f"data {dialect.text_type} NOT NULL",
            f"payload {dialect.bytes_type}",
            *(f"{column} {dialect.bytes_type}" for column in dialect.more_columns),
        ]
        return f"CREATE TABLE {self.table} ({', '.join(columns)}){dialect.table_options}"

    def create_index(self, index: Index) -> str:
        """The statement that creates an index if it is not there."""
        columns = [self.columns[field] for field in index.fields]
        kind = "UNIQUE INDEX" if index.unique else "INDEX"
        keys = self.dialect.unique_keys(columns) if index.unique else f"{columns[0]}, id"
        return f"CREATE {kind} IF NOT EXISTS {index.name} ON {self.table} ({keys})"

    @cached_property
    def create(self) -> str:
        """Insert a document unless its id or a unique value is there.

        Parameters: id, time of creation, time of change, values.
        """
        columns = ", ".join(("id", "created_at", "updated_at", *self.values))
        places = ", ".join("?" * (3 + len(self.values)))
        insert = f"INSERT INTO {self.table} (version, {columns}) VALUES (1, {places})"  # noqa: S608 -- names are ours
        return f"{insert} ON CONFLICT DO NOTHING"

    @cached_property
    def touch(self) -> str:
        """Count a document's version up and return it; parameters: the time, the id."""
        update = f"UPDATE {self.table} SET version = version + 1, updated_at = ?"  # noqa: S608 -- names are ours
        return f"{update} WHERE id = ? RETURNING version"

    @cached_property
    def replace(self) -> str:
        """Replace a document; parameters: time of change, values, id.

        Returns version and creation time.
        """
        return self._replace("id = ?")

    @cached_property
    def replace_version(self) -> str:
        """As :attr:`replace`, at the version that is one more parameter."""
        return self._replace("id = ? AND version = ?")

    @cached_property
    def delete(self) -> str:
        """Remove a document; parameter: its id."""
        return f"DELETE FROM {self.table} WHERE id = ?"  # noqa: S608 -- names are ours

    @cached_property
    def delete_version(self) -> str:
        """As :attr:`delete`, at the version that is one more parameter."""
        return f"{self.delete} AND version = ?"

    @cached_property
    def moved_columns(self) -> tuple[str, ...]:
        """What a document keeps when its collection gets another table."""
        return (*_MOVED_COLUMNS, *self.dialect.more_columns)

    @cached_property
    def move_in(self) -> str:
        """Insert a row of another table; parameters: :attr:`moved_columns`, then the keys."""
        names = (*self.moved_columns, *self.columns.values())
        places = ", ".join("?" * len(names))
        columns = ", ".join(names)
        return f"INSERT INTO {self.table} ({columns}) VALUES ({places})"  # noqa: S608 -- names are ours

    def select(self, columns: str, tail: str) -> str:
        """Read ``columns``; ``tail`` is all that follows the table."""
        return f"SELECT {columns} FROM {self.table} {tail}"  # noqa: S608 -- names are ours

    def key_values(self, data: Data) -> tuple[bytes | None, ...]:
        """The sort keys of ``data`` as stored, one a key column."""
        keys = [sort_key(data.get(field)) for field in self.keys]
        return tuple(keys if self.dialect.longest is None else map(self.dialect.stored_key, keys))

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The columns a put fills besides id, version and times."""
        return ("size", *self.columns.values(), "data", "payload", *self.dialect.more_columns)

    def _replace(self, condition: str) -> str:
        changes = ", ".join(f"{column} = ?" for column in ("updated_at", *self.values))
        update = f"UPDATE {self.table} SET version = version + 1, {changes}"  # noqa: S608 -- names are ours
        return f"{update} WHERE {condition} RETURNING version, created_at"

    def _index(self, fields: tuple[str, ...], *, unique: bool) -> Index:
        numbers = "_".join(self.columns[field][1:] for field in fields)
        return Index(f"{self.name}_{'u' if unique else 'i'}_{numbers}", fields, unique)


def key_fields(spec: CollectionSpec, have: Sequence[str] = ()) -> tuple[str, ...]:
    """The fields of ``spec`` that need key columns: those that ``have`` them, then the new ones."""
    grouped = [name for group in unique_constraints(spec) for name in group]
    indexed = [field.name for field in spec.fields if field.indexed]
    return tuple(dict.fromkeys([*have, *grouped, *indexed]))


def spec_to_json(spec: CollectionSpec) -> str:
    """A declaration as the catalog keeps it."""
    return canonical_json(
        {
            "name": spec.name,
            "fields": [
                {
                    "name": item.name,
                    "type": item.type,
                    "indexed": item.indexed,
                    "unique": item.unique,
                }
                for item in spec.fields
            ],
            "unique_together": [list(group) for group in spec.unique_together],
        }
    )


def spec_from_json(text: str) -> CollectionSpec:
    """A declaration from the catalog; raises ValueError, KeyError or TypeError if it is damaged."""
    content = json.loads(text)
    return CollectionSpec(
        content["name"],
        tuple(FieldSpec(**item) for item in content["fields"]),
        tuple(tuple(group) for group in content["unique_together"]),
    )
