"""Solver modules, made and then compared with averaged increments of the statement."""
