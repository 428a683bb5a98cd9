"""The engine's side of NATS: what it serves, to whom, and the broker it may bring itself."""
