"""Many runs in one process: studies that share a solver module, integrated side by side."""

from symderiv.integrate.ensemble.chunk import Chunk
from symderiv.integrate.ensemble.chunks import group_points, integrate_chunk

__all__ = ["Chunk", "group_points", "integrate_chunk"]
