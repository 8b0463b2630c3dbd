"""Equations 14, 15, 112 to 116: the growing mode, how fast it grows, how the error follows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import mpmath
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.references.homogeneous import Committee, at_precision
from symderiv_papers.references.trajectories import ansatz_trajectory
from symderiv_papers.worschech_rosenow.escape_modes import (
    eigenpairs,
    linearised,
    plateau_modes,
)
from symderiv_papers.worschech_rosenow.escape_points import (
    FIVE,
    GENERAL,
    SINGLE,
    TYPICAL,
    Series,
    cases,
    converted,
    label,
)

__all__ = [
    "growth",
    "growth_of_more",
    "later",
    "linear_growth",
    "nonlinear",
]

_ALL: Final = (*GENERAL, *TYPICAL)
_MORE: Final = (*GENERAL, SINGLE, FIVE, TYPICAL[1])


def _growth(committee: Committee) -> Mapping[str, Any]:
    """Return the flow of r alone, with s = -r/(M - 1) and q = c = 0."""
    L, units = committee.modes, committee.units

    def reduced() -> Any:
        full = linearised(committee)
        found = mpmath.matrix(L, L)
        for i in range(L):
            for j in range(L):
                found[i, j] = full[i, j] - full[i, L + j] / (units - 1)
        return found

    def deviation() -> list[Any]:
        return [mpmath.mpf(3 + 2 * k) / (7 - 4 * (k % 2)) for k in range(L)]

    def with_closure(values: list[Any]) -> Series:
        highest = -sum(converted(c, mpmath) * x for c, x in
                       zip(committee.closure, values, strict=True))  # fmt: skip
        return Series(0, [*values, highest])

    def rates() -> Series:
        moved = reduced() * mpmath.matrix(deviation())
        return with_closure(list(moved))

    def response() -> Any:
        return -committee.plateau_rate("teacher_response") / converted(
            committee.learning_rate, mpmath
        )

    def flow(time: Fraction) -> Any:
        """r^(1) after a time in units of the escape time, from the linearised equations."""
        alpha = converted(time, mpmath) / plateau_modes(committee).escape[0]
        start = [*deviation(), *(-x / (units - 1) for x in deviation()), *[0] * (2 * L)]
        matrix = mpmath.expm(linearised(committee) * alpha, method="pade")
        return (matrix * mpmath.matrix(start))[1]

    times = (Fraction(1, 3), Fraction(5, 2))
    return {
        "r": lambda: with_closure(deviation()),
        "dr": rates,
        "g_r": response,
        "J_r": lambda: Series(1, reduced()),
        "zeros": lambda: L - len(eigenpairs(reduced())),
        "rate": lambda: plateau_modes(committee).escape[0],
        "tau_esc": lambda: 1 / plateau_modes(committee).escape[0],
        "alpha": lambda: Series(
            1, [converted(t, mpmath) / plateau_modes(committee).escape[0] for t in times]
        ),
        "r_0": lambda: deviation()[1],
        "r_1": lambda: Series(1, [flow(time) for time in times]),
    }


_SMALL: Final = (Fraction(1, 100), Fraction(1, 200), Fraction(1, 400))
_TIMES: Final = (0.0, 0.4, 0.8)


@lru_cache(maxsize=64)
def _departure(committee: Committee, amplitude: Fraction) -> tuple[list[Any], list[Any]]:
    """r^(1) and ε_g* - ε_g at _TIMES in units of the escape time, by the nonlinear equations."""
    L = committee.modes
    with at_precision():
        growing = plateau_modes(committee)
        plateau = committee.plateau()
        size = converted(amplitude, mpmath)
        start = [
            x + (size * growing.escape[1][k] if k < 2 * L else 0) for k, x in enumerate(plateau)
        ]
        height = committee.generalization_error(plateau)
        times = [float(t / growing.escape[0]) for t in _TIMES]
        states = ansatz_trajectory(committee, start, times)
        overlaps = [size, *(mpmath.mpf(y[1]) - plateau[1] for y in states[1:])]
        at_start = height - committee.generalization_error(start)
        later = [
            height - committee.generalization_error([mpmath.mpf(x) for x in y]) for y in states[1:]
        ]
        return overlaps, [at_start, *later]


def nonlinear(numbers: Any) -> Iterator[Point]:
    """Trajectories that leave the plateau along the growing eigenvector, by amplitude."""
    for committee in (*GENERAL[:2], TYPICAL[1]):
        rate = plateau_modes(committee).escape[0]
        moments = {
            "T": Indexed([converted(committee.T(l), numbers) for l in range(3)], (0, 2)),
            "D": Indexed([converted(committee.D(l), numbers) for l in range(3)], (0, 2)),
            "M": committee.units,
            "eta": converted(committee.learning_rate, numbers),
            # not from the rate, which would make the statement true by construction
            "g_r": -numbers.mpf(committee.plateau_rate("teacher_response"))
            / converted(committee.learning_rate, numbers),
            "tau_esc": numbers.mpf(1) / numbers.mpf(rate),
            "L": committee.modes,
        }
        for amplitude in _SMALL:
            overlap, departure = _departure(committee, amplitude)
            for k, time in enumerate(_TIMES):
                known = {
                    "alpha": numbers.mpf(time) / numbers.mpf(rate),
                    "r_0": converted(amplitude, numbers),
                    "r_1": numbers.mpf(overlap[k]),
                    "departure": numbers.mpf(departure[k]),
                    "start": numbers.mpf(departure[0]),
                }
                words = f"{label(committee)}, alpha = {time:g} tau"
                point = Values({**moments, **known})
                yield Point(f"{words}, r_0 = {amplitude}", point, float(amplitude), words)


def later(numbers: Any) -> Iterator[Point]:
    """Return the same without the start."""
    return (point for point in nonlinear(numbers) if point.values["alpha"] > 0)


#: Growth of the deviations, for several sets of teachers.
growth = cases(_ALL, _growth)
growth_of_more = cases(_MORE, _growth)
linear_growth = cases((*GENERAL[:2], TYPICAL[1]), _growth)
