"""Compiled time steppers and their tableaux."""
