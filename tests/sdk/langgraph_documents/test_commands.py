"""What each operation asks of a store, as a record: a change here is a change of cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from naas_abi_sdk.document.commands import Apply, Command, Declare, Find, Get, Together
from naas_abi_sdk.errors import ThreadDeleted
from naas_abi_sdk.langgraph_documents import CHECKPOINTS
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import Codec, checkpoint_id, config, make_checkpoint

MESSAGES = [f"message {number} " + "m" * 60 for number in range(120)]


def short(collection: str) -> str:
    return collection.removeprefix("langgraph_").removesuffix("_v2")


def told(command: Command) -> str:
    """A command in a line."""
    match command:
        case Apply(stages):
            return "apply " + " | ".join(
                ", ".join(
                    f"{kind} {count} {name}"
                    for (kind, name), count in Counter(
                        (type(write).__name__.lower(), short(write.collection)) for write in stage
                    ).items()
                )
                for stage in stages
            )
        case Together(reads):
            return "together " + ", ".join(told(read) for read in reads)
        case Get(collection, _):
            return f"get {short(collection)}"
        case Find():
            by = command.where[-1]
            size = f" of {len(by.value)}" if by.operator == "in" else ""
            order = (
                f" {command.order_by.direction} limit {command.limit}" if command.order_by else ""
            )
            fields = "" if command.fields is None else f" only ({', '.join(command.fields)})"
            return f"find {short(command.collection)} by {by.field}{size}{order}{fields}"
        case Declare(specs):
            return f"declare {len(specs)}"
        case _:
            raise AssertionError(command)


def first_put(codec: Codec) -> None:
    codec.put(config(), make_checkpoint(1, {"messages": MESSAGES[:40], "note": "n"}))


def appended(codec: Codec) -> None:
    codec.put(
        config(number=9),
        make_checkpoint(10, {"messages": MESSAGES[:71], "note": "n"}, {"messages": 10, "note": 9}),
    )


def unchanged(codec: Codec) -> None:
    codec.put(
        config(number=9),
        make_checkpoint(10, {"messages": MESSAGES[:70], "note": "n"}, {"messages": 9, "note": 9}),
    )


def long_value(codec: Codec) -> None:
    codec.put(config(number=9), make_checkpoint(10, {"long": "x" * 600_000}))


def parent_forgotten(codec: Codec) -> None:
    codec.recall.forget_thread("t-1")
    appended(codec)


def parent_deleted(codec: Codec) -> None:
    Codec(codec.documents).delete_thread("t-1")
    with pytest.raises(ThreadDeleted):
        appended(codec)


def parent_pruned(codec: Codec) -> None:
    codec.documents.delete(CHECKPOINTS, document_id("engine.v1", "t-1", "", checkpoint_id(9)))
    appended(codec)


def writes(codec: Codec) -> None:
    codec.put_writes(
        config(number=9), [("messages", "x"), ("long", "x" * 300_000), ("__interrupt__", 1)]
    )


def restarted(codec: Codec) -> None:
    codec.memory = Codec(codec.documents).memory


def latest(codec: Codec) -> None:
    restarted(codec)
    codec.get_tuple(config())


def latest_again(codec: Codec) -> None:
    codec.get_tuple(config())


def latest_after_another_added_to_it(codec: Codec) -> None:
    appended(Codec(codec.documents))
    codec.get_tuple(config())


def by_id(codec: Codec) -> None:
    restarted(codec)
    codec.get_tuple(config(number=9))


def listed(codec: Codec) -> None:
    assert len(list(codec.history(config()))) == 9


def filtered(codec: Codec) -> None:
    assert len(list(codec.history(config(), filter={"step": 0}, limit=2))) == 2


def deleted(codec: Codec) -> None:
    codec.delete_thread("t-1")


APPEND = (
    "apply require 1 checkpoints | keep 1 items | keep 1 items | keep 1 blobs | put 1 checkpoints"
)
FROM_SCRATCH = (
    "apply require 1 checkpoints | keep 71 items | keep 3 items | keep 1 blobs | put 1 checkpoints"
)
NOTED = ["together get tombstones", "apply put 1 tombstones"]
HEAD = "together find checkpoints by {0} desc limit 1, find orders by {0} desc limit 1".format(
    "checkpoint_ns"
)
FIRST_LEVEL = "together find writes by checkpoint_id, find blobs by ref of 1"
FIRST_LEVEL_BY_ID = (
    "together find writes by checkpoint_id, find orders by checkpoint_id only (order), "
    "find blobs by ref of 1"
)
PAGE_OF_9 = (
    "together find writes by checkpoint_id of 9, find blobs by ref of 7, find blobs by ref of 2"
)
PAGE = "together find checkpoints by checkpoint_ns desc limit 20"

COMMANDS: dict[Callable[[Codec], None], list[str]] = {
    appended: [APPEND],
    unchanged: ["apply require 1 checkpoints | put 1 checkpoints"],
    long_value: ["apply require 1 checkpoints | keep 3 parts | keep 1 blobs | put 1 checkpoints"],
    parent_forgotten: [FROM_SCRATCH],
    parent_deleted: [
        APPEND,
        FROM_SCRATCH,
        "together get tombstones",
        *NOTED,
        "together find checkpoints by thread_id only (checkpoint_ns, checkpoint_id, metadata)",
    ],
    parent_pruned: [
        APPEND,
        FROM_SCRATCH,
        "together get tombstones",
        FROM_SCRATCH.replace("require 1 checkpoints | ", ""),
        "together get tombstones",
    ],
    writes: ["apply require 1 checkpoints | keep 2 parts | put 3 writes"],
    latest: [
        HEAD,
        FIRST_LEVEL,
        "together find items by ref of 3",
        "together find items by ref of 70",
    ],
    latest_again: [HEAD, "together find writes by checkpoint_id"],
    latest_after_another_added_to_it: [
        HEAD,
        FIRST_LEVEL,
        "together find items by ref of 1",
        "together find items by ref of 1",
    ],
    by_id: [
        "together get checkpoints",
        FIRST_LEVEL_BY_ID,
        "together find items by ref of 3",
        "together find items by ref of 70",
    ],
    listed: [
        PAGE,
        PAGE_OF_9,
        "together find items by ref of 10",
        "together find items by ref of 70",
    ],
    filtered: [
        PAGE,
        "together find writes by checkpoint_id of 2, find blobs by ref of 2",
        "together find items by ref of 4",
        "together find items by ref of 70",
    ],
    deleted: [
        "together find leases by thread_id only ()",
        "together find orders by thread_id only ()",
        "together find checkpoints by thread_id only (checkpoint_id)",
        *NOTED,
        "apply delete 9 checkpoints",
        "together find writes by thread_id only ()",
        "apply delete 1 writes",
        "together find blobs by thread_id only ()",
        "together find checkpoints by thread_id only ()",
        "apply delete 9 blobs",
        "together find items by thread_id only ()",
        "together find checkpoints by thread_id only ()",
        "apply delete 80 items",
        "together find parts by thread_id only ()",
        "together find checkpoints by thread_id only ()",
    ],
}


@pytest.mark.parametrize("operation", COMMANDS, ids=lambda operation: operation.__name__)
def test_commands(operation: Callable[[Codec], None]) -> None:
    documents = MemoryDocuments().for_namespace("n")
    codec = Codec(documents)
    for number in range(1, 10):
        values = {"messages": MESSAGES[: 61 + number], "note": "n"}
        codec.put(config(number=number - 1 or None), make_checkpoint(number, values))
    codec.put_writes(config(number=9), [("a", 1)])
    commands: list[str] = []
    perform = codec.perform
    codec.perform = lambda command: (commands.append(told(command)), perform(command))[1]
    operation(codec)
    assert commands == COMMANDS[operation]


def test_an_empty_store_is_declared_by_the_first_write() -> None:
    codec = Codec(MemoryDocuments().for_namespace("n"))
    commands: list[str] = []
    perform = codec.perform
    codec.perform = lambda command: (commands.append(told(command)), perform(command))[1]
    first_put(codec)
    put = "apply keep 40 items | keep 2 items | keep 1 blobs | put 1 checkpoints"
    assert commands == [put, "declare 8", put]
    codec.put(config(number=1), make_checkpoint(2, {"n": 1}))
    assert commands[3:] == ["apply require 1 checkpoints | put 1 checkpoints"]
