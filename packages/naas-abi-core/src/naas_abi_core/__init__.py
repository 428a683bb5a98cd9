"""The ABI engine: modules, agents and their memory. Importing this loads none of it."""

from __future__ import annotations
