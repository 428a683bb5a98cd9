"""The published import path of the document service; new code imports it where it lives."""
# ruff: noqa: N999 -- the published name of the module

from naas_abi_core.services.document.service import DocumentService

__all__ = ["DocumentService"]
