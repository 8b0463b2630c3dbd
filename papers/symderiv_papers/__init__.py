"""Papers, checked equation by equation: a package per paper, found by entry point."""
