# Generated from the .proto file beside it by `make generate`; edit that file.
from naas_abi_sdk.proto.common.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import Any as _Any, ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Value(_message.Message):
    __slots__ = ("null_value", "string_value", "int_value", "float_value", "bool_value", "bytes_value", "datetime_value", "list_value", "object_value", "nested_value")
    NULL_VALUE_FIELD_NUMBER: _ClassVar[int]
    STRING_VALUE_FIELD_NUMBER: _ClassVar[int]
    INT_VALUE_FIELD_NUMBER: _ClassVar[int]
    FLOAT_VALUE_FIELD_NUMBER: _ClassVar[int]
    BOOL_VALUE_FIELD_NUMBER: _ClassVar[int]
    BYTES_VALUE_FIELD_NUMBER: _ClassVar[int]
    DATETIME_VALUE_FIELD_NUMBER: _ClassVar[int]
    LIST_VALUE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_VALUE_FIELD_NUMBER: _ClassVar[int]
    NESTED_VALUE_FIELD_NUMBER: _ClassVar[int]
    null_value: bool
    string_value: str
    int_value: int
    float_value: float
    bool_value: bool
    bytes_value: bytes
    datetime_value: str
    list_value: Values
    object_value: Data
    nested_value: str
    def __init__(self, null_value: bool = ..., string_value: _Optional[str] = ..., int_value: _Optional[int] = ..., float_value: _Optional[float] = ..., bool_value: bool = ..., bytes_value: _Optional[bytes] = ..., datetime_value: _Optional[str] = ..., list_value: _Optional[_Union[Values, _Mapping[_Any, _Any]]] = ..., object_value: _Optional[_Union[Data, _Mapping[_Any, _Any]]] = ..., nested_value: _Optional[str] = ...) -> None: ...

class Values(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Value]
    def __init__(self, items: _Optional[_Iterable[_Union[Value, _Mapping[_Any, _Any]]]] = ...) -> None: ...

class Data(_message.Message):
    __slots__ = ("fields",)
    class FieldsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping[_Any, _Any]]] = ...) -> None: ...
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.MessageMap[str, Value]
    def __init__(self, fields: _Optional[_Mapping[str, Value]] = ...) -> None: ...

class FieldSpec(_message.Message):
    __slots__ = ("name", "type", "indexed", "unique")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    indexed: bool
    unique: bool
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., indexed: bool = ..., unique: bool = ...) -> None: ...

class UniqueGroup(_message.Message):
    __slots__ = ("fields",)
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, fields: _Optional[_Iterable[str]] = ...) -> None: ...

class CollectionSpec(_message.Message):
    __slots__ = ("name", "fields", "unique_together")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    UNIQUE_TOGETHER_FIELD_NUMBER: _ClassVar[int]
    name: str
    fields: _containers.RepeatedCompositeFieldContainer[FieldSpec]
    unique_together: _containers.RepeatedCompositeFieldContainer[UniqueGroup]
    def __init__(self, name: _Optional[str] = ..., fields: _Optional[_Iterable[_Union[FieldSpec, _Mapping[_Any, _Any]]]] = ..., unique_together: _Optional[_Iterable[_Union[UniqueGroup, _Mapping[_Any, _Any]]]] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("id", "data", "created_at", "updated_at", "version")
    ID_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    id: str
    data: Data
    created_at: str
    updated_at: str
    version: int
    def __init__(self, id: _Optional[str] = ..., data: _Optional[_Union[Data, _Mapping[_Any, _Any]]] = ..., created_at: _Optional[str] = ..., updated_at: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class Predicate(_message.Message):
    __slots__ = ("field", "operator", "value")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    field: str
    operator: str
    value: Value
    def __init__(self, field: _Optional[str] = ..., operator: _Optional[str] = ..., value: _Optional[_Union[Value, _Mapping[_Any, _Any]]] = ...) -> None: ...

class OrderBy(_message.Message):
    __slots__ = ("field", "direction")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    field: str
    direction: str
    def __init__(self, field: _Optional[str] = ..., direction: _Optional[str] = ...) -> None: ...

class EnsureCollectionRequest(_message.Message):
    __slots__ = ("context", "namespace", "spec")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    spec: CollectionSpec
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., spec: _Optional[_Union[CollectionSpec, _Mapping[_Any, _Any]]] = ...) -> None: ...

class EnsureCollectionResponse(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ...) -> None: ...

class DropCollectionRequest(_message.Message):
    __slots__ = ("context", "namespace", "collection")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    collection: str
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., collection: _Optional[str] = ...) -> None: ...

class DropCollectionResponse(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ...) -> None: ...

class CollectionsRequest(_message.Message):
    __slots__ = ("context", "namespace")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ...) -> None: ...

class CollectionsResponse(_message.Message):
    __slots__ = ("error", "collections")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COLLECTIONS_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    collections: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., collections: _Optional[_Iterable[str]] = ...) -> None: ...

class CollectionSpecRequest(_message.Message):
    __slots__ = ("context", "namespace", "collection")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    collection: str
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., collection: _Optional[str] = ...) -> None: ...

class CollectionSpecResponse(_message.Message):
    __slots__ = ("error", "spec")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    spec: CollectionSpec
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., spec: _Optional[_Union[CollectionSpec, _Mapping[_Any, _Any]]] = ...) -> None: ...

class NamespacesRequest(_message.Message):
    __slots__ = ("context",)
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ...) -> None: ...

class NamespacesResponse(_message.Message):
    __slots__ = ("error", "namespaces")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

class PutRequest(_message.Message):
    __slots__ = ("context", "namespace", "collection", "id", "data", "if_version")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    IF_VERSION_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    collection: str
    id: str
    data: Data
    if_version: int
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., collection: _Optional[str] = ..., id: _Optional[str] = ..., data: _Optional[_Union[Data, _Mapping[_Any, _Any]]] = ..., if_version: _Optional[int] = ...) -> None: ...

class PutResponse(_message.Message):
    __slots__ = ("error", "document")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    document: Document
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., document: _Optional[_Union[Document, _Mapping[_Any, _Any]]] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("context", "namespace", "collection", "id")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    collection: str
    id: str
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., collection: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("error", "document")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    document: Document
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., document: _Optional[_Union[Document, _Mapping[_Any, _Any]]] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("context", "namespace", "collection", "id", "if_version")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    IF_VERSION_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    collection: str
    id: str
    if_version: int
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., collection: _Optional[str] = ..., id: _Optional[str] = ..., if_version: _Optional[int] = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ...) -> None: ...

class FindRequest(_message.Message):
    __slots__ = ("context", "namespace", "collection", "where", "order_by", "limit", "cursor", "max_bytes", "projection")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROJECTION_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    collection: str
    where: _containers.RepeatedCompositeFieldContainer[Predicate]
    order_by: OrderBy
    limit: int
    cursor: str
    max_bytes: int
    projection: Projection
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., collection: _Optional[str] = ..., where: _Optional[_Iterable[_Union[Predicate, _Mapping[_Any, _Any]]]] = ..., order_by: _Optional[_Union[OrderBy, _Mapping[_Any, _Any]]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ..., max_bytes: _Optional[int] = ..., projection: _Optional[_Union[Projection, _Mapping[_Any, _Any]]] = ...) -> None: ...

class Projection(_message.Message):
    __slots__ = ("fields",)
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, fields: _Optional[_Iterable[str]] = ...) -> None: ...

class FindResponse(_message.Message):
    __slots__ = ("error", "items", "cursor")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    items: _containers.RepeatedCompositeFieldContainer[Document]
    cursor: str
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., items: _Optional[_Iterable[_Union[Document, _Mapping[_Any, _Any]]]] = ..., cursor: _Optional[str] = ...) -> None: ...

class CountRequest(_message.Message):
    __slots__ = ("context", "namespace", "collection", "where")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    collection: str
    where: _containers.RepeatedCompositeFieldContainer[Predicate]
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., collection: _Optional[str] = ..., where: _Optional[_Iterable[_Union[Predicate, _Mapping[_Any, _Any]]]] = ...) -> None: ...

class CountResponse(_message.Message):
    __slots__ = ("error", "count")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    count: int
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., count: _Optional[int] = ...) -> None: ...

class GroupsRequest(_message.Message):
    __slots__ = ("context", "namespace", "collection", "by", "where", "limit", "cursor")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    collection: str
    by: str
    where: _containers.RepeatedCompositeFieldContainer[Predicate]
    limit: int
    cursor: str
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., collection: _Optional[str] = ..., by: _Optional[str] = ..., where: _Optional[_Iterable[_Union[Predicate, _Mapping[_Any, _Any]]]] = ..., limit: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("value", "count", "first_created_at", "last_created_at")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    value: str
    count: int
    first_created_at: str
    last_created_at: str
    def __init__(self, value: _Optional[str] = ..., count: _Optional[int] = ..., first_created_at: _Optional[str] = ..., last_created_at: _Optional[str] = ...) -> None: ...

class GroupsResponse(_message.Message):
    __slots__ = ("error", "items", "cursor")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    items: _containers.RepeatedCompositeFieldContainer[Group]
    cursor: str
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., items: _Optional[_Iterable[_Union[Group, _Mapping[_Any, _Any]]]] = ..., cursor: _Optional[str] = ...) -> None: ...

class WriteRequest(_message.Message):
    __slots__ = ("context", "namespace", "writes")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    namespace: str
    writes: _containers.RepeatedCompositeFieldContainer[Write]
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., namespace: _Optional[str] = ..., writes: _Optional[_Iterable[_Union[Write, _Mapping[_Any, _Any]]]] = ...) -> None: ...

class Write(_message.Message):
    __slots__ = ("put", "keep", "delete", "require")
    PUT_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_FIELD_NUMBER: _ClassVar[int]
    put: Put
    keep: Keep
    delete: Delete
    require: Require
    def __init__(self, put: _Optional[_Union[Put, _Mapping[_Any, _Any]]] = ..., keep: _Optional[_Union[Keep, _Mapping[_Any, _Any]]] = ..., delete: _Optional[_Union[Delete, _Mapping[_Any, _Any]]] = ..., require: _Optional[_Union[Require, _Mapping[_Any, _Any]]] = ...) -> None: ...

class Put(_message.Message):
    __slots__ = ("collection", "id", "data", "if_version")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    IF_VERSION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    id: str
    data: Data
    if_version: int
    def __init__(self, collection: _Optional[str] = ..., id: _Optional[str] = ..., data: _Optional[_Union[Data, _Mapping[_Any, _Any]]] = ..., if_version: _Optional[int] = ...) -> None: ...

class Keep(_message.Message):
    __slots__ = ("collection", "id", "data")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    collection: str
    id: str
    data: Data
    def __init__(self, collection: _Optional[str] = ..., id: _Optional[str] = ..., data: _Optional[_Union[Data, _Mapping[_Any, _Any]]] = ...) -> None: ...

class Delete(_message.Message):
    __slots__ = ("collection", "id", "if_version")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    IF_VERSION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    id: str
    if_version: int
    def __init__(self, collection: _Optional[str] = ..., id: _Optional[str] = ..., if_version: _Optional[int] = ...) -> None: ...

class Require(_message.Message):
    __slots__ = ("collection", "id", "if_version")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    IF_VERSION_FIELD_NUMBER: _ClassVar[int]
    collection: str
    id: str
    if_version: int
    def __init__(self, collection: _Optional[str] = ..., id: _Optional[str] = ..., if_version: _Optional[int] = ...) -> None: ...

class WriteResponse(_message.Message):
    __slots__ = ("error", "outcomes")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping[_Any, _Any]]]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("state", "version", "reason")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[Outcome.State]
        DONE: _ClassVar[Outcome.State]
        CONFLICT: _ClassVar[Outcome.State]
        SKIPPED: _ClassVar[Outcome.State]
    STATE_UNSPECIFIED: Outcome.State
    DONE: Outcome.State
    CONFLICT: Outcome.State
    SKIPPED: Outcome.State
    STATE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    state: Outcome.State
    version: int
    reason: str
    def __init__(self, state: _Optional[_Union[Outcome.State, str]] = ..., version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...
