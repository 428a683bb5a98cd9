"""The published import path of the port and its types; new code imports them where they live."""
# ruff: noqa: N999 -- the published name of the module

from naas_abi_core.services.document.port import DocumentPort
from naas_abi_sdk.document.types import (
    CollectionSpec,
    Document,
    FieldSpec,
    OrderBy,
    Page,
    Predicate,
)
from naas_abi_sdk.errors import (
    CollectionNotFound,
    DocumentAdapterError,
    DocumentNotFound,
    DocumentStorageError,
    UniqueViolation,
    VersionConflict,
)

__all__ = [
    "CollectionNotFound",
    "CollectionSpec",
    "Document",
    "DocumentAdapterError",
    "DocumentNotFound",
    "DocumentPort",
    "DocumentStorageError",
    "FieldSpec",
    "IDocumentAdapter",
    "OrderBy",
    "Page",
    "Predicate",
    "UniqueViolation",
    "VersionConflict",
]

IDocumentAdapter = DocumentPort
