"""Sweeps on disk: the store of results, its manifest, its seals and its lock."""
