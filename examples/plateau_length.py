"""How long is the symmetric plateau? Its length against ln N and ln sigma_J^2, measured.

python examples/plateau_length.py [--seeds 48] [--runs 4]

erf, K = M = 2, isotropic inputs, orthogonal teachers, so that the escape time tau is exact. The
equations start from Gram matrices drawn from their law at each N (no vectors, any N). The plateau
ends where the error has fallen to half of its height. The lengths over tau are fitted by
a + b ln N + c ln sigma_J^2; the rule of thumb has b = 1/2, c = -1/2. Two flows are measured: with
the eta^2 terms, and at first order; tau is that
of equal students.
Gram SGD at N = 10^3 and 10^4 is put beside the equations of the same initial states.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import sympy as sp

from symderiv.analysis.plateau.full_plateau import equal_students
from symderiv.analysis.plateau.plateau_forms import full_flow, plateau_forms
from symderiv.analysis.plateau.stability import plateau_numbers
from symderiv.analysis.plateau.teacher import teacher_of_moments
from symderiv.experiment.studies.simulating import simulate
from symderiv.inputs.spectra import isotropic
from symderiv.integrate.rules.solving import solve
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.problem.initial import drawn_state
from symderiv.problem.study import Study, parse_study

RATE = sp.Rational(1, 2)
UNITS = 2

TEMPLATE = """
[network]
activation = "erf"
students = {units}
teachers = {units}
{start}
[training]
learning_rate = {rate}
order = "{order}"
[simulation]
method = "gram"
runs = {runs}
[time]
values = {values}
relative_tolerance = 1e-10
absolute_tolerance = 1e-20
"""
VECTORS = """
[data]
model = "isotropic"
dimension = {dimension}
[initial]
student_std = {std}
teacher = "orthogonal"
seed = {seed}
"""


def study_from(start: str, order: str, end: float, runs: int = 1) -> Study:
    """A study on 1200 times up to ``end``; ``start`` holds its tables [data] and [initial]."""
    values = [0.0, *np.linspace(end / 1200, end, 1200).round(3).tolist()]
    return parse_study(
        TEMPLATE.format(
            units=UNITS, start=start, rate=float(RATE), order=order, runs=runs, values=values
        )
    )


def drawn(dimension: int, std: float, seed: int, file: Path) -> str:
    """Overlaps with the law they have in any dimension, as a state file."""
    vectors = VECTORS.format(dimension=1000, std=std, seed=seed)
    study = study_from(vectors, "full", 100.0)
    drawn_state(study, isotropic(dimension)).save(file)
    return f'[initial]\nstate = "{file}"\n'


def length(alpha: np.ndarray, error: np.ndarray, height: float) -> float:
    """Where the error passes half of the plateau's height, interpolated in its logarithm."""
    below = np.flatnonzero(error < 0.5 * height)
    if not below.size:
        return math.nan
    k = int(below[0])
    low, high = np.log(error[k]), np.log(error[k - 1])
    part = (high - math.log(0.5 * height)) / (high - low)
    return float(alpha[k - 1] + part * (alpha[k] - alpha[k - 1]))


def lengths(
    order: str, tau: float, height: float, seeds: int, folder: Path
) -> list[tuple[float, ...]]:
    """ln N, ln sigma_J^2, mean length over tau and its standard error."""
    found = []
    for exponent in (3, 4, 5, 6, 8, 10, 12):
        for std in (1e-1, 1e-2, 1e-3) if exponent in (4, 8, 12) else (1e-2,):
            end = tau * (0.5 * exponent * math.log(10) - math.log(std) + 14)
            values = []
            for seed in range(seeds):
                start = drawn(10**exponent, std, seed, folder / "state.npz")
                run = solve(study_from(start, order, end))
                values.append(length(run.alpha, run.generalization_error, height) / tau)
            spread = np.std(values, ddof=1) / math.sqrt(seeds)
            found.append(
                (exponent * math.log(10), 2 * math.log(std), float(np.mean(values)), float(spread))
            )
    return found


def fitted(rows: list[tuple[float, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of 1, ln N, ln sigma_J^2 and their standard errors."""
    table = np.array(rows)
    matrix = np.column_stack((np.ones(len(table)), table[:, 0], table[:, 1])) / table[:, 3:]
    covariance = np.linalg.inv(matrix.T @ matrix)
    return covariance @ matrix.T @ (table[:, 2] / table[:, 3]), np.sqrt(np.diag(covariance))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=48)
    parser.add_argument("--runs", type=int, default=4)
    options = parser.parse_args()
    equations = derive_equations(learning_problem("erf"))
    teacher = teacher_of_moments(UNITS, *(sp.Integer(x) for x in (1, 0, 1, 0)))
    small = plateau_numbers(plateau_forms(equations), teacher, RATE, 80)
    # Small students stay equal for as long as the plateau lasts: this is the state they leave.
    start = float(small.Q), float(small.R)
    full = equal_students(full_flow(equations), teacher, RATE, 80, start)
    for order, rate, height in (
        ("small-learning-rate", small.unstable_eigenvalue, small.generalization_error),
        ("full", full.unstable_eigenvalue, full.generalization_error),
    ):
        tau = 1 / float(rate)
        with TemporaryDirectory() as name:
            rows = lengths(order, tau, float(height), options.seeds, Path(name))
        print(f"\n{order}: tau = {tau:.4f}; N, sigma_J, length / tau, standard error")
        for log_n, log_s, mean, error in rows:
            print(f"  1e{log_n / math.log(10):<4.0f} {math.exp(log_s / 2):<7.0e}"
                  f"{mean:9.4f} +- {error:.4f}")  # fmt: skip
        value, error = fitted(rows)
        for name, a, b in zip(("1", "ln N", "ln sigma_J^2"), value, error, strict=True):
            print(f"  coefficient of {name:<13}{a:9.4f} +- {b:.4f}")
    tau, height = 1 / float(full.unstable_eigenvalue), float(full.generalization_error)
    print("\nSGD through Gram matrices and the equations from the same initial state, length / tau")
    for exponent in (3, 4):
        end = tau * (0.5 * exponent * math.log(10) - math.log(1e-2) + 14)
        vectors = VECTORS.format(dimension=10**exponent, std=1e-2, seed=0)
        study = study_from(vectors, "full", end, options.runs)
        run, sgd = solve(study), simulate(study)
        ode = length(run.alpha, run.generalization_error, height) / tau
        values = [length(sgd.alpha, e, height) / tau for e in sgd.generalization_error]
        spread = np.std(values, ddof=1) / math.sqrt(len(values))
        print(f"  N = 1e{exponent}: equations {ode:.3f}, SGD {np.mean(values):.3f} +- {spread:.3f}")


if __name__ == "__main__":
    main()
