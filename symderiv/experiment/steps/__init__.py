"""One step of SGD derived from a statement, and the compiled loop over such steps."""
