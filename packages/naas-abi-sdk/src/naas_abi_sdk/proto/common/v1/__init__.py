"""What every service shares: the context of a call and its error."""
