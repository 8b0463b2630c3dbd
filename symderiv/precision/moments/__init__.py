"""The moment form, computed with as many digits as it needs."""
