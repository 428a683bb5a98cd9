"""PostgreSQL, for what is measured on it."""

from tests.support.postgres import postgres_server

__all__ = ["postgres_server"]
