from tests.support.hosted_documents import nats_brokers
from tests.support.postgres import postgres_dsn, postgres_server

__all__ = ["nats_brokers", "postgres_dsn", "postgres_server"]
