"""The nonlinear moment form against the spectral solver: digits needed, agreement, time.

python -m benchmarks.moment_form                   L = 5, 8, 12, 20, 50, both exponents (minutes)
python -m benchmarks.moment_form --eigenvalues 5 8 --exponents 1.0
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np

from symderiv.foundation.errors import SymderivError
from symderiv.integrate.flows.moment_check import solve_moments
from symderiv.integrate.rules.solving import solve
from symderiv.precision.balls.contexts import numbers
from symderiv.precision.moments.digits import moment_digits
from symderiv.precision.moments.extrapolation import trajectory
from symderiv.precision.moments.moment_system import MomentSystem, RuleParameters, moment_module
from symderiv.problem.initial import initial
from symderiv.problem.study import Study, parse_study

SIZES = (5, 8, 12, 20, 50)
EXPONENTS = (1.0, 0.25)
END = 30.0
LEARNING_RATE = 0.3
TOLERANCE = 1e-9


def study_of(L: int, exponent: float, end: float = END) -> Study:
    """Two erf units learn two, drawn overlaps, with the terms of order learning_rate**2."""
    return parse_study(
        f"""
        [network]
        activation = "erf"
        students = 2
        teachers = 2
        [data]
        model = "power-law"
        dimension = {200 * L}
        distinct_eigenvalues = {L}
        exponent = {exponent}
        [training]
        learning_rate = {LEARNING_RATE}
        [initial]
        student_std = 0.5
        [time]
        values = [{end / 10}, {end / 3}, {end}]
        relative_tolerance = 1e-12
        absolute_tolerance = 1e-16
        """
    )


@dataclass(frozen=True)
class Line:
    """What one spectrum gave; differences are relative ones of the generalisation error."""

    L: int
    exponent: float
    planned: float
    lost: float
    working: int
    compared: int
    repeated: float
    spectral: float
    double: str
    seconds: float


def measure(L: int, exponent: float, end: float = END, losses: bool = True) -> Line:
    """Digits planned and really lost, and the difference of the spectral and the moment form."""
    study = study_of(L, exponent, end)
    moment_module("erf")  # derived outside the timing
    found = solve_moments(study, digits=9)
    error = found.generalization_error.astype(float)
    spectral = solve(study).generalization_error
    lost, double = math.nan, "not run"
    if losses:
        # With the same steps, two runs differ by what rounding has become.
        fine = errors_of(study, found.plan.digits + 20, "arb")
        coarse_digits = max(math.ceil(0.8 * found.plan.lost) + 8, 12)
        coarse = errors_of(study, coarse_digits, "arb")
        difference = float(np.max(abs(coarse - fine) / abs(fine)))
        lost = coarse_digits + math.log10(difference)
        double = _double(study, error)
    return Line(
        L, exponent, found.plan.lost, lost, found.working_digits, found.compared_digits,
        found.agreement, float(np.max(np.abs(error / spectral - 1))), double, found.seconds,
    )  # fmt: skip


def errors_of(study: Study, digits: int, backend: str) -> np.ndarray:
    """The generalisation error by one integration, with all its digits."""
    with numbers(digits, backend) as c:
        system = MomentSystem(
            moment_module("erf"), initial(study).state, RuleParameters(LEARNING_RATE), c
        )
        states = trajectory(
            system.right_hand_side, system.start, study.alpha.tolist(), TOLERANCE,
            size=system.size, point=c.point, max_evaluations=30_000,
        )  # fmt: skip
        return np.array([c.as_mpf(system.observables(y)[3]) for y in states])


def _double(study: Study, exact: np.ndarray) -> str:
    """How wrong moments in doubles are where nothing refuses them."""
    try:
        found = errors_of(study, 16, "float64").astype(float)
    except (SymderivError, ArithmeticError, ValueError):
        return "breaks down"
    return f"{np.max(np.abs(found / exact - 1)):.0e}"


def lines() -> list[tuple[str, str, str, bool]]:
    """For the project's table: the check at L = 50, and where doubles end."""
    line = measure(50, 1.0, end=10.0, losses=False)
    twelve = moment_digits(study_of(12, 1.0).data_model.single().eigenvalue, digits=1)
    return [
        (
            "spectral against moment form, erf K=M=2, L=50",
            f"{line.spectral:.0e} ({line.working} digits, {line.seconds:.0f} CPU s)",
            "<= 1e-8",
            line.spectral <= 1e-8,
        ),
        (
            "digits that moments in doubles keep, L=12",
            f"{twelve.double_digits:.1f}",
            "< 1: refused",
            twelve.double_digits < 1,
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eigenvalues", type=int, nargs="+", default=SIZES)
    parser.add_argument("--exponents", type=float, nargs="+", default=EXPONENTS)
    parser.add_argument("--end", type=float, default=END)
    options = parser.parse_args()
    print(f"erf, K = M = 2, eta = {LEARNING_RATE}, drawn overlaps, up to alpha = {options.end:g}")
    print("              digits lost     digits    against      against   doubles   CPU")
    print("   L  beta  bound measured      used  fewer digits  spectral  are off     s")
    for exponent in options.exponents:
        for L in options.eigenvalues:
            line = measure(L, exponent, options.end)
            print(
                f"{L:4d} {exponent:5.2f} {line.planned:6.1f} {line.lost:8.1f} "
                f"{line.working:9d} {line.repeated:13.0e} {line.spectral:9.0e} "
                f"{line.double:>8s} {line.seconds:5.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
