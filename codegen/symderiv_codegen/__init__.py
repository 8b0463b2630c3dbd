"""Indexed programs and their printers."""
