"""The Python interface: a learning problem, and one call for each question about it."""
