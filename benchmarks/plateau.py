"""The plateau command: cost against the number of units, and agreement with the full Jacobian.

python -m benchmarks.plateau
"""

from __future__ import annotations

import json
import time
from typing import Any

import sympy as sp
from flint import arb

from symderiv.analysis.plateau.closed_plateau import PlateauForms
from symderiv.analysis.plateau.plateau_forms import plateau_forms
from symderiv.analysis.plateau.stability import plateau_numbers
from symderiv.analysis.plateau.teacher import HomogeneousTeacher, teacher_of_moments
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.precision.balls.working import working_bits

TEACHERS = ((2, "1", "0"), (3, "13/10", "1/5"), (5, "7/10", "-1/10"))
BITS = 300


def _teacher(M: int, T: str, D: str) -> HomogeneousTeacher:
    return teacher_of_moments(M, *(sp.Rational(x) for x in (T, D, T, D)))


def evaluation_seconds(forms: PlateauForms, M: int) -> float:
    """CPU time of 40 certified digits for M units, forms given."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        plateau_numbers(forms, _teacher(M, "1", "0"), sp.Integer(1), 200)
        best = min(best, time.process_time() - start)
    return best


def _gradient_pull(Q: Any, R: Any, T: Any) -> Any:
    """E[g'(x) g'(y)] for erf from its definition as a Gaussian integral of two exponentials."""
    determinant = (1 + Q) * (1 + T) - R * R
    return 2 / arb.pi() / determinant.sqrt()


def escape_digits(forms: PlateauForms) -> float:
    """Least number of digits to which the escape rate is that of a directional difference.

    The specialising direction leaves Q alone, so only B_in = -v v E[g'(x_i) g'(y_n)] changes; its
    difference quotient in 300 bits is compared with the closed form.
    """
    worst = float("inf")
    for M, T, D in TEACHERS:
        with working_bits(BITS):
            numbers = plateau_numbers(forms, _teacher(M, T, D), sp.Integer(1), BITS)
            variance, off = (arb(int(x.p)) / int(x.q) for x in map(sp.Rational, (T, D)))
            step = arb(2) ** -90
            ends = [
                -_gradient_pull(numbers.Q, numbers.R + sign * step, variance) / M
                for sign in (1, -1)
            ]
            rate = -(ends[0] - ends[1]) / (2 * step) * (variance - off / (M - 1))
            error = abs((rate / numbers.unstable_eigenvalue - 1).mid())
            worst = min(worst, -float(error.log() / arb(10).log()))
    return worst


def rows() -> list[tuple[str, str, str, bool]]:
    """What, measured, must be, met: the lines of the project's table."""
    forms = plateau_forms(derive_equations(learning_problem("erf")))
    assert forms.closed is not None
    small, large = (evaluation_seconds(forms, M) for M in (3, 1000))
    digits = escape_digits(forms)
    return [
        (
            "plateau, 40 digits certified, M = 1000 against M = 3",
            f"{large / small:.2f}x ({1e3 * large:.0f} ms)",
            "<= 1.5x",
            large <= 1.5 * small,
        ),
        (
            "escape rate, closed form against differences, 3 teachers",
            f"{digits:.0f} digits",
            ">= 25 digits",
            digits >= 25,
        ),
    ]


if __name__ == "__main__":
    print(json.dumps(rows(), indent=1, ensure_ascii=False))
