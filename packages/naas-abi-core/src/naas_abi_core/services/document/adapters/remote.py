"""The document port over NATS: another engine's document service, for blocking callers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any, Final, TypeVar, final

from naas_abi_core.broker.loop_thread import LoopThread
from naas_abi_core.services.document.adapters.repeating import is_repeatable
from naas_abi_sdk.connecting import BrokerSettings
from naas_abi_sdk.document.client import DocumentClient, namespaces
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Data,
    Document,
    GroupPage,
    OrderBy,
    Outcome,
    Page,
    Predicate,
    Write,
)
from naas_abi_sdk.document.validation import check_name
from naas_abi_sdk.errors import DeadlineExceeded, DocumentStorageError, Unavailable
from naas_abi_sdk.limits import CALL_TIMEOUT, DEFAULT_PAGE_SIZE
from naas_abi_sdk.tokens import ServiceToken
from naas_abi_sdk.transport import Transport

__all__ = ["RemoteDocuments"]

R = TypeVar("R")

#: Inboxes of engines; a broker may keep modules from listening to them.
_INBOXES: Final = "_INBOX"


@final
class RemoteDocuments:
    """The documents that an engine serves over NATS.

    What cannot be reached in time is a :class:`DocumentStorageError`: the same call may succeed
    later.

    Args:
        broker: Where the broker is.
        secret: The project's secret, ``nats.jwt_secret`` of the engine that serves.
        identity: Whom the calls come from.
        timeout: Seconds a call may take, whatever happens in them.

    Raises:
        Unavailable: the broker cannot be reached now.
        Unauthenticated: it refuses the login.
    """

    def __init__(
        self,
        broker: BrokerSettings,
        secret: str,
        *,
        identity: str = "engine",
        timeout: float = CALL_TIMEOUT,
    ) -> None:
        self._transport = Transport(
            broker,
            token=ServiceToken(identity, secret),
            timeout=timeout,
            name=f"abi {identity}",
            inbox_prefix=_INBOXES,
        )
        # Kept, because a client remembers what its service can do.
        self._clients: dict[str, DocumentClient] = {}
        self._closed = False
        self._loop = LoopThread("abi-documents")
        try:
            self._loop.run(self._transport.open())
        except BaseException:
            self.close()
            raise

    def ensure_collection(self, namespace: str, spec: CollectionSpec) -> None:
        """Declare a collection, or merge ``spec`` into what is declared."""
        self._ask(namespace, lambda client: client.ensure_collection(spec))

    def drop_collection(self, namespace: str, collection: str) -> None:
        """Delete a collection and its documents."""
        self._ask(namespace, lambda client: client.drop_collection(collection))

    def collections(self, namespace: str) -> list[str]:
        """Names of the namespace's collections, sorted."""
        return self._ask(namespace, lambda client: client.collections())

    def collection_spec(self, namespace: str, collection: str) -> CollectionSpec:
        """The merged declaration of a collection."""
        return self._ask(namespace, lambda client: client.collection_spec(collection))

    def namespaces(self) -> list[str]:
        """Namespaces that hold at least one collection, sorted."""
        return self._run(lambda: namespaces(self._transport))

    def put(
        self,
        namespace: str,
        collection: str,
        id: str,  # noqa: A002 -- a document's own word
        data: Data,
        *,
        if_version: int | None = None,
    ) -> Document:
        """Store a document and return it as stored."""
        return self._ask(
            namespace, lambda client: client.put(collection, id, data, if_version=if_version)
        )

    def get(self, namespace: str, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """Read a document, or raise ``DocumentNotFound``."""
        return self._ask(namespace, lambda client: client.get(collection, id))

    def delete(
        self,
        namespace: str,
        collection: str,
        id: str,  # noqa: A002 -- as above
        *,
        if_version: int | None = None,
    ) -> None:
        """Remove a document."""
        self._ask(namespace, lambda client: client.delete(collection, id, if_version=if_version))

    def find(
        self,
        namespace: str,
        collection: str,
        where: Iterable[Predicate] = (),
        order_by: OrderBy | None = None,
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
        *,
        fields: Sequence[str] | None = None,
        max_bytes: int | None = None,
    ) -> Page:
        """Read one page of the documents that meet every predicate."""
        return self._ask(
            namespace,
            lambda client: client.find(
                collection, where, order_by, limit, cursor, fields=fields, max_bytes=max_bytes
            ),
        )

    def count(self, namespace: str, collection: str, where: Iterable[Predicate] = ()) -> int:
        """How many documents meet every predicate."""
        return self._ask(namespace, lambda client: client.count(collection, where))

    def groups(
        self,
        namespace: str,
        collection: str,
        by: str,
        where: Iterable[Predicate] = (),
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
    ) -> GroupPage:
        """Read one page of the groups that documents form by the value of a field."""
        return self._ask(
            namespace, lambda client: client.groups(collection, by, where, limit, cursor)
        )

    def write(self, namespace: str, writes: Sequence[Write]) -> list[Outcome]:
        """Apply writes in order and answer each.

        If the answer is lost and all of them may be repeated they are, within the timeout; then a
        creation that was done the first time is answered as a conflict.
        """
        given = tuple(writes)
        repeatable = all(map(is_repeatable, given))
        return self._ask(namespace, lambda client: client.write(given, repeatable=repeatable))

    def close(self) -> None:
        """Close the connection. Later calls raise ``DocumentStorageError``."""
        if self._closed:
            return
        self._closed = True
        try:
            self._loop.run(self._transport.close())
        finally:
            self._loop.close()

    def _ask(self, namespace: str, ask: Callable[[DocumentClient], Coroutine[Any, Any, R]]) -> R:
        check_name(namespace, "namespace")
        client = self._clients.get(namespace)
        if client is None:
            client = DocumentClient(self._transport, namespace)
            self._clients[namespace] = client
        return self._run(lambda: ask(client))

    def _run(self, asked: Callable[[], Coroutine[Any, Any, R]]) -> R:
        if self._is_closed():
            raise self._closed_error()
        try:
            return self._loop.run(asked())
        except (Unavailable, DeadlineExceeded) as error:
            if self._is_closed():
                raise self._closed_error() from error
            raise DocumentStorageError(str(error)) from error
        except (CancelledError, RuntimeError) as error:
            if self._is_closed():
                raise self._closed_error() from error
            raise

    def _is_closed(self) -> bool:
        return self._closed

    def _closed_error(self) -> DocumentStorageError:
        message = f"the client of {self._transport.settings.place} is closed"
        return DocumentStorageError(message)
