"""Scalar functions copied as text into generated modules: plain Python that numba compiles."""
