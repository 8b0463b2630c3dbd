"""Compiled functions, and their code on disk, so that they run without their compiler."""
