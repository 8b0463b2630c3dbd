"""Many runs in one process: studies that share a solver module are integrated side by side."""

from symderiv.integrate.ensemble.chunk import Chunk
from symderiv.integrate.ensemble.chunks import (
    EndedRuns,
    group_points,
    integrate_chunk,
    through_lanes,
)

__all__ = ["Chunk", "EndedRuns", "group_points", "integrate_chunk", "through_lanes"]
