"""Compiled functions, and what is kept of them on disk so that they run without their compiler."""
