"""What databases say differently, and how much of a key each of them takes into an index.

Everything else is the same SQL. Parameters are written ``?``; an adapter whose driver numbers them
does so last.

A database with a limit keeps *short forms* of what it indexes. A key or id of up to ``longest``
bytes is its own short form; of a longer one it is the first ``longest`` bytes and the SHA-256 of
all. So short forms are equal exactly if what they stand for is, and they order it wherever one of
two is whole. Two long ones that begin alike are ordered by their digests, which means nothing: a
reader that meets one (:meth:`Dialect.is_whole`) has to find the order some other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, final

__all__ = ["SQLITE", "Dialect", "above_prefix", "placeholders", "postgresql"]

_DIGEST_BYTES: Final = 32

#: An index row of PostgreSQL takes 2704 bytes: eight keys of 256 bytes and a digest, with their
#: lengths. A group of more fields has an index over one digest of them all.
_WHOLE_IN_POSTGRESQL: Final = 256
_WIDEST: Final = 8


@final
@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database wants to be asked.

    Attributes:
        row: The column by which a row that was found is found again.
        id: Expression of a document's whole id.
        longest: Bytes of a key or an id that an index takes whole; None without a limit. With
            one, ids are bytes in the database, so that a short form may end within a character.
        has_arrays: Whether a list is one parameter.
        schema: What stands before the name of a table.
        more_columns: Columns only this database has, all of bytes.
        id_type: Types of the columns, and those below.
        table_options: What ends the creation of a table.
    """

    row: str
    id: str
    longest: int | None
    has_arrays: bool
    schema: str
    more_columns: tuple[str, ...]
    id_type: str
    integer_type: str
    bytes_type: str
    text_type: str
    table_options: str

    def stored_key(self, key: bytes | None) -> bytes | None:
        """The short form of a key; None has none."""
        if key is None or self.longest is None or len(key) <= self.longest:
            return key
        return key[: self.longest] + sha256(key).digest()

    def is_whole(self, stored: str | bytes | None) -> bool:
        """Whether a stored key or id is all there is, and so is in its place in an order."""
        return self.longest is None or stored is None or len(stored) <= self.longest

    def stored_id(self, id_: str) -> str | bytes | None:
        """An id as the column ``id`` has it."""
        return id_ if self.longest is None else self.stored_key(id_.encode())

    def more_values(self, id_: str) -> tuple[bytes | None, ...]:
        """What a document has in :attr:`more_columns`."""
        if self.longest is None:
            return ()
        whole = id_.encode()
        return (whole if len(whole) > self.longest else None,)

    def whole_id(self, value: Any) -> str:
        """The id that :attr:`id` gave."""
        return value if self.longest is None else value.decode()  # type: ignore[no-any-return]  # str and bytes.decode

    def among(self, column: str, values: Sequence[Any]) -> tuple[str, Sequence[Any]]:
        """A condition that ``column`` is one of ``values``, and its parameters."""
        if self.has_arrays:
            return f"{column} = ANY(?)", (list(values),)
        places, padded = placeholders(values)
        return f"{column} IN ({places})", padded

    def not_among(self, column: str, values: Sequence[Any]) -> tuple[str, Sequence[Any]]:
        """A condition that ``column`` is none of ``values``, and its parameters."""
        if self.has_arrays:
            return f"{column} <> ALL(?)", (list(values),)
        places, padded = placeholders(values)
        return f"{column} NOT IN ({places})", padded

    def unique_keys(self, columns: Sequence[str]) -> str:
        """What a unique index over ``columns`` is made of."""
        if self.longest is None or len(columns) <= _WIDEST:
            return ", ".join(columns)
        # One NULL makes it NULL, as it must: a document without all of the group is exempt.
        return f"sha256({' || '.join(f'sha256({column})' for column in columns)})"


def placeholders(values: Sequence[Any]) -> tuple[str, list[Any]]:
    """Placeholders for ``values``, and the values with the last repeated up to a power of two.

    So a list of any length up to 500 makes one of ten statements, which stay prepared.
    """
    size = 1 << (len(values) - 1).bit_length()
    return ", ".join("?" * size), [*values, *[values[-1]] * (size - len(values))]


def above_prefix(prefix: bytes) -> bytes:
    """A key above every short form that begins with ``prefix``."""
    return prefix + b"\xff" * (_DIGEST_BYTES + 1)


SQLITE: Final = Dialect(
    row="rowid",
    id="id",
    longest=None,
    has_arrays=False,
    schema="",
    more_columns=(),
    id_type="TEXT",
    integer_type="INTEGER",
    bytes_type="BLOB",
    text_type="TEXT",
    table_options=" STRICT",
)


def postgresql(schema: str) -> Dialect:
    """PostgreSQL with its tables in ``schema``, a plain lower-case name."""
    return Dialect(
        row="id",
        id="coalesce(long_id, id)",
        longest=_WHOLE_IN_POSTGRESQL,
        has_arrays=True,
        schema=f'"{schema}".',
        more_columns=("long_id",),
        id_type="BYTEA",
        integer_type="BIGINT",
        bytes_type="BYTEA",
        text_type='TEXT COLLATE "C"',
        table_options="",
    )
