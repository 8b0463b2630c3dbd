"""Equilibrium: extrema of free energies of order parameters, and where they change."""
