"""Write the rules of quadrature that come with the package; ``make kernels`` does it.

They are those of named activations, in all ordered pairs, and of equal ones also at the tolerances
of runs and of their Jacobians, with the errors that the search found. A rule's key contains the
text of its means, so for another text the search is repeated.
"""

from __future__ import annotations

from itertools import product

from symderiv.foundation.derivation_cache import Call, imports_digest, noted_calls, ship
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means import quadrature_error
from symderiv.lowering.means.approximation import quadrature
from symderiv.lowering.means.quadrature_means import DifferentiableQuadrature

QUADRATURE = ("softplus", "silu", "mish")
OTHERS = ("erf", "relu", "gelu", "tanh")
PAIRS = tuple(
    pair for pair in product((*QUADRATURE, *OTHERS), repeat=2) if set(pair) & set(QUADRATURE)
)
"""Pairs of student and teacher, at least one of which has no closed means."""
SMOOTH_SLOPES = (*QUADRATURE, "softsign", "elu")
"""Activations for both student and teacher, for runs and Jacobians; searches with kinks take a
minute.
"""
EQUAL = (*SMOOTH_SLOPES, "selu")
"""Activations for runs alone: Jacobians need derivatives of slopes, which jump for SELU."""
OF_RUNS = 1e-10
"""The tolerance that runs with the default relative tolerance ask for."""


def asked_for() -> list[Call]:
    """Return the calls made for all pairs: the function and its arguments."""
    with noted_calls() as calls:
        for student, teacher in PAIRS:
            quadrature(learning_problem(student, teacher), None, False)
        for name in EQUAL:
            quadrature(learning_problem(name, name), OF_RUNS, True)
        for name in SMOOTH_SLOPES:
            quadrature(learning_problem(name, name), OF_RUNS, True, DifferentiableQuadrature)
    return [call for call in calls if call[0] is quadrature_error.chosen_rule]


if __name__ == "__main__":
    ship(
        quadrature_error.CHOSEN_RULES,
        imports_digest(quadrature_error.__name__),
        *asked_for(),
    )
