"""Writes the rules of quadrature that come with the package; ``make kernels`` does it.

They are those of activations that have names, in all ordered pairs, and of equal ones at the
tolerance of runs and of their Jacobians, with the errors that the search found. What a rule is
taken for carries the text of its means, so another text is searched anew.
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
"""Students and teachers, one of which has no closed means."""
SMOOTH_SLOPES = (*QUADRATURE, "softsign", "elu")
"""Activations of students and teachers alike, for runs and Jacobians; searches with kinks take a
minute.
"""
EQUAL = (*SMOOTH_SLOPES, "selu")
"""The same for runs alone: Jacobians need means of derivatives of slopes, which jump for SELU."""
OF_RUNS = 1e-10
"""The tolerance that runs with the default relative tolerance ask for."""


def asked_for() -> list[Call]:
    """Return the choices of all pairs: the function, and what it is called with."""
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
