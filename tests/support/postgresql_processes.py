"""What processes of the multi-process tests do with a schema; run with ``python -m``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments
from naas_abi_sdk.document.types import CollectionSpec, FieldSpec, Keep, Put

SPEC = CollectionSpec("c", [FieldSpec("n", "int", indexed=True)], [("writer", "n")])


def start(action: str, dsn: str, schema: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a process that does ``action``; it waits for a line on its standard input first."""
    command = [sys.executable, "-m", "tests.support.postgresql_processes", action, dsn, schema]
    return subprocess.Popen(
        [*command, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def declare_and_put(dsn: str, schema: str, writer: str, count: str) -> None:
    """Open the schema, which may not exist, declare, and put documents in batches of five."""
    store = PostgreSQLDocuments(dsn, schema=schema, connect_timeout=60)
    store.ensure_collection("n", SPEC)
    for first in range(0, int(count), 5):
        batch = [
            Put("c", f"{writer}-{n}", {"writer": writer, "n": n}, 0)
            for n in range(first, min(first + 5, int(count)))
        ]
        outcomes = store.write("n", [*batch, Keep("c", "shared", {"n": -1})])
        assert all(outcome.state == "done" for outcome in outcomes)
    store.close()


def write_for_ever(dsn: str, schema: str) -> None:
    """Put batches of three without end, and tell of each when it is acknowledged."""
    store = PostgreSQLDocuments(dsn, schema=schema)
    number = 0
    while True:
        batch = [Put("c", f"{number}-{part}", {"n": number, "b": b"x" * 5000}) for part in range(3)]
        store.write("n", batch)
        print(number, flush=True)
        number += 1


if __name__ == "__main__":
    _, action, *arguments = sys.argv
    print("ready", flush=True)
    sys.stdin.readline()
    globals()[action](*arguments)
