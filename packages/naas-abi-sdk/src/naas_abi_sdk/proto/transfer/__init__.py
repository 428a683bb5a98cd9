"""Messages above the size the broker lets pass."""
