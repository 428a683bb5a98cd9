"""Stores behind the document port."""
