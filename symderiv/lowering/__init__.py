"""Equations to an indexed program."""
