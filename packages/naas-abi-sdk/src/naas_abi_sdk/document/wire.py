"""The types of documents as protobuf messages and back: what clients send and services answer.

``to_x`` makes a message of a value and ``from_x`` a value of a message; :mod:`.wire_values` does
the same for the values inside documents. Both raise
:class:`~naas_abi_sdk.errors.InvalidArgument`: ``to_x`` for what no store accepts, as validation
has it, ``from_x`` for what no ``to_x`` writes. What ``from_x`` returns is not validated: the
service it is handed to does that, as it does for callers in its own process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from naas_abi_sdk.document.types import (
    CollectionSpec,
    Delete,
    Direction,
    Document,
    FieldSpec,
    FieldType,
    Group,
    GroupPage,
    Keep,
    Operator,
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
    check_order_by,
    check_predicates,
    check_spec,
    check_write,
)
from naas_abi_sdk.document.wire_values import (
    fill_data,
    from_data,
    from_value,
    read_datetime,
    to_value,
)
from naas_abi_sdk.errors import InvalidArgument
from naas_abi_sdk.proto.document.v1 import document_pb2 as proto

__all__ = [
    "from_document",
    "from_group_page",
    "from_order_by",
    "from_outcomes",
    "from_page",
    "from_predicates",
    "from_projection",
    "from_spec",
    "from_writes",
    "to_document",
    "to_group_page",
    "to_order_by",
    "to_outcomes",
    "to_page",
    "to_predicates",
    "to_projection",
    "to_spec",
    "to_writes",
]

_STATE_OF: Final = {
    "done": proto.Outcome.DONE,
    "conflict": proto.Outcome.CONFLICT,
    "skipped": proto.Outcome.SKIPPED,
}
_STATE_NAMED: Final = {number: name for name, number in _STATE_OF.items()}


def to_document(document: Document) -> proto.Document:
    """A stored document."""
    message = proto.Document(
        id=document.id,
        created_at=document.created_at.isoformat(),
        updated_at=document.updated_at.isoformat(),
        version=document.version,
    )
    fill_data(message.data, document.data)
    return message


def from_document(message: proto.Document) -> Document:
    """A stored document."""
    return Document(
        message.id,
        from_data(message.data),
        read_datetime(message.created_at),
        read_datetime(message.updated_at),
        message.version,
    )


def to_page(page: Page) -> proto.FindResponse:
    """A page, in the response that carries it."""
    return proto.FindResponse(items=[to_document(item) for item in page.items], cursor=page.cursor)


def from_page(response: proto.FindResponse) -> Page:
    """The page that a response carries."""
    items = tuple(from_document(item) for item in response.items)
    return Page(items, response.cursor if response.HasField("cursor") else None)


def to_group_page(page: GroupPage) -> proto.GroupsResponse:
    """A page of groups, in the response that carries it."""
    groups = [
        proto.Group(
            value=group.value,
            count=group.count,
            first_created_at=group.first_created_at.isoformat(),
            last_created_at=group.last_created_at.isoformat(),
        )
        for group in page.items
    ]
    return proto.GroupsResponse(items=groups, cursor=page.cursor)


def from_group_page(response: proto.GroupsResponse) -> GroupPage:
    """The page of groups that a response carries."""
    groups = tuple(
        Group(
            group.value,
            group.count,
            read_datetime(group.first_created_at),
            read_datetime(group.last_created_at),
        )
        for group in response.items
    )
    return GroupPage(groups, response.cursor if response.HasField("cursor") else None)


def to_spec(spec: CollectionSpec) -> proto.CollectionSpec:
    """A collection's declaration."""
    check_spec(spec)
    return proto.CollectionSpec(
        name=spec.name,
        fields=[
            proto.FieldSpec(
                name=field.name, type=field.type, indexed=field.indexed, unique=field.unique
            )
            for field in spec.fields
        ],
        unique_together=[proto.UniqueGroup(fields=group) for group in spec.unique_together],
    )


def from_spec(message: proto.CollectionSpec) -> CollectionSpec:
    """A collection's declaration."""
    return CollectionSpec(
        message.name,
        tuple(
            FieldSpec(field.name, cast("FieldType", field.type), field.indexed, field.unique)
            for field in message.fields
        ),
        tuple(tuple(group.fields) for group in message.unique_together),
    )


def to_predicates(where: Iterable[Predicate]) -> list[proto.Predicate]:
    """The conditions of a query."""
    return [
        proto.Predicate(
            field=predicate.field, operator=predicate.operator, value=to_value(predicate.value)
        )
        for predicate in check_predicates(where)
    ]


def from_predicates(messages: Iterable[proto.Predicate]) -> tuple[Predicate, ...]:
    """The conditions of a query."""
    return tuple(
        Predicate(message.field, cast("Operator", message.operator), from_value(message.value))
        for message in messages
    )


def to_order_by(order_by: OrderBy | None) -> proto.OrderBy | None:
    """The order of a query; None leaves the request's field absent."""
    check_order_by(order_by)
    if order_by is None:
        return None
    return proto.OrderBy(field=order_by.field, direction=order_by.direction)


def from_order_by(request: proto.FindRequest) -> OrderBy | None:
    """The order a request asks for."""
    if not request.HasField("order_by"):
        return None
    return OrderBy(request.order_by.field, cast("Direction", request.order_by.direction))


def to_projection(fields: Sequence[str] | None) -> proto.Projection | None:
    """The fields a query returns; None, for all, leaves the request's field absent."""
    names = check_fields(fields)
    return None if names is None else proto.Projection(fields=sorted(names))


def from_projection(request: proto.FindRequest) -> tuple[str, ...] | None:
    """The fields a request asks for, None for all."""
    return tuple(request.projection.fields) if request.HasField("projection") else None


def to_writes(writes: Iterable[Write]) -> list[proto.Write]:
    """The writes of a batch."""
    return [_to_write(write) for write in writes]


def from_writes(messages: Iterable[proto.Write]) -> list[Write]:
    """The writes of a batch."""
    return [_from_write(message) for message in messages]


def to_outcomes(outcomes: Iterable[Outcome]) -> list[proto.Outcome]:
    """How the writes of a batch ended."""
    return [
        proto.Outcome(
            state=_STATE_OF[outcome.state], version=outcome.version, reason=outcome.reason
        )
        for outcome in outcomes
    ]


def from_outcomes(messages: Iterable[proto.Outcome]) -> list[Outcome]:
    """How the writes of a batch ended."""
    return [_from_outcome(message) for message in messages]


def _to_write(write: Write) -> proto.Write:
    check_write(write)
    message = proto.Write()
    target = _part_for(message, write)
    target.collection = write.collection
    target.id = write.id
    if isinstance(write, (Put, Keep)):
        fill_data(target.data, write.data)
    if not isinstance(write, Keep) and write.if_version is not None:
        target.if_version = write.if_version
    return message


def _part_for(message: proto.Write, write: Write) -> Any:
    if isinstance(write, Keep):
        return message.keep
    if isinstance(write, Put):
        return message.put
    return message.delete if isinstance(write, Delete) else message.require


def _from_write(message: proto.Write) -> Write:
    kind = message.WhichOneof("kind")
    if kind == "keep":
        return Keep(message.keep.collection, message.keep.id, from_data(message.keep.data))
    if kind == "put":
        put = message.put
        return Put(put.collection, put.id, from_data(put.data), _if_version(put))
    if kind == "delete":
        delete = message.delete
        return Delete(delete.collection, delete.id, _if_version(delete))
    if kind == "require":
        require = message.require
        return Require(require.collection, require.id, _if_version(require))
    problem = "a write of the batch is of no kind known here"
    raise InvalidArgument(problem)


def _from_outcome(message: proto.Outcome) -> Outcome:
    state = _STATE_NAMED.get(message.state)
    if state is None:
        problem = f"an outcome has the unknown state {message.state}"
        raise InvalidArgument(problem)
    version = message.version if message.HasField("version") else None
    return Outcome(cast("Any", state), version, message.reason)


def _if_version(message: proto.Put | proto.Delete | proto.Require) -> int | None:
    return message.if_version if message.HasField("if_version") else None
