"""The savers that are compared. Adding one is adding one entry to :data:`PEERS`.

Each is opened as its own documentation says a service should open it, with the durability it has
by itself: savers that write to disk have it there when a call returns.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver
from psycopg.rows import dict_row

from benchmarks.serving import ServedStore
from benchmarks.stores import MemoryStore, PostgreSQLStore, SQLiteStore
from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.port import DocumentPort
from naas_abi_core.services.document.service import DocumentService
from naas_abi_sdk.client import ABIClient
from naas_abi_sdk.langgraph import DocumentCheckpointSaver as RemoteCheckpointSaver

__all__ = ["CONNECTION", "PEERS", "Peer", "document_saver", "find_peer", "remote_saver"]

#: A pool as a service has one; fifty threads may have to wait for its connections.
POOL: Final[dict[str, Any]] = {"min_size": 1, "max_size": 10, "timeout": 60}
#: What LangGraph's documentation has users set on its PostgreSQL savers' connections.
CONNECTION: Final[dict[str, Any]] = {
    "autocommit": True,
    "prepare_threshold": 0,
    "row_factory": dict_row,
}

Opened = AbstractContextManager[Any] | AbstractAsyncContextManager[Any]


@dataclass(frozen=True)
class Peer:
    """A saver that can be measured.

    Attributes:
        name: What tables call it.
        store: Kind of store: ``memory``, ``sqlite``, ``postgresql``, or ``nats`` for a SQLite file
            that other processes serve.
        open: Opens a saver, ready to use, on a store of that kind.
        against: The peer its ratios are to; its own name for one that others are measured by.
        port: Opens the documents below the saver; None for a saver that keeps none here.
        client: Opens the client below a saver of documents in another process; else None.
        is_async: Whether graphs await it.
        longest: Turns of the plain chat it is measured for at most, because of ``why_longest``.
        missing: Why it cannot be measured here, if it cannot.
    """

    name: str
    store: str
    open: Callable[[Any], Opened]
    against: str
    port: Callable[[Any], AbstractContextManager[DocumentPort]] | None = None
    client: Callable[[Any], AbstractAsyncContextManager[ABIClient]] | None = None
    is_async: bool = False
    longest: int | None = None
    why_longest: str = ""
    missing: str = ""

    @property
    def is_ours(self) -> bool:
        return self.port is not None or self.client is not None

    @property
    def is_counted(self) -> bool:
        """Whether what it asks for is counted: not if a synchronous twin asks the same."""
        return not self.is_async or self.client is not None


def document_saver(port: DocumentPort) -> DocumentCheckpointSaver:
    """Return our saver over a document port, as the engine makes it."""
    return DocumentCheckpointSaver.for_engine(DocumentService.for_engine(port))


def remote_saver(client: ABIClient) -> RemoteCheckpointSaver:
    """Return our saver in a module's process, as the module makes it."""
    return RemoteCheckpointSaver.for_agent(client, "chat")


@contextmanager
def _in_memory(store: MemoryStore) -> Iterator[BaseCheckpointSaver[Any]]:
    from langgraph.checkpoint.memory import InMemorySaver

    yield store.once(InMemorySaver)


@contextmanager
def _sqlite(store: SQLiteStore) -> Iterator[BaseCheckpointSaver[Any]]:
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(str(store.path)) as saver:
        saver.setup()
        yield saver


@asynccontextmanager
async def _async_sqlite(store: SQLiteStore) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with AsyncSqliteSaver.from_conn_string(str(store.path)) as saver:
        await saver.setup()
        yield saver


@contextmanager
def _postgres(store: PostgreSQLStore) -> Iterator[BaseCheckpointSaver[Any]]:
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg_pool import ConnectionPool

    with ConnectionPool(store.dsn, kwargs=CONNECTION, **POOL) as pool:
        saver = PostgresSaver(pool)
        saver.setup()
        yield saver


@asynccontextmanager
async def _async_postgres(store: PostgreSQLStore) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg_pool import AsyncConnectionPool

    async with AsyncConnectionPool(store.dsn, kwargs=CONNECTION, open=False, **POOL) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        yield saver


@contextmanager
def _memory_documents(store: MemoryStore) -> Iterator[DocumentPort]:
    from naas_abi_sdk.testing import MemoryDocuments

    yield store.once(MemoryDocuments)


@contextmanager
def _sqlite_documents(store: SQLiteStore) -> Iterator[DocumentPort]:
    from naas_abi_core.services.document.adapters.sqlite import SQLiteDocuments

    port = SQLiteDocuments(store.path)
    try:
        yield port
    finally:
        port.close()


@contextmanager
def _postgresql_documents(store: PostgreSQLStore) -> Iterator[DocumentPort]:
    from naas_abi_core.services.document.adapters.postgresql import PostgreSQLDocuments

    port = PostgreSQLDocuments(store.dsn)
    try:
        yield port
    finally:
        port.close()


def _client(store: ServedStore) -> AbstractAsyncContextManager[ABIClient]:
    return store.client()


@asynccontextmanager
async def _over_nats(store: ServedStore) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    async with _client(store) as client:
        yield remote_saver(client)


def _ours(
    name: str,
    store: str,
    against: str,
    port: Callable[[Any], AbstractContextManager[DocumentPort]],
    **more: Any,
) -> Peer:
    @contextmanager
    def opened(store: Any) -> Iterator[BaseCheckpointSaver[Any]]:
        with port(store) as documents:
            yield document_saver(documents)

    return Peer(name, store, opened, against, port, **more)


_POSTGRESQL_ADAPTER: Final = "naas_abi_core.services.document.adapters.postgresql"
_NO_POSTGRESQL: Final = (
    "" if find_spec(_POSTGRESQL_ADAPTER) else "there is no PostgreSQL document adapter yet"
)
_MEMORY: Final = "it keeps every version of the list: about 7 GB at 1,000 turns"
_DISK: Final = "as its synchronous twin, another 9 GB of disk at 1,000 turns"

PEERS: Final = (
    Peer(
        *("InMemorySaver", "memory", _in_memory, "InMemorySaver"),
        longest=400,
        why_longest=_MEMORY,
    ),
    _ours("Documents-memory", "memory", "InMemorySaver", _memory_documents),
    Peer("SqliteSaver", "sqlite", _sqlite, "SqliteSaver"),
    _ours("Documents-SQLite", "sqlite", "SqliteSaver", _sqlite_documents),
    Peer(
        *("AsyncSqliteSaver", "sqlite", _async_sqlite, "AsyncSqliteSaver"),
        is_async=True,
        longest=200,
        why_longest=_DISK,
    ),
    _ours(
        *("Documents-SQLite-async", "sqlite", "AsyncSqliteSaver", _sqlite_documents),
        is_async=True,
    ),
    Peer(
        *("Documents-NATS", "nats", _over_nats, "Documents-SQLite-async"),
        client=_client,
        is_async=True,
    ),
    Peer("PostgresSaver", "postgresql", _postgres, "PostgresSaver"),
    _ours(
        *("Documents-PostgreSQL", "postgresql", "PostgresSaver", _postgresql_documents),
        missing=_NO_POSTGRESQL,
    ),
    Peer(
        *("AsyncPostgresSaver", "postgresql", _async_postgres, "AsyncPostgresSaver"),
        is_async=True,
        longest=200,
        why_longest=_DISK,
    ),
    _ours(
        *("Documents-PostgreSQL-async", "postgresql", "AsyncPostgresSaver"),
        _postgresql_documents,
        is_async=True,
        missing=_NO_POSTGRESQL,
    ),
)


def find_peer(name: str) -> Peer:
    """Return the peer of this name, or raise ``LookupError`` with the names there are."""
    for peer in PEERS:
        if peer.name == name:
            return peer
    message = f"no saver is called {name!r}; there are: {', '.join(p.name for p in PEERS)}"
    raise LookupError(message)
