"""Solver modules to machine code by LLVM alone, without numba's inference of types."""
