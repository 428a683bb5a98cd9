"""The document service: small, versioned documents in namespaces and collections."""
