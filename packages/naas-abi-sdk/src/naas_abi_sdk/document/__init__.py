"""Documents: the types, the rules and the commands shared by every store and client."""
