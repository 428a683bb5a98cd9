"""Turns with agents that modules host."""
