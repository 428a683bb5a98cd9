"""Offers the document stores that ship with the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from naas_abi_core.plugins.specs import hookimpl

if TYPE_CHECKING:
    from naas_abi_core.services.document.port import DocumentPort

__all__ = ["abi_document_adapter"]


@hookimpl
def abi_document_adapter(name: str, config: Mapping[str, Any]) -> Callable[[], DocumentPort] | None:
    """The adapters of ``services.document.factory``, under the names it knows."""
    from naas_abi_core.services.document import factory

    if name not in factory.ADAPTER_NAMES:
        return None
    return partial(factory.create_adapter, name, dict(config))
