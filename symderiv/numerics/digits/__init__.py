"""Texts of functions for mpmath, pasted into modules with any number of digits."""
