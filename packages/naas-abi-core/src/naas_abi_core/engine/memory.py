"""Decides which saver an engine binds for its agents, and says why.

| condition                                            | result                    |
|------------------------------------------------------|---------------------------|
| ``POSTGRES_URL`` is set                              | none: agents use that     |
| the document service is loaded                       | the document saver        |
| it was declared and naas-abi-sdk is not installed    | none, with a warning      |
| no module declares it                                | none                      |
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from naas_abi_core.engine.configuration import EngineConfiguration
from naas_abi_core.engine.context import AgentMemory
from naas_abi_core.engine.services import EngineServices
from naas_abi_core.errors import MemoryNotDurableWarning

__all__ = ["decide_agent_memory"]


def decide_agent_memory(
    services: EngineServices, configuration: EngineConfiguration, environment: Mapping[str, str]
) -> AgentMemory:
    """What the engine binds; declares the saver's collections if it binds one.

    Raises:
        naas_abi_sdk.errors.DocumentError: the store refuses the saver's collections.
    """
    if environment.get("POSTGRES_URL"):
        return AgentMemory(reason="POSTGRES_URL is set, so agents keep their memory there")
    root = services.document_root
    if root is not None:
        from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver

        adapter = configuration.services.document.document_adapter.adapter
        return AgentMemory(
            DocumentCheckpointSaver.for_engine(
                root,
                allowed_types=configuration.agent_memory.allowed_types,
                copied_keys=configuration.agent_memory.copied_keys,
            ),
            f"the engine loaded the document service (adapter {adapter!r})",
        )
    missing = services.unavailable.get("document")
    if missing is not None:
        warnings.warn(
            f"The engine binds no agent memory: {missing}", MemoryNotDurableWarning, stacklevel=3
        )
        return AgentMemory(reason=missing, unused=(missing,))
    reason = "no loaded module declares the document service"
    if not configuration.names_document_store:
        return AgentMemory(reason=reason)
    mend = "add DocumentService to the services of a module's ModuleDependencies"
    return AgentMemory(
        reason=reason, unused=(f"services.document is configured, but {reason}: {mend}",)
    )
