"""Nodes and weights of Gauss-Legendre rules as balls that FLINT proves to contain them."""

from __future__ import annotations

from functools import lru_cache

from flint import arb, ctx


@lru_cache(maxsize=256)
def legendre_balls(points: int, bits: int) -> tuple[tuple[arb, arb], ...]:
    """Return pairs of a node in [-1, 1] and its weight, computed with this many bits."""
    with ctx.workprec(bits):
        return tuple(arb.legendre_p_root(points, k, weight=True) for k in range(points))
