# Generated from the .proto file beside it by `make generate`; edit that file.
from naas_abi_sdk.proto.common.v1 import common_pb2 as _common_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import Any as _Any, ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FindRequest(_message.Message):
    __slots__ = ("context", "agent")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    agent: str
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., agent: _Optional[str] = ...) -> None: ...

class FindResponse(_message.Message):
    __slots__ = ("error", "module_id", "agent", "description", "instance", "token")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MODULE_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.CallError
    module_id: str
    agent: str
    description: str
    instance: str
    token: str
    def __init__(self, error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., module_id: _Optional[str] = ..., agent: _Optional[str] = ..., description: _Optional[str] = ..., instance: _Optional[str] = ..., token: _Optional[str] = ...) -> None: ...

class TurnRequest(_message.Message):
    __slots__ = ("context", "agent", "thread_id", "text", "answer")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    context: _common_pb2.CallContext
    agent: str
    thread_id: str
    text: str
    answer: str
    def __init__(self, context: _Optional[_Union[_common_pb2.CallContext, _Mapping[_Any, _Any]]] = ..., agent: _Optional[str] = ..., thread_id: _Optional[str] = ..., text: _Optional[str] = ..., answer: _Optional[str] = ...) -> None: ...

class TurnEvent(_message.Message):
    __slots__ = ("sequence", "piece", "tool_call", "tool_result", "question", "alive", "error", "end")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    ALIVE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    piece: Piece
    tool_call: ToolCall
    tool_result: ToolResult
    question: Question
    alive: Alive
    error: _common_pb2.CallError
    end: End
    def __init__(self, sequence: _Optional[int] = ..., piece: _Optional[_Union[Piece, _Mapping[_Any, _Any]]] = ..., tool_call: _Optional[_Union[ToolCall, _Mapping[_Any, _Any]]] = ..., tool_result: _Optional[_Union[ToolResult, _Mapping[_Any, _Any]]] = ..., question: _Optional[_Union[Question, _Mapping[_Any, _Any]]] = ..., alive: _Optional[_Union[Alive, _Mapping[_Any, _Any]]] = ..., error: _Optional[_Union[_common_pb2.CallError, _Mapping[_Any, _Any]]] = ..., end: _Optional[_Union[End, _Mapping[_Any, _Any]]] = ...) -> None: ...

class Piece(_message.Message):
    __slots__ = ("message_id", "text")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    text: str
    def __init__(self, message_id: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments: _Optional[str] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("id", "name", "text", "failed")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    text: str
    failed: bool
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., text: _Optional[str] = ..., failed: bool = ...) -> None: ...

class Question(_message.Message):
    __slots__ = ("id", "text")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Alive(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class End(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
