"""This repository's engine; serves over NATS until its standard input ends."""

from __future__ import annotations

import sys
from pathlib import Path

from naas_abi_core.engine.engine import Engine

CONFIGURATION = """
nats: {{nats_url: "{url}", jwt_secret: "{secret}", own_namespace_only: true}}
services:
  document: {{document_adapter: {{adapter: sqlite, config: {{path: {folder}/ours.sqlite}}}}}}
"""


def main() -> None:
    """Serve."""
    url, secret, folder = sys.argv[1:]
    file = Path(folder) / "config.yaml"
    file.write_text(CONFIGURATION.format(url=url, secret=secret, folder=folder), "utf-8")
    with Engine.from_file(file):
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
