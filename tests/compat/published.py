"""The published packages' side; runs in the environment that holds them."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from exchange import main

from naas_abi_core.services.agent.DocumentCheckpointSaver import DocumentCheckpointSaver
from naas_abi_core.services.document.DocumentFactory import DocumentFactory


def published() -> tuple[Any, Any]:
    """A saver over the published SQLite adapter, in a file of its own."""
    folder = tempfile.mkdtemp(dir=os.environ["EXCHANGE_FOLDER"])
    documents = DocumentFactory.DocumentServiceSQLite(
        f"{folder}/published.sqlite", "naas_abi_core.services.agent"
    )
    saver = DocumentCheckpointSaver(documents, agent_id="engine.v1")
    saver.setup()
    return saver, documents


if __name__ == "__main__":
    main(published)
