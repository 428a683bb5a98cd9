"""What stores that speak SQL share: how collections become tables, and queries statements."""
