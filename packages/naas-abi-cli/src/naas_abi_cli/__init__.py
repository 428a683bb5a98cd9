"""The abi command."""
