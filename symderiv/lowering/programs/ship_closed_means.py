"""Write the closed means that come with the package; ``make kernels`` does it.

They are those in the equations of named activations, in all ordered pairs, with the results of the
tests of their domains.
"""

from __future__ import annotations

from itertools import product

from symderiv.foundation.derivation_cache import (
    Call,
    derived_from_nothing,
    imports_digest,
    noted_calls,
    ship,
)
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means import closed_means, regularity
from symderiv.lowering.means.approximation import DEFAULT_TOLERANCE, mixtures
from symderiv.lowering.programs.program import solver_program

STUDENTS = ("erf", "relu", "gelu", "tanh")
TEACHERS = (*STUDENTS, "linear", "sign")


def asked_for() -> list[Call]:
    """Return the calls made for all pairs: the function and its arguments."""
    with derived_from_nothing(), noted_calls() as calls:
        for pair in product(STUDENTS, TEACHERS):
            problem = learning_problem(*pair)
            tables = mixtures(problem, DEFAULT_TOLERANCE)
            solver_program(derive_equations(problem), "pair", tables)
    asked = closed_means.closed_mean, regularity.agrees, regularity.has_edge
    return [call for call in calls if call[0] in asked]


if __name__ == "__main__":
    ship(closed_means.CLOSED_MEANS, imports_digest(closed_means.__name__), *asked_for())
