"""Which collections there are, and the tables that hold them.

The catalog has a *generation* that every change counts up. What is known of a collection is kept
in memory and carries the generation it was read at: a write checks it inside its transaction, since
a key column it does not know of would stay empty. A read needs no check: the columns it knows of
are kept filled by every writer, and the table of a dropped collection is gone for good.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from sqlite3 import Connection
from typing import Final, final

from naas_abi_core.services.document.adapters.sql.layout import (
    Layout,
    spec_from_json,
    spec_to_json,
)
from naas_abi_sdk.document.encoding import canonical_json
from naas_abi_sdk.document.types import CollectionSpec
from naas_abi_sdk.errors import CollectionNotFound

__all__ = ["CREATE_CATALOG", "Catalog"]

CREATE_CATALOG: Final = (
    """CREATE TABLE abi_catalog (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        namespace TEXT NOT NULL,
        name TEXT NOT NULL,
        spec TEXT NOT NULL,
        keys TEXT NOT NULL,
        UNIQUE (namespace, name)
    ) STRICT""",
    "CREATE TABLE abi_catalog_generation (generation INTEGER NOT NULL) STRICT",
    "INSERT INTO abi_catalog_generation VALUES (1)",
)

_READ: Final = (
    "SELECT generation, number, spec, keys FROM abi_catalog_generation "
    "LEFT JOIN abi_catalog ON namespace = ? AND name = ?"
)


@final
class Catalog:
    """The catalog of one file as this process knows it. Every method is called with a connection.

    Threads may share it: an entry is replaced, never changed.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Layout] = {}

    def known(self, namespace: str, name: str) -> Layout | None:
        """What is known of a collection without reading anything."""
        return self._known.get((namespace, name))

    def layout(self, connection: Connection, namespace: str, name: str) -> Layout:
        """What is known of a collection, read if nothing is; or ``CollectionNotFound``."""
        known = self._known.get((namespace, name))
        return known or self.read_layout(connection, namespace, name)

    def read_layout(self, connection: Connection, namespace: str, name: str) -> Layout:
        """Read a collection's entry anew, or raise ``CollectionNotFound``."""
        layout = self.find_layout(connection, namespace, name)
        if layout is None:
            message = (
                f"collection {name!r} is not declared in {namespace!r}; ensure_collection first"
            )
            raise CollectionNotFound(message)
        return layout

    def find_layout(self, connection: Connection, namespace: str, name: str) -> Layout | None:
        """Read a collection's entry anew; None if it is not declared."""
        self._known.pop((namespace, name), None)
        generation, number, spec, keys = connection.execute(_READ, (namespace, name)).fetchone()
        if number is None:
            return None
        layout = Layout(
            namespace, number, spec_from_json(spec), tuple(json.loads(keys)), generation
        )
        self._known[namespace, name] = layout
        return layout

    def forget(self, namespace: str, name: str) -> None:
        """Read the collection's entry again when it is next asked for."""
        self._known.pop((namespace, name), None)

    @staticmethod
    def is_current(connection: Connection, layouts: Iterable[Layout]) -> bool:
        """Whether nothing was declared or dropped since ``layouts`` were read."""
        row = connection.execute("SELECT generation FROM abi_catalog_generation").fetchone()
        return all(layout.generation == row[0] for layout in layouts)

    def names(self, connection: Connection, namespace: str) -> list[str]:
        """Names of the collections of a namespace, sorted."""
        sql = "SELECT name FROM abi_catalog WHERE namespace = ? ORDER BY name"
        return [name for (name,) in connection.execute(sql, (namespace,))]

    def namespaces(self, connection: Connection) -> list[str]:
        """Namespaces that hold at least one collection, sorted."""
        sql = "SELECT DISTINCT namespace FROM abi_catalog ORDER BY namespace"
        return [namespace for (namespace,) in connection.execute(sql)]

    def store(
        self,
        connection: Connection,
        namespace: str,
        spec: CollectionSpec,
        keys: tuple[str, ...],
        number: int | None,
    ) -> Layout:
        """Enter a collection; with ``number`` its table stays, else a new number is given.

        The entry is not yet known to :meth:`layout`: its transaction may still fail.
        """
        texts = (namespace, spec.name, spec_to_json(spec), canonical_json(list(keys)))
        connection.execute(
            "DELETE FROM abi_catalog WHERE namespace = ? AND name = ?", (namespace, spec.name)
        )
        stored = connection.execute(
            "INSERT INTO abi_catalog (namespace, name, spec, keys, number) VALUES (?, ?, ?, ?, ?)",
            (*texts, number),
        ).lastrowid
        assert stored is not None, "an insert gives a row number"
        return Layout(namespace, stored, spec, keys, self._count_up(connection))

    def remove(self, connection: Connection, layout: Layout) -> None:
        """Drop a collection: its entry, its table and its indexes."""
        connection.execute("DELETE FROM abi_catalog WHERE number = ?", (layout.number,))
        connection.execute(f"DROP TABLE {layout.table}")
        self._count_up(connection)

    def _count_up(self, connection: Connection) -> int:
        sql = "UPDATE abi_catalog_generation SET generation = generation + 1 RETURNING generation"
        (generation,) = connection.execute(sql).fetchone()
        return int(generation)
