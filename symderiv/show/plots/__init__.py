"""Curves, their features and claims, and the figures that are drawn of them."""
