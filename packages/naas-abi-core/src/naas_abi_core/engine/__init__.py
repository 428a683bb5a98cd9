"""The engine: its configuration, modules, services, and the order in which they come and go."""

from __future__ import annotations
