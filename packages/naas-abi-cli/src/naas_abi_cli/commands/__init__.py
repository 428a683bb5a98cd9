"""One file for each group of commands; `builtin` registers them."""
