"""Right-hand sides on vectors, compiled for numbers of units; the mathematics is one folder up."""
