"""One step of SGD read off from a statement, and the compiled loop over such steps."""
