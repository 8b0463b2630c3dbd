"""Calls that nobody should make, generated: each must end in time, in one line, and say why."""
