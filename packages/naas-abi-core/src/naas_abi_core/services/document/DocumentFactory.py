"""The published import path of the factory; new code imports it where it lives."""
# ruff: noqa: N999 -- the published name of the module

from naas_abi_core.services.document.factory import DocumentFactory

__all__ = ["DocumentFactory"]
