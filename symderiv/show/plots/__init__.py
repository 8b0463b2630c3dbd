"""Curves, their features, claims about them, and figures."""
