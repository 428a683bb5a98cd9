"""Batches of writes as one statement: one round trip and one transaction.

A batch is one statement if its writes may be done in any order: ``Require`` first, then documents
that are only created or kept, or only deleted, each once, and no two with the same unique value;
or that are replaced where nothing is unique, since a replaced document gives its values back. That
is what the savers write. Any other goes through :mod:`.postgresql_writing`.

Each collection's writes of a kind are one part of the statement, ``p0``, ``p1`` and so on, which
returns the rows it wrote. Every part that writes first asks ``gate`` whether all that is required
is there. Parts and rows come in one order for all writers, so that they do not wait in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

from naas_abi_core.services.document.adapters.postgresql_arrays import Integers, Texts
from naas_abi_core.services.document.adapters.sql.layout import Layout
from naas_abi_core.services.document.adapters.sql.writing import Row
from naas_abi_sdk.document.types import Delete, Keep, Outcome, Put, Require
from naas_abi_sdk.document.validation import unique_constraints

__all__ = ["Batch", "Kind", "Stored", "as_batch", "id_of", "single"]

#: What is done to a row; ``hold`` is to require it at a version.
Kind: TypeAlias = Literal["require", "hold", "create", "keep", "replace", "delete"]

_REQUIRED: Final = frozenset(("require", "hold"))

#: Where a row of a batch is done: the number of its part, and its stored id.
_Place: TypeAlias = "tuple[int, bytes]"


class Stored(NamedTuple):
    """A document's version and creation time after a put; both 0 after other writes."""

    version: int
    created_at: int


class _Part(NamedTuple):
    """Rows of one collection to which the same is done, by id and in that order."""

    kind: Kind
    layout: Layout
    rows: dict[bytes, Row]


class _Shape(NamedTuple):
    """What the text of a part depends on."""

    kind: Kind
    table: str
    columns: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """Writes that one statement does."""

    rows: tuple[Row, ...]
    places: tuple[_Place, ...]
    parts: tuple[_Part, ...]

    @property
    def sql(self) -> str:
        """The statement; gives rows of part, id, version and creation time."""
        shapes = [_Shape(part.kind, part.layout.table, part.layout.values) for part in self.parts]
        return _statement(tuple(shapes))

    def parameters(self, now: int) -> list[Any]:
        """Parameters of the statement, at a moment in microseconds since 1970."""
        required = [part for part in self.parts if part.kind in _REQUIRED]
        values: list[Any] = [value for part in required for value in _demanded(part)]
        values += [len(part.rows) for part in required]
        for part in self.parts[len(required) :]:
            values += _written(part, now)
        return values

    def stored(self, found: Iterable[Sequence[Any]]) -> list[Stored | None]:
        """What the statement gave for each row; None for what it did not do."""
        by_place = {
            (number, id_): Stored(version, created_at) for number, id_, version, created_at in found
        }
        return [by_place.get(place) for place in self.places]

    def outcomes(self, stored: Sequence[Stored | None]) -> list[Outcome]:
        """The answers to the writes."""
        outcomes: list[Outcome] = []
        for row, done in zip(self.rows, stored, strict=True):
            write = row.write
            if done is not None:
                outcomes.append(Outcome("done", done.version or None))
            elif isinstance(write, Require):
                where = "" if write.if_version is None else ", or at another version"
                conflict = Outcome("conflict", reason=f"document {write.id!r} is absent{where}")
                skipped = [Outcome("skipped")] * (len(self.rows) - len(outcomes) - 1)
                return [*outcomes, conflict, *skipped]
            elif isinstance(write, Delete) and write.if_version is None:
                outcomes.append(Outcome("done"))
            else:
                outcomes.append(Outcome("conflict", reason=_REASONS[type(write)].format(write.id)))
        return outcomes


_REASONS: Final[Mapping[type, str]] = {
    Put: "document {!r} is there already, or another has a unique value of it",
    Delete: "document {!r} is absent, or at another version",
}


#: What a put's columns are passed as, if not as bytes.
_ARRAYS: Final[Mapping[str, type[list[Any]]]] = {"size": Integers, "data": Texts}
_TYPES: Final = {"size": "bigint", "data": "text"}


def as_batch(rows: Sequence[Row]) -> Batch | None:
    """The rows as one statement; None if their order may matter."""
    kinds = [_kind(row) for row in rows]
    required = next((at for at, kind in enumerate(kinds) if kind not in _REQUIRED), len(kinds))
    written = kinds[required:]
    if not written or None in written or not _REQUIRED.isdisjoint(written):
        return None if written else _batch(rows, kinds)
    if "delete" in written and len(set(written)) > 1:
        return None
    releases = any(
        kind == "replace" and unique_constraints(row.layout.spec)
        for row, kind in zip(rows, kinds, strict=True)
    )
    holds = [row for row, kind in zip(rows, kinds, strict=True) if kind == "hold"]
    if not (_are_apart(holds) and _are_apart(rows[required:])) or (releases and len(written) > 1):
        return None
    return _batch(rows, kinds)


def single(kind: Kind, row: Row) -> Batch:
    """One write of a kind."""
    return _batch([row], [kind])


def id_of(row: Row) -> bytes:
    """The id of a row as the database has it."""
    id_ = row.layout.dialect.stored_id(row.write.id)
    assert isinstance(id_, bytes), "this database has ids as bytes"
    return id_


def _kind(row: Row) -> Kind | None:
    write = row.write
    if isinstance(write, Require):
        return "require" if write.if_version is None else "hold"
    if isinstance(write, Keep):
        return "keep"
    if isinstance(write, Delete):
        return "delete"
    return {0: "create", None: "replace"}.get(write.if_version)  # type: ignore[return-value]  # literals


def _are_apart(rows: Iterable[Row]) -> bool:
    """Whether no two rows are the same document or have the same unique value."""
    seen: set[tuple[Any, ...]] = set()
    for row in rows:
        claims: list[tuple[Any, ...]] = [(row.layout.table, id_of(row))]
        if row.values:
            keys = dict(zip(row.layout.keys, row.values[1:], strict=False))
            for group in unique_constraints(row.layout.spec):
                values = tuple(keys[field] for field in group)
                if None not in values:
                    claims.append((row.layout.table, group, values))
        if not seen.isdisjoint(claims):
            return False
        seen.update(claims)
    return True


def _batch(rows: Sequence[Row], kinds: Sequence[Kind | None]) -> Batch:
    parts: dict[tuple[bool, str, str], _Part] = {}
    keys = []
    for row, kind in zip(rows, kinds, strict=True):
        assert kind is not None, "rows of no kind make no batch"
        key = (kind not in _REQUIRED, row.layout.spec.name, kind)
        part = parts.setdefault(key, _Part(kind, row.layout, {}))
        part.rows[id_of(row)] = row
        keys.append(key)
    numbers = {key: number for number, key in enumerate(sorted(parts))}
    places = [(numbers[key], id_of(row)) for row, key in zip(rows, keys, strict=True)]
    ordered = [
        _Part(part.kind, part.layout, dict(sorted(part.rows.items())))
        for _, part in sorted(parts.items(), key=lambda item: item[0])
    ]
    return Batch(tuple(rows), tuple(places), tuple(ordered))


def _demanded(part: _Part) -> list[list[Any]]:
    ids = list(part.rows)
    if part.kind == "require":
        return [ids]
    demands = [row.write for row in part.rows.values()]
    return [ids, Integers(item.if_version for item in demands if isinstance(item, Require))]


def _written(part: _Part, now: int) -> list[Any]:
    ids = list(part.rows)
    if part.kind == "delete":
        deletes = [row.write for row in part.rows.values()]
        versions = Integers(item.if_version for item in deletes if isinstance(item, Delete))
        return [ids, ids, versions]
    columns = zip(*(row.values for row in part.rows.values()), strict=True)
    arrays = [
        _ARRAYS.get(name, list)(column)
        for name, column in zip(part.layout.values, columns, strict=True)
    ]
    return [now, now, ids, *arrays]


@lru_cache(maxsize=512)
def _statement(shapes: tuple[_Shape, ...]) -> str:
    required = [f"p{at}" for at, shape in enumerate(shapes) if shape.kind in _REQUIRED]
    gate = " AND ".join(f"(SELECT count(*) FROM {name}) = ?" for name in required)  # noqa: S608 -- names are ours
    condition = "(SELECT open FROM gate)" if required else ""
    parts = [f"p{at} AS ({_part(shape, condition)})" for at, shape in enumerate(shapes)]
    if required:
        parts.insert(len(required), f"gate AS (SELECT {gate} AS open)")
    nothing = "0::bigint, 0::bigint"
    answers = [
        f"SELECT {at}, id, {'version, created_at' if shape.kind in _PUTS else nothing} FROM p{at}"  # noqa: S608 -- names are ours
        for at, shape in enumerate(shapes)
    ]
    return f"WITH {', '.join(parts)} {' UNION ALL '.join(answers)}"


_PUTS: Final = frozenset(("create", "keep", "replace"))


def _part(shape: _Shape, condition: str) -> str:
    table = shape.table
    # A writer that waits for a lock goes on with what is there then, not with what it saw before.
    locked = f"SELECT id FROM {table} WHERE id = ANY(?) ORDER BY id FOR"  # noqa: S608 -- names are ours
    if shape.kind == "require":
        return f"{locked} KEY SHARE"
    if shape.kind == "hold":
        return (
            f"SELECT d.id FROM {table} AS d "  # noqa: S608 -- names are ours
            "JOIN unnest(?::bytea[], ?::bigint[]) AS u(id, version) "
            "ON d.id = u.id AND d.version = u.version ORDER BY d.id FOR SHARE OF d"
        )
    if shape.kind == "delete":
        also = f"AND {condition} " if condition else ""
        return (
            f"WITH locked AS MATERIALIZED ({locked} UPDATE) "  # noqa: S608 -- names are ours
            f"DELETE FROM {table} AS d "
            "USING locked, unnest(?::bytea[], ?::bigint[]) AS u(id, version) "
            f"WHERE d.id = locked.id AND u.id = locked.id {also}"
            "AND (u.version IS NULL OR d.version = u.version) RETURNING d.id"
        )
    names = ", ".join(shape.columns)
    where = f"WHERE {condition} " if condition else ""
    arrays = ", ".join(f"?::{_TYPES.get(name, 'bytea')}[]" for name in ("id", *shape.columns))
    return (
        f"INSERT INTO {table} AS d (id, version, created_at, updated_at, {names}) "  # noqa: S608 -- names are ours
        f"SELECT id, 1, ?, ?, {names} FROM unnest({arrays}) AS u(id, {names}) {where}"
        f"ON CONFLICT {_on_conflict(shape)} RETURNING d.id, d.version, d.created_at"
    )


def _on_conflict(shape: _Shape) -> str:
    if shape.kind == "create":
        return "DO NOTHING"
    columns = ("updated_at", *(shape.columns if shape.kind == "replace" else ()))
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns)
    return f"(id) DO UPDATE SET version = d.version + 1, {changes}"
