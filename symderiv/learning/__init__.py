"""A learning rule as data, its equations derived from its statement, the derivation in words."""
