"""The Python interface: a learning problem and what can be asked of it."""
