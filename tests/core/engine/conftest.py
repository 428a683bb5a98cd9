from tests.support.postgres import postgres_dsn, postgres_server
from tests.support.projects import project

__all__ = ["postgres_dsn", "postgres_server", "project"]
