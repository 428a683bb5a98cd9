from tests.support.projects import project

__all__ = ["project"]
