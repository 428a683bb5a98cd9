"""The agent of the demonstration."""
