"""Import paths of the published packages lead to the same objects, and to nothing of their own."""

from __future__ import annotations

import importlib

import pytest

from naas_abi_core.services.document import factory, port, service
from naas_abi_sdk import errors
from naas_abi_sdk.document import types

PATHS = {
    "DocumentPort": {
        "DocumentPort": port.DocumentPort,
        "IDocumentAdapter": port.DocumentPort,
        **{
            name: getattr(types, name)
            for name in ("CollectionSpec", "Document", "FieldSpec", "OrderBy", "Page", "Predicate")
        },
        **{
            name: getattr(errors, name)
            for name in (
                "CollectionNotFound",
                "DocumentAdapterError",
                "DocumentNotFound",
                "DocumentStorageError",
                "UniqueViolation",
                "VersionConflict",
            )
        },
    },
    "DocumentService": {"DocumentService": service.DocumentService},
    "DocumentFactory": {"DocumentFactory": factory.DocumentFactory},
}


@pytest.mark.parametrize("module", sorted(PATHS))
def test_a_published_path_is_a_re_export(module):
    published = importlib.import_module(f"naas_abi_core.services.document.{module}")
    names = {name: getattr(published, name) for name in published.__all__}
    assert names == PATHS[module]
