"""Solver modules found or made, checkpoints and result files."""
