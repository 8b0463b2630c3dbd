"""Hidden manifolds at which the paper's equations are tried."""

from __future__ import annotations

from symderiv_papers.references.manifold_points import CENTRED, UNCENTRED, manifold_points

__all__ = [
    "ALIKE",
    "ALIKE_UNCENTRED",
    "ALL",
    "MODES",
    "SIGN_TOO",
    "UNCENTRED_MODES",
]

#: E f = 0, as the paper assumes from the equations of motion on.
MODES = manifold_points()
#: E f ≠ 0.
UNCENTRED_MODES = manifold_points(UNCENTRED)
#: Teachers whose overlaps are the same in all modes.
ALIKE = manifold_points(alike=True)
ALIKE_UNCENTRED = manifold_points(UNCENTRED, alike=True)
#: Both kinds of functions; the second set also with jumps.
ALL = manifold_points((*UNCENTRED, *CENTRED))
SIGN_TOO = manifold_points((*UNCENTRED, "sign"))
