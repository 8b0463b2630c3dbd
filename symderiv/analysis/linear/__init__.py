"""Exact error curves of linear networks."""
