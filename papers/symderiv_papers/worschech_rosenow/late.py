"""Equations 16, 118 to 120: the flow linearised at perfect learning and its eigen-systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import mpmath

from symderiv_papers.references.homogeneous import Committee
from symderiv_papers.worschech_rosenow.escape_modes import (
    eigenpairs,
    kron,
    null_vectors,
    nullity,
)
from symderiv_papers.worschech_rosenow.escape_points import (
    TYPICAL,
    Series,
    UnitSeries,
    cases,
)
from symderiv_papers.worschech_rosenow.late_modes import (
    LateModes,
    blocks,
    forced,
    late_matrices,
    late_modes,
    linearised_late,
)

__all__ = [
    "EQUAL_MOMENTS",
    "equal_moments",
    "late_values",
    "two_units",
    "typical",
]

#: Teachers with T^(l) = ν_l, as typical ones have, and the terms of second order in η.
EQUAL_MOMENTS: Final = tuple(
    replace(
        committee,
        diagonal=(Fraction(1),) * committee.modes,
        learning_rate=Fraction(1, 2 + committee.units),
        full=True,
    )
    for committee in TYPICAL
)


def late_values(committee: Committee) -> Mapping[str, Any]:
    """Return matrices at perfect learning, their eigen-systems, the fixed point."""

    def matrix(name: str) -> Any:
        return lambda: late_matrices(committee)[name]

    def state(*parts: int) -> Any:
        """Blocks of perfect learning."""
        L = committee.modes
        return [Series(0, committee.teacher()[n * L : (n + 1) * L]) for n in parts]

    def units() -> Any:
        (same, other), size = state(0, 1), committee.units
        return UnitSeries(
            [
                [[same.values[l] if i == m else other.values[l] for m in range(size)]
                 for i in range(size)]
                for l in range(committee.modes)
            ]
        )  # fmt: skip

    def eigen(name: str) -> Any:
        return eigenpairs(late_matrices(committee)[name])

    def B() -> Any:
        return kron(late_matrices(committee)["H"], forced(committee))

    def main_text() -> Any:
        """Return the Jacobian with r, q, s, c in this order."""
        L, full = committee.modes, linearised_late(committee)
        order = [n * L + l for n in (0, 2, 1, 3) for l in range(L)]
        found = mpmath.matrix(4 * L, 4 * L)
        for i, row in enumerate(order):
            for j, column in enumerate(order):
                found[i, j] = full[row, column]
        return found

    def in_main_text() -> Any:
        eta = mpmath.mpf(committee.learning_rate.numerator) / committee.learning_rate.denominator
        return main_text() / (late_matrices(committee)["a"] * eta)

    def modes() -> LateModes:
        return late_modes(committee)

    rest = {
        name: (lambda name=name: blocks([v for _, v in modes().rest], committee)[name])
        for name in "rsqc"
    }
    pairs = [(1, 0), (0, 1)]
    return {
        "G": matrix("G"),
        "H": matrix("H"),
        "F": matrix("F"),
        "g": matrix("g"),
        "U": lambda: forced(committee),
        "J": lambda: linearised_late(committee),
        "J_main": main_text,
        "A_asym": in_main_text,
        "R_star": units,
        "S_star": lambda: state(1)[0],
        "C_star": lambda: state(3)[0],
        "lambda_G": lambda: Series(1, [value for value, _ in eigen("G")]),
        "v_G": lambda: Series(1, [vector for _, vector in eigen("G")]),
        "lambda_H": lambda: Series(1, [value for value, _ in eigen("H")]),
        "v_H": lambda: Series(1, [vector for _, vector in eigen("H")]),
        "w_H": lambda: Series(1, null_vectors(late_matrices(committee)["H"], (0, 1), pairs)),
        "lambda_B": lambda: Series(1, [value for value, _ in eigenpairs(B())]),
        "zeros_B": lambda: nullity(B()),
        "lambda_1": lambda: Series(1, [value for value, _ in modes().differing]),
        "lambda_2": lambda: Series(1, [value for value, _ in modes().uniform]),
        **rest,
    }


#: Typical teachers, those with equal moments, and the first one with M = 2.
typical = cases(TYPICAL, late_values)
equal_moments = cases(EQUAL_MOMENTS, late_values)
two_units = cases(TYPICAL[:1], late_values)
