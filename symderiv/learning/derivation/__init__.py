"""Derivation of the equations from the update of one example, as SymPy expressions without
words.
"""
