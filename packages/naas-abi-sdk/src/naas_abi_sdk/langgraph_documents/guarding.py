"""What must hold where something is stored, required in the transaction that stores it.

A run that carries a lease stores only as long as it holds it. And whoever goes on from a
checkpoint requires it to be stored: if it is not, the thread may have been deleted, and a late
writer must not bring it back. That costs a usual put no round trip; only where the checkpoint is
missing the tombstone is looked at, before storing and again after it. A deletion that began in
between is then either seen here, or sees what was stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, final

from naas_abi_sdk.document.commands import Operation, apply
from naas_abi_sdk.document.types import Delete, Outcome, Put, Require, Write
from naas_abi_sdk.errors import ThreadDeleted
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.configuring import Address
from naas_abi_sdk.langgraph_documents.deleting import delete_called_from
from naas_abi_sdk.langgraph_documents.leasing import RunLease, lease_of, recover
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.recall import CheckpointKey
from naas_abi_sdk.langgraph_documents.schema import CHECKPOINTS, LEASES
from naas_abi_sdk.langgraph_documents.storing import store
from naas_abi_sdk.langgraph_documents.tombstones import bury, is_buried

__all__ = ["Guard"]


@final
class Guard:
    """Stores for one call of a saver.

    Args:
        memory: Scope.
        config: The call's config; it may carry a lease.
        at: Where it points.
        within: Checkpoints around ``at`` by namespace, for one that has no parent of its own: the
            first of a subgraph.
        storing: Id of the checkpoint that is being stored, if it is one.
        known: Whether what it goes on from is known to be stored. LangGraph stores the pending
            writes of a checkpoint beside the checkpoint itself, so that one may still be on its
            way: then it is not required, and only a tombstone is looked for.
    """

    def __init__(
        self,
        memory: Memory,
        config: Mapping[str, Any],
        at: Address,
        *,
        within: Mapping[str, str] | None = None,
        storing: str | None = None,
        known: bool = True,
    ) -> None:
        self._memory = memory
        self._thread_id = at.thread_id
        self._lease: RunLease | None = lease_of(memory, config, at.thread_id)
        self._from = _gone_on_from(at, within or {})
        self._is_missing = not known
        self._storing = storing

    def store(self, stages: Sequence[Sequence[Write]]) -> Operation[list[Outcome]]:
        """Write the stages in order, in one go; one outcome a write.

        Raises:
            RunLeaseConflict: the lease the run carries is no longer held.
            ThreadDeleted: what the run goes on from was deleted with its thread.
        """
        if self._is_missing:
            yield from self._refuse_if_deleted()
        while True:
            required = self._required(stages)
            outcomes = yield from store([required, *stages])
            answers = zip(required, outcomes, strict=False)
            refused = [item for item, outcome in answers if outcome.state == "conflict"]
            if not refused:
                break
            if self._lease is not None and refused[0].collection == LEASES:
                yield from recover(self._lease)
            else:
                yield from self._refuse_if_deleted()
                self._is_missing = True
        outcomes = outcomes[len(required) :]
        if self._is_missing:
            yield from self._refuse_if_deleted(_undone(stages, outcomes))
        return outcomes

    def _required(self, stages: Sequence[Sequence[Write]]) -> list[Require]:
        required = [] if self._lease is None else [self._lease.requirement]
        if self._from is not None and not self._is_missing:
            checkpoint = Require(CHECKPOINTS, document_id(self._memory.agent_id, *self._from))
            if checkpoint not in stages[0]:
                required.append(checkpoint)
        return required

    def _refuse_if_deleted(self, undo: Sequence[Write] = ()) -> Operation[None]:
        assert self._from is not None, "only a checkpoint that is required can be missing"
        if not (yield from is_buried(self._memory, self._thread_id, self._from[2])):
            return
        yield from apply(undo)
        if self._storing is not None:
            # The run may store its next checkpoint all the same, as a child of this one, and what
            # it called from this one may have stored already.
            yield from bury(self._memory, self._thread_id, [self._storing])
            yield from delete_called_from(self._memory, self._thread_id, self._storing)
        message = (
            f"thread {self._thread_id!r} was deleted, and with it checkpoint {self._from[2]!r} "
            "that this run goes on from. Nothing was stored. End the run; a new run on the same "
            "thread id starts a new conversation."
        )
        raise ThreadDeleted(message)


def _gone_on_from(at: Address, within: Mapping[str, str]) -> CheckpointKey | None:
    if at.checkpoint_id is not None:
        return at.thread_id, at.checkpoint_ns, at.checkpoint_id
    for checkpoint_ns, checkpoint_id in within.items():
        return at.thread_id, checkpoint_ns, checkpoint_id
    return None


def _undone(stages: Sequence[Sequence[Write]], outcomes: Sequence[Outcome]) -> list[Write]:
    """Takes back what was stored but values, which others may have too; last stored, first gone."""
    written = zip(chain.from_iterable(stages), outcomes, strict=True)
    done = [item for item, outcome in written if outcome.state == "done"]
    return [Delete(item.collection, item.id) for item in reversed(done) if isinstance(item, Put)]
