"""Numbers with proved error bounds, and computations with as many digits as they need."""
