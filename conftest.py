"""Options of every test run: tests that cost much are left out unless asked for by name."""

from __future__ import annotations

import pytest
from hypothesis import settings

#: Markers left out of the plain run. `--slow`, `-m NAME` or naming the test itself brings them in.
LEFT_OUT = ("slow", "compat", "pgbouncer")

# A deadline per example measures how busy the machine is, not the code.
settings.register_profile("abi", deadline=None, print_blob=True)
settings.load_profile("abi")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option that brings slow tests in."""
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for."""
    if any("::" in argument for argument in config.args):
        return
    asked = set(config.option.markexpr.split())
    if config.option.slow:
        asked.add("slow")
    left_out = [name for name in LEFT_OUT if name not in asked]
    dropped = [item for item in items if any(item.get_closest_marker(name) for name in left_out)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in set(dropped)]
