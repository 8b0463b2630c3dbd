"""Closed forms as results: folded, unfolded, tidied, evaluated."""
