"""Worschech and Rosenow 2024."""
