"""The document service, asynchronous, in plain values: one namespace behind a broker.

What the methods promise is what every store promises. What is different behind a broker:

- a write is sent once, unless ``repeatable`` says that the same write again does no harm; so after
  ``DeadlineExceeded`` or ``Unavailable`` it may or may not be done;
- a batch above the broker's limit is cut, and what is one transaction in process is then several,
  in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar, final

from naas_abi_sdk.document.commands import Groups
from naas_abi_sdk.document.driving import arun
from naas_abi_sdk.document.encoding import check_text
from naas_abi_sdk.document.grouping import groups_by_finding, prepare_groups
from naas_abi_sdk.document.performing import aperform
from naas_abi_sdk.document.single_writes import write_singly
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Data,
    Delete,
    Document,
    GroupPage,
    OrderBy,
    Outcome,
    Page,
    Predicate,
    Put,
    Require,
    Write,
)
from naas_abi_sdk.document.validation import (
    check_fields,
    check_if_version,
    check_limit,
    check_max_bytes,
    check_name,
    check_predicates,
)
from naas_abi_sdk.document.wire import (
    from_document,
    from_group_page,
    from_outcomes,
    from_page,
    from_spec,
    to_order_by,
    to_predicates,
    to_projection,
    to_spec,
    to_writes,
)
from naas_abi_sdk.document.wire_values import to_data
from naas_abi_sdk.document.write_batches import write_batches
from naas_abi_sdk.errors import (
    DocumentNotFound,
    InvalidArgument,
    NobodyServes,
    RPCError,
    Unavailable,
    UniqueViolation,
)
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto
from naas_abi_sdk.subjects import DOCUMENT_PREFIX
from naas_abi_sdk.transport import Transport

__all__ = ["DocumentClient", "namespaces"]

R = TypeVar("R")

#: Documents ``iterate`` asks for at a time.
_ITERATE_BATCH: Final = 500

#: Seconds for which a service that lacks an operation is not asked for it again.
_WITHOUT: Final = 60.0


async def namespaces(transport: Transport) -> list[str]:
    """Namespaces that hold at least one collection, sorted; for engines only."""
    response = await transport.call(
        f"{DOCUMENT_PREFIX}namespaces",
        proto.NamespacesRequest(),
        proto.NamespacesResponse,
        what="namespaces",
        repeatable=True,
    )
    return list(response.namespaces)


@final
class DocumentClient:
    """One namespace of the document service. Every error is one of ``naas_abi_sdk.errors``.

    Args:
        transport: Makes the calls; many clients may share one, and closing it is its owner's.
        namespace: The namespace all calls go to.
    """

    def __init__(self, transport: Transport, namespace: str) -> None:
        check_name(namespace, "namespace")
        self._transport = transport
        self._namespace = namespace
        self._without_until: dict[str, float] = {}

    @property
    def namespace(self) -> str:
        """The namespace all calls go to."""
        return self._namespace

    @property
    def transport(self) -> Transport:
        """What makes the calls."""
        return self._transport

    async def ensure_collection(self, spec: CollectionSpec) -> None:
        """Declare a collection, or merge ``spec`` into what is declared."""
        request = proto.EnsureCollectionRequest(spec=to_spec(spec))
        await self._call("ensure_collection", repr(spec.name), request, repeatable=True)

    async def drop_collection(self, collection: str) -> None:
        """Delete a collection and its documents."""
        check_name(collection, "collection name")
        request = proto.DropCollectionRequest(collection=collection)
        await self._call("drop_collection", repr(collection), request)

    async def collections(self) -> list[str]:
        """Names of the collections, sorted."""
        request = proto.CollectionsRequest()
        response = await self._call(
            "collections", f"of {self._namespace!r}", request, repeatable=True
        )
        return list(response.collections)

    async def collection_spec(self, collection: str) -> CollectionSpec:
        """The merged declaration of a collection."""
        check_name(collection, "collection name")
        request = proto.CollectionSpecRequest(collection=collection)
        response = await self._call("collection_spec", repr(collection), request, repeatable=True)
        return from_spec(response.spec)

    async def put(
        self,
        collection: str,
        id: str,  # noqa: A002 -- a document's own word
        data: Data,
        *,
        if_version: int | None = None,
        repeatable: bool = False,
    ) -> Document:
        """Store a document and return it as stored."""
        _check_place(collection, id)
        check_if_version(if_version)
        request = proto.PutRequest(
            collection=collection, id=id, data=to_data(data), if_version=if_version
        )
        what = f"{id!r} in {collection!r}"
        response = await self._call("put", what, request, repeatable=repeatable)
        return _read("put", from_document, response.document)

    async def get(self, collection: str, id: str) -> Document:  # noqa: A002 -- as above
        """Read a document, or raise ``DocumentNotFound``."""
        _check_place(collection, id)
        request = proto.GetRequest(collection=collection, id=id)
        response = await self._call("get", f"{id!r} in {collection!r}", request, repeatable=True)
        return _read("get", from_document, response.document)

    async def exists(self, collection: str, id: str) -> bool:  # noqa: A002 -- as above
        """Whether a document is stored."""
        try:
            await self.get(collection, id)
        except DocumentNotFound:
            return False
        return True

    async def delete(
        self,
        collection: str,
        id: str,  # noqa: A002 -- as above
        *,
        if_version: int | None = None,
        repeatable: bool = False,
    ) -> None:
        """Remove a document."""
        _check_place(collection, id)
        check_if_version(if_version)
        request = proto.DeleteRequest(collection=collection, id=id, if_version=if_version)
        what = f"{id!r} in {collection!r}"
        await self._call("delete", what, request, repeatable=repeatable)

    async def find(
        self,
        collection: str,
        where: Iterable[Predicate] = (),
        order_by: OrderBy | None = None,
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
        *,
        fields: Sequence[str] | None = None,
        max_bytes: int | None = None,
    ) -> Page:
        """Read one page of a query. It may be shorter than asked for: only its cursor tells."""
        check_name(collection, "collection name")
        check_limit(limit)
        check_max_bytes(max_bytes)
        _check_cursor(cursor)
        request = proto.FindRequest(
            collection=collection,
            where=to_predicates(where),
            order_by=to_order_by(order_by),
            limit=limit,
            cursor=cursor,
            max_bytes=None if max_bytes is None else min(max_bytes, 2**63 - 1),
            projection=to_projection(fields),
        )
        response = await self._call("find", f"in {collection!r}", request, repeatable=True)
        return _projected(_read("find", from_page, response), fields)

    async def find_one(
        self,
        collection: str,
        where: Iterable[Predicate] = (),
        order_by: OrderBy | None = None,
        *,
        fields: Sequence[str] | None = None,
    ) -> Document | None:
        """The first document of a query, or None."""
        items = (await self.find(collection, where, order_by, 1, fields=fields)).items
        return items[0] if items else None

    async def iterate(
        self,
        collection: str,
        where: Iterable[Predicate] = (),
        order_by: OrderBy | None = None,
        *,
        fields: Sequence[str] | None = None,
        max_bytes: int | None = None,
    ) -> AsyncIterator[Document]:
        """Every document of a query, read page by page; not a snapshot.

        ``max_bytes`` bounds a page, and so what is held in memory at once.
        """
        conditions = tuple(where)
        cursor: str | None = None
        while True:
            page = await self.find(
                collection,
                conditions,
                order_by,
                _ITERATE_BATCH,
                cursor,
                fields=fields,
                max_bytes=max_bytes,
            )
            for item in page.items:
                yield item
            cursor = page.cursor
            if cursor is None:
                return

    async def groups(
        self,
        collection: str,
        by: str,
        where: Iterable[Predicate] = (),
        limit: int = DEFAULT_PAGE_SIZE,
        cursor: str | None = None,
    ) -> GroupPage:
        """Read one page of the groups that documents form by the value of a field."""
        conditions = tuple(check_predicates(where))
        prepare_groups(self._namespace, collection, by, conditions, limit, cursor)
        messages = to_predicates(conditions)

        async def ask() -> GroupPage:
            request = proto.GroupsRequest(
                collection=collection, by=by, where=messages, limit=limit, cursor=cursor
            )
            what = f"of {by!r} in {collection!r}"
            response = await self._call("groups", what, request, repeatable=True, patient=False)
            return _read("groups", from_group_page, response)

        async def by_finding() -> GroupPage:
            query = Groups(collection, by, conditions, limit, cursor)
            return await arun(groups_by_finding(self._namespace, query), partial(aperform, self))

        return await self._or_else("groups", ask, by_finding)

    async def count(self, collection: str, where: Iterable[Predicate] = ()) -> int:
        """How many documents meet every predicate."""
        check_name(collection, "collection name")
        request = proto.CountRequest(collection=collection, where=to_predicates(where))
        response = await self._call("count", f"in {collection!r}", request, repeatable=True)
        return int(response.count)

    async def put_many(
        self, collection: str, documents: Mapping[str, Data] | Iterable[tuple[str, Data]]
    ) -> None:
        """Store documents by id.

        Raises:
            UniqueViolation: some hold a value another document has; the message names them. The
                others are stored.
        """
        items = documents.items() if isinstance(documents, Mapping) else documents
        writes = [Put(collection, id_, data) for id_, data in items]
        outcomes = await self.write(writes)
        refused = [
            write.id
            for write, outcome in zip(writes, outcomes, strict=True)
            if outcome.state != "done"
        ]
        if refused:
            message = f"unique values are taken, not stored in {collection!r}: {refused}"
            raise UniqueViolation(message)

    async def delete_many(self, collection: str, ids: Iterable[str]) -> None:
        """Remove documents by id; absent ones are fine."""
        await self.write([Delete(collection, id_) for id_ in ids])

    async def write(self, writes: Sequence[Write], *, repeatable: bool = False) -> list[Outcome]:
        """Apply writes in order and answer each."""
        return await self.write_stages([[write] for write in writes], repeatable=repeatable)

    async def write_stages(
        self, stages: Sequence[Sequence[Write]], *, repeatable: bool = False
    ) -> list[Outcome]:
        """Apply stages of writes in order, those of one stage in any; answers as ``write``.

        One request for all of them; a service without batches gets the writes of a stage at once.
        """
        writes = [write for stage in stages for write in stage]
        messages = to_writes(writes)
        if not writes:
            return []
        return await self._or_else(
            "write",
            partial(self._write, messages, writes, repeatable=repeatable),
            partial(write_singly, self, stages, repeatable=repeatable),
        )

    async def _or_else(
        self,
        operation: str,
        ask: Callable[[], Awaitable[R]],
        instead: Callable[[], Awaitable[R]],
    ) -> R:
        """What ``ask`` returns, or ``instead`` where the service is one without ``operation``."""
        if self._now() >= self._without_until.get(operation, 0):
            try:
                return await ask()
            except NobodyServes:
                # Either there is no engine, which this waits for, or it is an earlier one.
                await self.collections()
            try:
                return await ask()
            except NobodyServes:
                self._without_until[operation] = self._now() + _WITHOUT
        return await instead()

    async def _write(
        self, messages: Sequence[proto.Write], writes: Sequence[Write], *, repeatable: bool
    ) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for batch in write_batches(messages, await self._transport.max_payload()):
            request = proto.WriteRequest(writes=batch)
            what = f"{len(batch)} documents in {_collections(writes)}"
            begun = bool(outcomes)
            try:
                response = await self._call(
                    "write", what, request, repeatable=repeatable, patient=begun
                )
            except NobodyServes as error:
                if begun:  # Who has done the first part must not be taken for one without batches.
                    raise Unavailable(str(error)) from error
                raise
            outcomes += _read("write", from_outcomes, response.outcomes)
            if any(
                isinstance(write, Require) and outcome.state != "done"
                for write, outcome in zip(writes, outcomes, strict=False)
            ):
                break
        return outcomes + [Outcome("skipped")] * (len(writes) - len(outcomes))

    async def _call(
        self,
        operation: str,
        what: str,
        request: Any,
        *,
        repeatable: bool = False,
        patient: bool = True,
    ) -> Any:
        request.namespace = self._namespace
        return await self._transport.call(
            DOCUMENT_PREFIX + operation,
            request,
            _RESPONSES[operation],
            what=f"{operation} {what}",
            repeatable=repeatable,
            patient=patient,
        )

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()


_RESPONSES: Final[dict[str, type[Any]]] = {
    "ensure_collection": proto.EnsureCollectionResponse,
    "drop_collection": proto.DropCollectionResponse,
    "collections": proto.CollectionsResponse,
    "collection_spec": proto.CollectionSpecResponse,
    "put": proto.PutResponse,
    "get": proto.GetResponse,
    "delete": proto.DeleteResponse,
    "find": proto.FindResponse,
    "count": proto.CountResponse,
    "groups": proto.GroupsResponse,
    "write": proto.WriteResponse,
}


def _collections(writes: Sequence[Write]) -> str:
    return ", ".join(dict.fromkeys(repr(write.collection) for write in writes))


def _check_place(collection: Any, id: Any) -> None:  # noqa: A002 -- a document's own word
    check_name(collection, "collection name")
    check_name(id, "document id")


def _check_cursor(cursor: Any) -> None:
    if cursor is None:
        return
    if type(cursor) is not str:
        message = f"cursor must be None or a str, not {type(cursor).__name__}"
        raise InvalidArgument(message)
    check_text(cursor, "cursor")


def _projected(page: Page, fields: Sequence[str] | None) -> Page:
    """The page without what was not asked for, which services of earlier releases return too."""
    names = check_fields(fields)
    if names is None:
        return page
    items = (
        replace(item, data={key: value for key, value in item.data.items() if key in names})
        for item in page.items
    )
    return Page(tuple(items), page.cursor)


def _read(operation: str, read: Callable[[Any], R], message: Any) -> R:
    try:
        return read(message)
    except InvalidArgument as error:
        problem = f"{operation}: the reply cannot be read: {error}"
        raise RPCError("INTERNAL", problem) from error
