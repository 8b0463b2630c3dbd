"""Solver modules for eight runs at a time, generated; ``runtime.py`` is written by hand."""
