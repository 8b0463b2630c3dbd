"""Solver modules that are found or made, checkpoints and result files."""
