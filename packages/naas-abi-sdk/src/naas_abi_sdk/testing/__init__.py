"""Test doubles for users' tests and ours: real behaviour, nothing kept, everything recorded."""

from naas_abi_sdk.testing.memory_documents import MemoryDocuments
from naas_abi_sdk.testing.memory_namespace import MemoryNamespace

__all__ = ["MemoryDocuments", "MemoryNamespace"]
