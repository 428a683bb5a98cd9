"""Who holds a thread's lease stores; who lost it does not, whatever its clock says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from naas_abi_sdk.document.commands import Apply
from naas_abi_sdk.document.performing import perform
from naas_abi_sdk.errors import InvalidCheckpointConfig, RunLeaseConflict
from naas_abi_sdk.langgraph_documents import CHECKPOINTS, LEASES, WRITES
from naas_abi_sdk.langgraph_documents.leasing import (
    LEASE_KEY,
    RunLease,
    acquire,
    release,
    renew,
)
from naas_abi_sdk.testing import MemoryDocuments
from tests.support.checkpoints import Codec, all_documents, config, make_checkpoint
from tests.support.steps import Step, schedules

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


@pytest.fixture
def documents() -> Any:
    return MemoryDocuments().for_namespace("n")


@pytest.fixture
def codec(documents: Any) -> Codec:
    codec = Codec(documents)
    codec.put(config(), make_checkpoint(1, {"n": 1}))
    return codec


def taking(codec: Codec, holder: str, seconds: float = 0, thread_id: Any = "t-1") -> Any:
    return acquire(
        codec.memory,
        thread_id,
        token=holder,
        holder=holder,
        now=NOON + timedelta(seconds=seconds),
        ttl=60,
    )


def take(codec: Codec, holder: str, seconds: float = 0, thread_id: Any = "t-1") -> RunLease:
    lease: RunLease = codec.run(taking(codec, holder, seconds, thread_id))
    return lease


def under(lease: Any, number: int | None = None, thread_id: str = "t-1") -> Any:
    at = config(thread_id, number)
    at["configurable"][LEASE_KEY] = lease
    return at


def put(codec: Codec, lease: Any) -> None:
    codec.put(under(lease, 1), make_checkpoint(2, {"n": 2}))


def put_first(codec: Codec, lease: Any) -> None:
    codec.put(under(lease), make_checkpoint(3, {"n": 3}))


def put_writes(codec: Codec, lease: Any) -> None:
    codec.put_writes(under(lease, 1), [("a", 1)])


CALLS = [put, put_first, put_writes]


def test_a_lease_is_held_by_one(codec: Codec) -> None:
    first = take(codec, "first")
    assert first.config == {"configurable": {"thread_id": "t-1", LEASE_KEY: first}}
    with pytest.raises(
        RunLeaseConflict, match=r"'t-1' is held by 'first' until 2026-01-01T12:01:0"
    ):
        take(codec, "second", 59)
    take(codec, "elsewhere", thread_id="t-2")
    codec.run(release(first))
    take(codec, "second", 59)
    codec.run(release(first))  # nothing of its own is left to let go of
    with pytest.raises(RunLeaseConflict, match="held by 'second'"):
        take(codec, "third", 60)


@pytest.mark.parametrize("call", CALLS)
def test_who_lost_its_lease_stores_nothing(
    documents: Any, codec: Codec, call: Callable[[Codec, Any], None]
) -> None:
    first = take(codec, "first")
    second = take(Codec(documents), "second", 60)
    before = all_documents(documents)
    with pytest.raises(RunLeaseConflict, match=r"'first' lost its run lease .* held by 'second'"):
        call(codec, first)
    with pytest.raises(RunLeaseConflict, match="'first' lost its run lease"):
        codec.run(renew(first, NOON + timedelta(seconds=61)))
    assert all_documents(documents) == before
    call(codec, second)
    codec.run(release(second))
    with pytest.raises(RunLeaseConflict, match="'second' had of thread 't-1' is over: released"):
        put_writes(codec, second)


@pytest.mark.parametrize("call", CALLS)
def test_a_lease_that_nobody_took_over_is_good_however_late_it_is(
    codec: Codec, call: Callable[[Codec, Any], None]
) -> None:
    lease = take(codec, "first")
    call(codec, lease)
    codec.run(renew(lease, NOON + timedelta(days=1)))
    call(codec, lease)
    with pytest.raises(RunLeaseConflict, match="held by 'first' until 2026-01-02T12:01:00"):
        take(codec, "second", 24 * 3600 + 59)


def test_a_renewal_in_the_middle_of_a_put_does_not_refuse_it(documents: Any, codec: Codec) -> None:
    lease = take(codec, "first")
    other = take(Codec(documents), "first")  # the same, as another thread of the process has it
    codec.run(renew(other, NOON))
    put(codec, lease)
    codec.run(renew(lease, NOON))
    codec.run(renew(other, NOON + timedelta(seconds=1)))
    codec.run(release(lease))
    assert not any(key[0] == LEASES for key in all_documents(documents))


def test_an_answer_that_was_lost_is_not_a_conflict_with_oneself(
    documents: Any, codec: Codec
) -> None:
    def twice(command: Any) -> Any:
        """Done, but the answer was lost: the performer sends it again."""
        if isinstance(command, Apply):
            perform(documents, command)
        return perform(documents, command)

    unlucky = Codec(documents, perform_with=twice)
    lease = take(unlucky, "first")
    unlucky.run(renew(lease, NOON))
    put(codec, lease)
    unlucky.run(release(lease))


def test_of_two_who_ask_at_once_one_has_it() -> None:
    for seconds in (0, 61):  # nobody has it, or it has expired
        for schedule in schedules(4, 4):
            documents = MemoryDocuments().for_namespace("n")
            codec = Codec(documents)
            take(codec, "before", -61 if seconds == 0 else 0)
            steps = [Step(documents, taking(Codec(documents), name, seconds)) for name in "ab"]
            for second in schedule:
                steps[second].move()
            for step in steps:
                step.finish()
            assert [type(step.refused) for step in steps].count(RunLeaseConflict) == 1


def test_a_release_in_the_middle_of_a_renewal_by_oneself(documents: Any, codec: Codec) -> None:
    lease = take(codec, "first")
    releasing = Step(documents, release(lease))
    releasing.move()
    codec.run(renew(lease, NOON))
    releasing.finish()
    assert not any(key[0] == LEASES for key in all_documents(documents))


def test_a_lease_fences_its_own_thread_only(documents: Any, codec: Codec) -> None:
    lease = take(codec, "first")
    take(codec, "second", 60)
    codec.put(under(lease, thread_id="t-2"), make_checkpoint(1, {"n": 1}))
    assert codec.get_tuple(config("t-2")) is not None
    for wrong in ("first", True):
        with pytest.raises(InvalidCheckpointConfig, match="must be the lease that run_lease gave"):
            put(codec, wrong)


@pytest.mark.parametrize("ttl", [0, -1, float("nan")])
def test_a_lease_lasts_some_time(codec: Codec, ttl: float) -> None:
    asked = acquire(codec.memory, "t-1", token="t", holder="h", now=NOON, ttl=ttl)
    with pytest.raises(InvalidCheckpointConfig, match="ttl must be a number of seconds above 0"):
        codec.run(asked)


def test_deleting_a_thread_ends_its_lease(documents: Any, codec: Codec) -> None:
    lease = take(codec, "first")
    Codec(documents).delete_thread("t-1")
    for call in CALLS:
        with pytest.raises(RunLeaseConflict, match="or deleted with the thread"):
            call(codec, lease)
    assert not {key[0] for key in all_documents(documents)} & {CHECKPOINTS, WRITES, LEASES}
