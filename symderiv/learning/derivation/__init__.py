"""Derivation of the equations from the update of one example: SymPy, no words."""
