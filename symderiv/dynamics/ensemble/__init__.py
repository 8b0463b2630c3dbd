"""Many runs in one process: studies that share a solver module, integrated side by side."""

from symderiv.dynamics.ensemble.chunks import Chunk, group_points, integrate_chunk

__all__ = ["Chunk", "group_points", "integrate_chunk"]
