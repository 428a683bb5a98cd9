"""What one ``put`` or ``put_writes`` stores, decided without touching a store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from naas_abi_sdk.document.types import Data, Keep, Put, Require, Write
from naas_abi_sdk.errors import InvalidCheckpointConfig
from naas_abi_sdk.langgraph_documents._langgraph import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    RunnableConfig,
    as_pending_write,
    get_checkpoint_metadata,
    is_snapshot,
)
from naas_abi_sdk.langgraph_documents.addresses import document_id
from naas_abi_sdk.langgraph_documents.configuring import Address
from naas_abi_sdk.langgraph_documents.copying_keys import with_copied_keys
from naas_abi_sdk.langgraph_documents.encoding import Encoder
from naas_abi_sdk.langgraph_documents.memory import Memory
from naas_abi_sdk.langgraph_documents.ordering import order_after
from naas_abi_sdk.langgraph_documents.recall import (
    CheckpointKey,
    KnownCheckpoint,
    KnownValue,
    Recall,
)
from naas_abi_sdk.langgraph_documents.schema import CHECKPOINTS, ORDERS, SCHEMA_VERSION, WRITES

__all__ = ["CheckpointPlan", "next_version", "plan_checkpoint", "plan_writes"]


@dataclass(frozen=True, slots=True)
class CheckpointPlan:
    """The stages of a put and what is known once they are stored.

    ``relied_on`` are the checkpoints whose values the plan does not store again; ``stages`` start
    by requiring them.
    """

    stages: tuple[tuple[Write, ...], ...]
    checkpoint: Put
    known: KnownCheckpoint
    relied_on: tuple[CheckpointKey, ...]
    disordered: bool

    @property
    def values(self) -> Iterator[Data]:
        """The value documents it stores."""
        return (write.data for stage in self.stages for write in stage if isinstance(write, Keep))


def plan_checkpoint(
    memory: Memory,
    at: Address,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
) -> CheckpointPlan:
    """Plan a ``put``: values, then the checkpoint document, in one go."""
    agent_id = memory.agent_id
    parent = _recalled(memory.recall, at, at.checkpoint_ns, at.checkpoint_id)
    known = [parent] if parent else []
    parents: dict[str, str] = metadata.get("parents") or {}
    for checkpoint_ns, checkpoint_id in parents.items():
        if (other := _recalled(memory.recall, at, checkpoint_ns, checkpoint_id)) is not None:
            known.append(other)
    snapshots = _snapshots(memory, at, checkpoint)
    encoder = Encoder(memory, at.thread_id, [*known, *snapshots.values()])
    channels = _channels(encoder, checkpoint, parent, snapshots)
    rest = {key: value for key, value in checkpoint.items() if key != "channel_values"}
    stored_checkpoint, parts = encoder.stored(encoder.typed(rest, "the checkpoint"))
    copied: Any = with_copied_keys(config, memory.copied_keys)
    full_metadata = get_checkpoint_metadata(copied, metadata)
    stored_metadata, more_parts = encoder.stored(encoder.typed(full_metadata, "the metadata"))
    checkpoint_id = checkpoint["id"]
    key = (at.thread_id, at.checkpoint_ns, checkpoint_id)
    put = Put(
        CHECKPOINTS,
        document_id(agent_id, *key),
        {
            **_base(agent_id, at, checkpoint_id),
            "parent_id": at.checkpoint_id,
            "checkpoint": stored_checkpoint,
            "metadata": stored_metadata,
            "channels": {name: value.entry for name, value in channels.items()},
        },
        if_version=0,
    )
    order = order_after(parent.order if parent else at.checkpoint_id, checkpoint_id)
    relied_on = tuple(sorted(item.key for item in encoder.relied_on))
    required = tuple(Require(CHECKPOINTS, document_id(agent_id, *item)) for item in relied_on)
    return CheckpointPlan(
        stages=(required, *encoder.stages, (put,), _order(agent_id, at, checkpoint_id, order)),
        checkpoint=put,
        known=KnownCheckpoint(key, order, channels, parts | more_parts, parent_id=at.checkpoint_id),
        relied_on=relied_on,
        disordered=order != checkpoint_id,
    )


def plan_writes(
    memory: Memory,
    at: Address,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
) -> tuple[tuple[Keep, ...], tuple[Put, ...]]:
    """Plan a ``put_writes``: parts of long values, then the pending writes in call order.

    An ordinary write is stored once, the first time; a special one (error, interrupt, resume,
    scheduled) has a slot of its own beside the ordinary ones and replaces what the slot held.
    """
    if at.checkpoint_id is None:
        message = (
            "put_writes needs config['configurable']['checkpoint_id']: pending writes belong to a "
            "checkpoint. Pass the config that put() or get_tuple() returned."
        )
        raise InvalidCheckpointConfig(message)
    agent_id = memory.agent_id
    encoder = Encoder(memory, at.thread_id)
    puts = []
    for position, (channel, value) in enumerate(writes):
        index = WRITES_IDX_MAP.get(channel, position)
        typed = encoder.typed(
            as_pending_write(channel, value),
            f"the pending write to channel {channel!r} by task {task_id!r}",
        )
        key = (at.thread_id, at.checkpoint_ns, at.checkpoint_id, task_id, index)
        data = {
            **_base(agent_id, at, at.checkpoint_id),
            "task_id": task_id,
            "task_path": task_path,
            "index": index,
            "channel": channel,
            "value": encoder.stored(typed)[0],
        }
        puts.append(
            Put(WRITES, document_id(agent_id, *key), data, if_version=0 if index >= 0 else None)
        )
    return encoder.stages[0], tuple(puts)


def next_version(current: Any) -> Any:
    """The channel version after ``current``, in the same kind; 1 for a new channel.

    Text versions (other savers write ``"<number>.<hash>"``) go on from the number before the
    first dot, padded so that they keep sorting.
    """
    if current is None:
        return 1
    if not isinstance(current, str):
        return current + 1
    number = current.split(".", 1)[0]
    if not re.fullmatch(r"[0-9]+", number):
        message = (
            f"channel version {current!r} does not start with a number, so no greater one can be "
            "made. Give the saver that wrote it, or start a new thread."
        )
        raise InvalidCheckpointConfig(message)
    return f"{int(number) + 1:032}.{0.0:016}"


def _recalled(
    recall: Recall, at: Address, checkpoint_ns: str, checkpoint_id: str | None
) -> KnownCheckpoint | None:
    if checkpoint_id is None:
        return None
    return recall.of((at.thread_id, checkpoint_ns, checkpoint_id))


def _snapshots(memory: Memory, at: Address, checkpoint: Checkpoint) -> dict[str, KnownCheckpoint]:
    """For each delta channel with a snapshot, the checkpoint that has the one before it."""
    if at.checkpoint_id is None:
        return {}
    key = (at.thread_id, at.checkpoint_ns, at.checkpoint_id)
    trail = memory.trails.of(at.thread_id, at.checkpoint_ns)
    found = {
        name: memory.recall.nearest(key, name) or (trail and trail.stored.get(name))
        for name, value in checkpoint["channel_values"].items()
        if is_snapshot(value)
    }
    return {name: known for name, known in found.items() if known}


def _channels(
    encoder: Encoder,
    checkpoint: Checkpoint,
    parent: KnownCheckpoint | None,
    snapshots: Mapping[str, KnownCheckpoint],
) -> dict[str, KnownValue]:
    versions = checkpoint["channel_versions"]
    channels: dict[str, KnownValue] = {}
    for name, value in checkpoint["channel_values"].items():
        version = versions.get(name)
        before = parent.channels.get(name) if parent else None
        if parent and before and version is not None and before.version == version:
            channels[name] = encoder.reuse(parent, name)
        else:
            if name in snapshots:
                before = snapshots[name].channels[name]
            channels[name] = encoder.channel(name, value, version, before)
    return channels


def _base(agent_id: str, at: Address, checkpoint_id: str) -> Data:
    return {
        "agent_id": agent_id,
        "thread_id": at.thread_id,
        "checkpoint_ns": at.checkpoint_ns,
        "_schema": SCHEMA_VERSION,
        "checkpoint_id": checkpoint_id,
    }


def _order(agent_id: str, at: Address, checkpoint_id: str, order: str) -> tuple[Put, ...]:
    if order == checkpoint_id:
        return ()
    data = {**_base(agent_id, at, checkpoint_id), "order": order}
    key = document_id(agent_id, at.thread_id, at.checkpoint_ns, checkpoint_id)
    return (Put(ORDERS, key, data),)
