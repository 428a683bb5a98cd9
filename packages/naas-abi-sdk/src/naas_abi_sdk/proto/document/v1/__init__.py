"""The document service."""
