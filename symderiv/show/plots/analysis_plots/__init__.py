"""Figures of analyses, one module for each kind of result."""
