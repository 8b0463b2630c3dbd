"""Solver modules made, and compared with averaged increments of the statement before use."""
