"""Which collections there are, and the tables that hold them.

What is known of a collection is kept in memory and never checked: a collection that is declared
anew, in whatever respect, gets a table name that was never used before. So whoever still knows the
old declaration meets a table that does not exist, reads the catalog again, and repeats.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Final, final

from naas_abi_core.services.document.adapters.postgresql_sessions import Session
from naas_abi_core.services.document.adapters.sql.dialect import postgresql
from naas_abi_core.services.document.adapters.sql.layout import (
    Layout,
    spec_from_json,
    spec_to_json,
)
from naas_abi_sdk.document.encoding import canonical_json
from naas_abi_sdk.document.types import CollectionSpec
from naas_abi_sdk.errors import CollectionNotFound

__all__ = ["Catalog"]


@final
class Catalog:
    """The catalog of one schema as this process knows it.

    Threads may share it: an entry is replaced, never changed.
    """

    def __init__(self, schema: str) -> None:
        self._dialect = postgresql(schema)
        self._table: Final = f"{self._dialect.schema}abi_catalog"
        self._known: dict[tuple[str, str], Layout] = {}

    def layout(self, session: Session, namespace: str, name: str) -> Layout:
        """What is known of a collection, read if nothing is; or ``CollectionNotFound``."""
        known = self._known.get((namespace, name))
        return known or self.read_layout(session, namespace, name)

    def read_layout(self, session: Session, namespace: str, name: str) -> Layout:
        """Read a collection's entry anew, or raise ``CollectionNotFound``."""
        layout = self.find_layout(session, namespace, name)
        if layout is None:
            message = (
                f"collection {name!r} is not declared in {namespace!r}; ensure_collection first"
            )
            raise CollectionNotFound(message)
        return layout

    def find_layout(self, session: Session, namespace: str, name: str) -> Layout | None:
        """Read a collection's entry anew; None if it is not declared."""
        self.forget(namespace, name)
        sql = f"SELECT number, spec, keys FROM {self._table} WHERE key = ?"  # noqa: S608 -- names are ours
        row = session.execute(sql, (_key(namespace, name),)).fetchone()
        if row is None:
            return None
        number, spec, keys = row
        layout = self._layout(namespace, number, spec_from_json(spec), tuple(json.loads(keys)))
        self._known[namespace, name] = layout
        return layout

    def forget(self, namespace: str, name: str) -> None:
        """Read the collection's entry again when it is next asked for."""
        self._known.pop((namespace, name), None)

    def names(self, session: Session, namespace: str) -> list[str]:
        """Names of the collections of a namespace, sorted."""
        sql = f"SELECT name FROM {self._table} WHERE namespace = ?"  # noqa: S608 -- names are ours
        return sorted(name for (name,) in session.execute(sql, (namespace,)))

    def namespaces(self, session: Session) -> list[str]:
        """Namespaces that hold at least one collection, sorted."""
        sql = f"SELECT DISTINCT namespace FROM {self._table}"  # noqa: S608 -- names are ours
        return sorted(namespace for (namespace,) in session.execute(sql))

    def store(
        self, session: Session, namespace: str, spec: CollectionSpec, keys: tuple[str, ...]
    ) -> Layout:
        """Enter a collection under a new number.

        The entry is not yet known to :meth:`layout`: its transaction may still fail.
        """
        self.remove(session, namespace, spec.name)
        sql = (
            f"INSERT INTO {self._table} (key, number, namespace, name, spec, keys) "  # noqa: S608 -- names are ours
            f"VALUES (?, nextval('{self._table}_number'), ?, ?, ?, ?) RETURNING number"
        )
        texts = (namespace, spec.name, spec_to_json(spec), canonical_json(list(keys)))
        row = session.execute(sql, (_key(namespace, spec.name), *texts)).fetchone()
        assert row is not None, "an insert returns its row"
        return self._layout(namespace, row[0], spec, keys)

    def remove(self, session: Session, namespace: str, name: str) -> None:
        """Delete a collection's entry."""
        self.forget(namespace, name)
        sql = f"DELETE FROM {self._table} WHERE key = ?"  # noqa: S608 -- names are ours
        session.execute(sql, (_key(namespace, name),))

    def _layout(
        self, namespace: str, number: int, spec: CollectionSpec, keys: tuple[str, ...]
    ) -> Layout:
        return Layout(namespace, number, spec, keys, 0, self._dialect)


def _key(namespace: str, name: str) -> bytes:
    return sha256(canonical_json([namespace, name]).encode("ascii")).digest()
