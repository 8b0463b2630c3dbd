"""Equations 14, 15, 112 to 116: the growing mode, how fast it grows, how the error follows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import mpmath

from symderiv.verification.arithmetic import Indexed, Values
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.references.committee import Committee, at_precision
from symderiv_papers.references.committee_flow import ansatz_trajectory
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

__all__ = ["CLAIMS"]

_ALL: Final = (*GENERAL, *TYPICAL)
_MORE: Final = (*GENERAL, SINGLE, FIVE, TYPICAL[1])
_REGIME: Final = "any D and T, first order in the learning rate; M = 2 to 5, L = 1 to 5"
_RULE: Final = Exact(digits=30)
_SUM: Final = "(M - 1)*T[1] - D[1] + M"
_G_R: Final = f"2*(D[1] + T[1])/(pi*sqrt({_SUM})*(D[1] + (M + 1)*T[1] + M)**(3/2))"
_TAU: Final = (
    f"pi/(2*eta)*sqrt({_SUM})*(D[1] + (M + 1)*T[1] + M)**(3/2)"
    "/((T[2] - D[2]/(M - 1))*(D[1] + T[1]))"
)


def _growth(committee: Committee) -> Mapping[str, Any]:
    """The flow of r alone, with s = -r/(M - 1) and q = c = 0."""
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


def _nonlinear(numbers: Any) -> Iterator[Point]:
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


def _later(numbers: Any) -> Iterator[Point]:
    """The same without the start."""
    return (point for point in _nonlinear(numbers) if point.values["alpha"] > 0)


def _claim(equation: str, statement: str, part: str = "", **more: Any) -> Claim:
    more = {"points": cases(_ALL, _growth), "rule": _RULE, "regime": _REGIME, **more}
    return Claim(equation, statement, part=part, **more)


_PREFACTOR: Final = (
    "((M - 1)*T[1] + M - D[1])*(D[1] + T[1])"
    "/(8*pi*M*(M - 1)*({} - (D[1] + T[1])**2/(4*M**2))**(3/2))"
)
_AMPLITUDE: Final = (
    "trajectories of the derived equations from r^(1) = r_0 on the growing eigenvector, "
    "r_0 = 1/100 to 1/400; relative error against r_0"
)

CLAIMS: Final = (
    _claim(
        "14",
        "dr[i] == eta*g_r*(T[i] - D[i]/(M - 1))*r[2]",
        ranges="i = 1..L",
        given="A_r = g_r U of equation 112",
        corrected="dr[i - 1] == eta*g_r*(T[i] - D[i]/(M - 1))*r[1]",
        note="With the matrix of equation 112 the vector r starts with order 0, as in the "
        "appendix (r_i = r^(i-1)): e_2 picks r^(1). The main text lists r^(1) to r^(L).",
    ),
    _claim(
        "112",
        f"J_r[i, j] == eta*{_G_R}*(T[i] - D[i]/(M - 1))*delta(j, 2)",
        ranges="i = 1..L, j = 1..L",
        given="q = c = 0 and s = -r/(M - 1)",
        note="The left side is the Jacobian of the full equations.",
    ),
    _claim(
        "113",
        "rate/(eta*g_r) == T[2] - D[2]/(M - 1)",
        "lambda_r",
        points=cases(_MORE, _growth),
        note="The one growing eigenvalue of the full equations over the engine's own g_r.",
    ),
    _claim("113", "zeros == L - 1", "zeros"),
    _claim(
        "114",
        "r_1[k] == exp(eta*g_r*(T[2] - D[2]/(M - 1))*alpha[k])*r_0",
        "linear",
        ranges="k = 1..2",
        points=cases((*GENERAL[:2], TYPICAL[1]), _growth),
        given="r^(l)(alpha_0) of all orders in general position, s = -r/(M - 1), q = c = 0",
    ),
    _claim(
        "114",
        "r_1 == exp(eta*g_r*(T[2] - D[2]/(M - 1))*alpha)*r_0",
        "nonlinear",
        points=_later,
        rule=Converges(1.0, digits=30),
        regime=_AMPLITUDE,
    ),
    _claim(
        "115",
        f"departure == {_PREFACTOR.format('T[1]')}*exp(alpha/tau_esc)*r_0**2",
        points=_nonlinear,
        rule=Converges(1.0, digits=30),
        regime=_AMPLITUDE,
        corrected=f"departure == {_PREFACTOR.format('(1 + T[1])**2/4')}"
        "*exp(2*alpha/tau_esc)*r_0**2",
        note="The error departs with the square of r, so the exponent is 2 alpha/tau_esc. In the "
        "prefactor (1 + T)^2/4 must stand for T: they are the same for T = 1 only.",
    ),
    _claim(
        "after 15",
        "log(departure/start)/alpha == 1/tau_esc",
        points=_later,
        rule=Converges(1.0, digits=30),
        regime=_AMPLITUDE,
        corrected="log(departure/start)/alpha == 2/tau_esc",
        note="The departure of the error grows twice as fast as r.",
    ),
    _claim(
        "15",
        f"tau_esc == {_TAU}",
        points=cases(_MORE, _growth),
        note="The left side is one over the growing eigenvalue of the Jacobian of the full "
        "equations.",
    ),
    _claim(
        "116",
        f"1/(eta*g_r*(T[2] - D[2]/(M - 1))) == {_TAU}",
        "expression",
        given="the engine's own g_r",
    ),
    _claim("116", "1/rate == 1/(eta*g_r*(T[2] - D[2]/(M - 1)))", "chain"),
)
