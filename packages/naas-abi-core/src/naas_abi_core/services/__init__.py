"""The engine's services."""
