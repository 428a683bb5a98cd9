from tests.support.hosted_documents import nats_brokers

__all__ = ["nats_brokers"]
