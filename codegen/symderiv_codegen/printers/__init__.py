"""Printers: indexed programs as numba modules, mpmath modules, and LaTeX."""
