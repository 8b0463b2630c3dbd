"""Exponents of a target of a few fields, and the number of examples needed to learn it."""
