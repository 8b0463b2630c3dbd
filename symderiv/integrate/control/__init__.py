"""Optimal control: numbers of a problem that vary in time, gradients of runs, and searches."""
