"""Minima of empirical risks: convex losses of one linear unit with a ridge."""
