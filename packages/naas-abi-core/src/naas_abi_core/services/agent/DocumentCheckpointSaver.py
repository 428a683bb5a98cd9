"""The published import path of the saver; new code imports it from ``memory.saver``."""  # noqa: N999 -- the published name

from __future__ import annotations

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver

__all__ = ["DocumentCheckpointSaver"]
