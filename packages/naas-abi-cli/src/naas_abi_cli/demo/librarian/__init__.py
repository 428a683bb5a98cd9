"""The module of the demonstration. It declares the document service, so its agent remembers."""

from __future__ import annotations

from naas_abi_core.engine.modules import BaseModule, ModuleDependencies

__all__ = ["ABIModule"]


class ABIModule(BaseModule):
    """A library with one agent."""

    dependencies = ModuleDependencies(services=["document"])
