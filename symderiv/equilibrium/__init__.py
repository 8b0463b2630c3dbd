"""Equilibrium: extrema of free energies of order parameters, and their transitions."""
