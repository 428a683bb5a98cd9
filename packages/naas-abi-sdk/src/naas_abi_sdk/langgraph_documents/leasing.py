"""Run leases: the right to write to a thread, for as long as nobody else has it.

A lease is asked for; without one, turns that run at once on a thread become branches. Whoever
stores under a lease *requires* the lease document at the version it has, in the transaction that
stores. Taking a lease over changes the version, so a holder that lost it cannot store any more,
whatever its clock says. Clocks only decide when a lease that nobody renews may be taken over.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, final

from naas_abi_sdk.document.commands import Get, Operation, apply
from naas_abi_sdk.document.types import Data, Delete, Document, Put, Require
from naas_abi_sdk.errors import InvalidCheckpointConfig, RunLeaseConflict
from naas_abi_sdk.langgraph_documents._langgraph import RunnableConfig
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.configuring import configurable, thread_text
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.reading import read_together
from naas_abi_sdk.langgraph_documents.schema import LEASES, SCHEMA_VERSION
from naas_abi_sdk.langgraph_documents.storing import store

__all__ = ["LEASE_KEY", "RunLease", "acquire", "lease_of", "recover", "release", "renew"]

#: Key of a config's ``configurable`` under which a run carries its lease. LangGraph hands it on to
#: every step and subgraph, and leaves names with two underscores out of metadata.
LEASE_KEY: Final = "__abi_run_lease"


@final
class RunLease:
    """A lease that is held; ``config`` is what to run the turn with.

    Attributes:
        thread_id: The thread it fences, in all its namespaces.
        holder: Who holds it, for the message others get.
        ttl: Seconds after which others may take it over if it is not renewed.
    """

    def __init__(
        self, agent_id: str, thread_id: str, *, token: str, holder: str, ttl: float, version: int
    ) -> None:
        self.thread_id = thread_id
        self.holder = holder
        self.ttl = ttl
        self._agent_id = agent_id
        self._token = token
        self._version = version

    @property
    def config(self) -> RunnableConfig:
        """A config that names the thread and carries the lease."""
        return {"configurable": {"thread_id": self.thread_id, LEASE_KEY: self}}

    @property
    def id(self) -> str:
        """Id of the lease document."""
        return document_id(self._agent_id, self.thread_id, "run")

    @property
    def requirement(self) -> Require:
        """What holds as long as the lease is held."""
        return Require(LEASES, self.id, self._version)

    def put(self, now: datetime) -> Put:
        """The lease document from ``now`` on, in place of the version it is at."""
        data: Data = {
            "agent_id": self._agent_id,
            "thread_id": self.thread_id,
            "_schema": SCHEMA_VERSION,
            "kind": "run",
            "token": self._token,
            "holder": self.holder,
            "expires_at": now + timedelta(seconds=self.ttl),
        }
        return Put(LEASES, self.id, data, self._version)

    def is_of(self, stored: Document) -> bool:
        """Whether a lease document is this lease's."""
        return bool(stored.data["token"] == self._token)

    def moved_to(self, version: int | None) -> None:
        """The lease document is at ``version`` now."""
        assert version is not None, "a stored document has a version"
        self._version = version


def lease_of(memory: Memory, config: Mapping[str, Any], thread_id: str) -> RunLease | None:
    """The lease that ``config`` carries for a thread; one of another thread fences nothing here."""
    lease = configurable(config).get(LEASE_KEY)
    if lease is None:
        return None
    if not isinstance(lease, RunLease):
        message = (
            f"config['configurable']['{LEASE_KEY}'] must be the lease that run_lease gave, got "
            f"{type(lease).__name__}. Run the turn with lease.config."
        )
        raise InvalidCheckpointConfig(message)
    return lease if lease.id == document_id(memory.agent_id, thread_id, "run") else None


def acquire(
    memory: Memory, thread_id: object, *, token: str, holder: str, now: datetime, ttl: float
) -> Operation[RunLease]:
    """Take a thread's lease.

    Args:
        memory: Scope.
        thread_id: The thread.
        token: Text that no other lease has.
        holder: Who asks, for the message others get.
        now: The time, aware.
        ttl: Seconds until others may take it over.

    Raises:
        InvalidCheckpointConfig: ``ttl`` is not above 0.
        RunLeaseConflict: another run holds it, and its time is not over.
    """
    thread = thread_text(thread_id)
    if not ttl > 0:
        message = f"ttl must be a number of seconds above 0, got {ttl!r}"
        raise InvalidCheckpointConfig(message)
    while True:
        lease = RunLease(memory.agent_id, thread, token=token, holder=holder, ttl=ttl, version=0)
        held = yield from _held(lease)
        if held is not None:
            lease.moved_to(held.version)
            if lease.is_of(held):  # an answer was lost, and the command was sent again
                return lease
            if held.data["expires_at"] > now:
                raise RunLeaseConflict(_taken(thread, held))
        (outcome,) = yield from store([[lease.put(now)]])
        if outcome.state == "done":
            lease.moved_to(outcome.version)
            return lease


def renew(lease: RunLease, now: datetime) -> Operation[None]:
    """Hold a lease for another ``ttl`` from ``now`` on.

    Raises:
        RunLeaseConflict: it is no longer held.
    """
    while True:
        put = lease.put(now)
        (outcome,) = yield from store([[put]])
        if outcome.state == "done":
            lease.moved_to(outcome.version)
            return
        held = yield from recover(lease)
        if held.data == put.data:  # an answer was lost, and the command was sent again
            return


def release(lease: RunLease) -> Operation[None]:
    """Let others have the thread; a lease that is no longer held is let go of already."""
    while True:
        held = yield from _held(lease)
        if held is None or not lease.is_of(held):
            return
        (outcome,) = yield from apply([Delete(LEASES, lease.id, held.version)])
        if outcome.state == "done":
            return


def recover(lease: RunLease) -> Operation[Document]:
    """Find the version a lease is at after it was not at the one it had: renewed, or lost.

    Raises:
        RunLeaseConflict: it is no longer held.
    """
    held = yield from _held(lease)
    if held is not None and lease.is_of(held):
        lease.moved_to(held.version)
        return held
    if held is None:
        message = (
            f"the run lease that {lease.holder!r} had of thread {lease.thread_id!r} is over: "
            "released, or deleted with the thread. Nothing was stored; take a new lease."
        )
        raise RunLeaseConflict(message)
    message = f"{lease.holder!r} lost its run lease and stored nothing: "
    raise RunLeaseConflict(message + _taken(lease.thread_id, held))


def _held(lease: RunLease) -> Operation[Document | None]:
    (held,) = yield from read_together([Get(LEASES, lease.id)])
    return held if isinstance(held, Document) else None


def _taken(thread_id: str, held: Document) -> str:
    until = held.data["expires_at"].isoformat(timespec="seconds")
    return (
        f"thread {thread_id!r} is held by {held.data['holder']!r} until {until}, or longer if it "
        "renews its lease. Wait for it to end, or run without a lease to start a branch."
    )
