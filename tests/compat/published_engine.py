"""The published engine; serves over NATS until its standard input ends.

Of its other services it opens those that need no server and no further package; the rest it would
get over NATS, and nobody asks for them.
"""

from __future__ import annotations

import os
import sys

from naas_abi_core.engine.Engine import Engine

CONFIGURATION = """
workspace_id: exchange
api: {{title: exchange, description: exchange}}
global_config: {{ai_mode: local, skip_ontology_loading: true}}
modules: []
nats: {{nats_url: "{url}", jwt_secret: "{secret}"}}
services:
  secret: {{secret_adapters: [{{adapter: dotenv, config: {{path: .env}}}}]}}
  document: {{document_adapter: {{adapter: sqlite, config: {{path: {folder}/published.sqlite}}}}}}
  triple_store:
    triple_store_adapter: {{adapter: oxigraph_embedded, config: {{store_path: {folder}/triples}}}}
  cache: {{adapters: [{{adapter: fs, tier: hot, config: {{base_path: {folder}/cache}}}}]}}
  vector_store: {{vector_store_adapter: {elsewhere}}}
  kv: {{kv_adapter: {elsewhere}}}
  dataset: {{dataset_adapter: {elsewhere}}}
  email: {{email_adapter: {elsewhere}}}
  coding_environment: {{coding_environment_adapter: {elsewhere}}}
  source_control: {{source_control_adapter: {elsewhere}}}
  event: {{event_adapter: {elsewhere}}}
  object_storage: {{object_storage_adapter: {elsewhere}}}
"""

ELSEWHERE = (
    '{{adapter: nats_rpc, config: {{nats_url: "{url}", jwt_secret: "{secret}", '
    "service_identity: engine}}}}"
)


def main() -> None:
    """Serve."""
    url, secret, folder = sys.argv[1:]
    os.chdir(folder)
    with open(".env", "w", encoding="utf-8"):  # noqa: PTH123 -- one line is enough
        pass
    elsewhere = ELSEWHERE.format(url=url, secret=secret)
    text = CONFIGURATION.format(url=url, secret=secret, folder=folder, elsewhere=elsewhere)
    engine = Engine(text)
    engine.load()
    print("ready", flush=True)
    sys.stdin.read()
    engine.shutdown()


if __name__ == "__main__":
    main()
