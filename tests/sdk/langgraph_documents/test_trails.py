"""What is kept of the way back from a checkpoint is bounded, and is one namespace's own."""

from __future__ import annotations

from datetime import datetime, timezone

from naas_abi_sdk.document.types import Document
from naas_abi_sdk.langgraph_documents.recall import KnownCheckpoint, KnownValue, Recall
from naas_abi_sdk.langgraph_documents.trails import Ancestor, Trail, Trails

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def write(number: int, size: int = 10) -> Document:
    value = {"kind": "k", "payload": b"x" * size}
    return Document(
        f"w-{number}", {"checkpoint_id": str(number), "value": value}, NOW, NOW, version=1
    )


def trail(first: int, last: int, size: int = 10, channels: tuple[str, ...] = ("a",)) -> Trail:
    numbers = range(first, last + 1)
    return Trail(
        frozenset(channels),
        {str(number): Ancestor(str(number - 1), {}) for number in numbers},
        str(first),
        str(last),
        {f"w-{number}": write(number, size) for number in numbers},
        {},
    )


def test_the_least_recently_used_is_dropped_first() -> None:
    one = trail(1, 1).size
    trails = Trails(capacity=3 * one)
    for thread_id in ("t-1", "t-2", "t-3"):
        trails.keep(thread_id, "", trail(1, 1))
    assert trails.of("t-1", "") is not None
    trails.keep("t-4", "", trail(1, 1))
    kept = [number for number in range(1, 5) if trails.of(f"t-{number}", "") is not None]
    assert kept == [1, 3, 4]
    assert trails.size == 3 * one
    trails.keep("t-4", "", trail(1, 2))
    assert trails.size == 3 * one
    trails.keep("t-5", "", trail(1, 1, size=4 * one))
    assert trails.of("t-5", "") is None
    assert trails.size == 0


def test_a_thread_is_dropped_in_all_its_namespaces() -> None:
    trails = Trails()
    for thread_id, checkpoint_ns in (("t-1", ""), ("t-1", "sub"), ("t-2", "")):
        trails.keep(thread_id, checkpoint_ns, trail(1, 1))
    trails.drop_thread("t-1")
    assert trails.of("t-1", "") is trails.of("t-1", "sub") is None
    assert trails.of("t-2", "") is not None
    assert trails.size == trail(1, 1).size


def test_what_a_trail_tells_of() -> None:
    found = trail(3, 6)
    assert [found.covers(first) for first in "23467"] == [False, True, True, True, False]
    assert sorted(found.between("4", "5")) == ["w-4", "w-5"]
    assert found.leads_to("6", frozenset("a"))
    assert found.leads_to("7", frozenset("ab"))
    assert not found.leads_to("5", frozenset("a"))
    assert not found.leads_to("7", frozenset("b"))
    assert Ancestor("1", {"a": {}, "b": {}}).limited("ac") == Ancestor("1", {"a": {}})


def checkpoint(number: int, parent: int | None, *channels: str) -> KnownCheckpoint:
    key = ("t", "", str(number))
    values = {name: KnownValue(1, {}, {}) for name in channels}
    return KnownCheckpoint(key, str(number), values, parent_id=parent and str(parent))


def test_recall_finds_the_nearest_with_a_value() -> None:
    recall = Recall()
    steps = [(1, None, "a"), (2, 1, "a", "b"), (3, 2), (4, 3), (7, 6), (8, 9), (9, 8)]
    for step in steps:
        recall.learn(checkpoint(*step))

    def nearest(number: int, channel: str) -> str | None:
        found = recall.nearest(("t", "", str(number)), channel)
        return found and found.key[2]

    assert nearest(4, "b") == nearest(2, "b") == "2"
    assert nearest(1, "a") == "1"
    assert nearest(4, "absent") is None  # not on the whole way
    assert nearest(7, "a") is None  # its parent is not known
    assert nearest(8, "a") is None  # parents in a circle
