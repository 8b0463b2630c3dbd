"""Writes the equations that come with the package; ``make kernels`` does it."""

from __future__ import annotations

from symderiv.foundation.derivation_cache import ship, sources_digest
from symderiv.learning.derivation.learning_equations import (
    EQUATION_ROOMS,
    PLAIN_EQUATIONS,
    equations_of_any,
)
from symderiv.learning.rule.learning_rule import PLAIN

if __name__ == "__main__":
    ship(PLAIN_EQUATIONS, equations_of_any, sources_digest(*EQUATION_ROOMS), PLAIN)
