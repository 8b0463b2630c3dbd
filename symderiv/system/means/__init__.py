"""Averages of an arbitrary statement, taken apart until ``lowering/means`` has their means."""
