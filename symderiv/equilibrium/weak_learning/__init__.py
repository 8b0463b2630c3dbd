"""Exponents of a target of a few fields, and the examples that suffice to find them."""
