"""This repository's side; runs in the environment the tests run in."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from exchange import main

from naas_abi_core.services.agent.memory.saver import DocumentCheckpointSaver
from naas_abi_core.services.document.factory import create_adapter
from naas_abi_core.services.document.service import DocumentService


def ours() -> tuple[Any, Any]:
    """A saver over our SQLite adapter, in a file of its own."""
    folder = tempfile.mkdtemp(dir=os.environ["EXCHANGE_FOLDER"])
    adapter = create_adapter("sqlite", {"path": f"{folder}/ours.sqlite"})
    documents = DocumentService(adapter, "naas_abi_core.services.agent")
    saver = DocumentCheckpointSaver(documents, agent_id="engine.v1")
    saver.setup()
    return saver, documents


if __name__ == "__main__":
    main(ours)
