"""Sections 3 and 5.1 and appendices A, C.1, C.2: equations 1 to 4, 13, 18 to 22, 89 to 99."""

from __future__ import annotations

from symderiv.papers.claim import Claim
from symderiv.papers.library.worschech_rosenow import (
    setup_definitions,
    setup_dynamics,
    setup_erf,
    setup_plateau,
    setup_simulated,
    setup_teachers,
)

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    *setup_definitions.CLAIMS,
    *setup_dynamics.CLAIMS,
    *setup_simulated.CLAIMS,
    *setup_erf.CLAIMS,
    *setup_teachers.CLAIMS,
    *setup_plateau.CLAIMS,
)
