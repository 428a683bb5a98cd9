"""The document service over NATS: decodes a request, asks the port, encodes the answer.

Nothing is decided here but who may ask: a caller reaches the namespaces its token lets it reach,
and only :data:`ADMINS` may list them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, final

from google.protobuf.message import Message

from naas_abi_core.broker.calls import Call, Operation
from naas_abi_core.services.document.port import DocumentPort
from naas_abi_sdk.document import wire
from naas_abi_sdk.document.wire_values import from_data
from naas_abi_sdk.errors import PermissionDenied
from naas_abi_sdk.limits import DEFAULT_PAGE_SIZE
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto

__all__ = ["ADMINS", "document_operations"]

#: Identities that may list namespaces.
ADMINS: Final = frozenset(("api", "engine"))

#: Of what one message of the broker holds, the part that a page's documents may fill. They are
#: weighed as JSON; what protobuf and the rest of the message add stays well below the other parts.
_PAGE_PARTS: Final = 4

Q = TypeVar("Q", bound=Message)
R = TypeVar("R", bound=Message)


def document_operations(documents: DocumentPort) -> list[Operation[Any, Any]]:
    """Every operation of the contract, ``groups`` and ``write``, answered from ``documents``."""
    answers = _Answers(documents)
    return [
        _bound("ensure_collection", proto.EnsureCollectionRequest, proto.EnsureCollectionResponse,
               answers.ensure_collection),
        _bound("drop_collection", proto.DropCollectionRequest, proto.DropCollectionResponse,
               answers.drop_collection),
        _bound("collections", proto.CollectionsRequest, proto.CollectionsResponse,
               answers.collections),
        _bound("collection_spec", proto.CollectionSpecRequest, proto.CollectionSpecResponse,
               answers.collection_spec),
        _bound("put", proto.PutRequest, proto.PutResponse, answers.put),
        _bound("get", proto.GetRequest, proto.GetResponse, answers.get),
        _bound("delete", proto.DeleteRequest, proto.DeleteResponse, answers.delete),
        _bound("find", proto.FindRequest, proto.FindResponse, answers.find),
        _bound("count", proto.CountRequest, proto.CountResponse, answers.count),
        _bound("groups", proto.GroupsRequest, proto.GroupsResponse, answers.groups),
        _bound("write", proto.WriteRequest, proto.WriteResponse, answers.write),
        Operation("namespaces", proto.NamespacesRequest, proto.NamespacesResponse,
                  answers.namespaces),
    ]  # fmt: skip


def _bound(
    name: str, request: type[Q], response: type[R], perform: Callable[[Call[Any]], R]
) -> Operation[Q, R]:
    """An operation on one namespace, which the caller must reach."""

    def checked(call: Call[Any]) -> R:
        call.caller.check_reach(call.request.namespace)
        return perform(call)

    return Operation(name, request, response, checked)


@final
class _Answers:
    def __init__(self, documents: DocumentPort) -> None:
        self._documents = documents

    def ensure_collection(
        self, call: Call[proto.EnsureCollectionRequest]
    ) -> proto.EnsureCollectionResponse:
        self._documents.ensure_collection(call.request.namespace, wire.from_spec(call.request.spec))
        return proto.EnsureCollectionResponse()

    def drop_collection(
        self, call: Call[proto.DropCollectionRequest]
    ) -> proto.DropCollectionResponse:
        self._documents.drop_collection(call.request.namespace, call.request.collection)
        return proto.DropCollectionResponse()

    def collections(self, call: Call[proto.CollectionsRequest]) -> proto.CollectionsResponse:
        found = self._documents.collections(call.request.namespace)
        return proto.CollectionsResponse(collections=found)

    def collection_spec(
        self, call: Call[proto.CollectionSpecRequest]
    ) -> proto.CollectionSpecResponse:
        spec = self._documents.collection_spec(call.request.namespace, call.request.collection)
        return proto.CollectionSpecResponse(spec=wire.to_spec(spec))

    def namespaces(self, call: Call[proto.NamespacesRequest]) -> proto.NamespacesResponse:
        if call.caller.identity not in ADMINS:
            message = "only an engine may list namespaces"
            raise PermissionDenied(message)
        found = self._documents.namespaces()
        reached = call.caller.namespaces
        if reached is not None:
            found = [namespace for namespace in found if namespace in reached]
        return proto.NamespacesResponse(namespaces=found)

    def put(self, call: Call[proto.PutRequest]) -> proto.PutResponse:
        request = call.request
        document = self._documents.put(
            request.namespace,
            request.collection,
            request.id,
            from_data(request.data),
            if_version=request.if_version if request.HasField("if_version") else None,
        )
        return proto.PutResponse(document=wire.to_document(document))

    def get(self, call: Call[proto.GetRequest]) -> proto.GetResponse:
        request = call.request
        document = self._documents.get(request.namespace, request.collection, request.id)
        return proto.GetResponse(document=wire.to_document(document))

    def delete(self, call: Call[proto.DeleteRequest]) -> proto.DeleteResponse:
        request = call.request
        self._documents.delete(
            request.namespace,
            request.collection,
            request.id,
            if_version=request.if_version if request.HasField("if_version") else None,
        )
        return proto.DeleteResponse()

    def find(self, call: Call[proto.FindRequest]) -> proto.FindResponse:
        request = call.request
        budget = call.broker_limit // _PAGE_PARTS
        page = self._documents.find(
            request.namespace,
            request.collection,
            wire.from_predicates(request.where),
            wire.from_order_by(request),
            request.limit if request.HasField("limit") else DEFAULT_PAGE_SIZE,
            request.cursor if request.HasField("cursor") else None,
            fields=wire.from_projection(request),
            # A budget that is none, such as 0, is for the port to refuse.
            max_bytes=min(request.max_bytes, budget) if request.HasField("max_bytes") else budget,
        )
        return wire.to_page(page)

    def count(self, call: Call[proto.CountRequest]) -> proto.CountResponse:
        request = call.request
        where = wire.from_predicates(request.where)
        found = self._documents.count(request.namespace, request.collection, where)
        return proto.CountResponse(count=found)

    def groups(self, call: Call[proto.GroupsRequest]) -> proto.GroupsResponse:
        request = call.request
        page = self._documents.groups(
            request.namespace,
            request.collection,
            request.by,
            wire.from_predicates(request.where),
            request.limit if request.HasField("limit") else DEFAULT_PAGE_SIZE,
            request.cursor if request.HasField("cursor") else None,
        )
        return wire.to_group_page(page)

    def write(self, call: Call[proto.WriteRequest]) -> proto.WriteResponse:
        request = call.request
        outcomes = self._documents.write(request.namespace, wire.from_writes(request.writes))
        return proto.WriteResponse(outcomes=wire.to_outcomes(outcomes))
