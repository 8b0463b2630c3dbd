"""Averages of an arbitrary statement, decomposed into means that ``lowering/means`` computes."""
