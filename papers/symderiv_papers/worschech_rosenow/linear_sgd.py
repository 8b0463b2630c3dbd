"""Section 4 against stochastic gradient descent itself: exact means at finite N, and simulations.

The mean error of SGD on Gaussian inputs closes on itself at every N
(:func:`symderiv.analysis.linear.error_curve.finite_dimension`), so that the limit N → ∞ of the
hierarchy and the figures at N = L = 256 can be judged without noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values, extended
from symderiv_ledger.rules.comparison_rules import Measured

from symderiv.analysis.linear.error_curve import (
    eigendirections,
    finite_dimension,
    generalization_error,
)
from symderiv_papers.references.exact import as_number
from symderiv_papers.references.linear_network import Case, LinearNetwork
from symderiv_papers.references.power_law import PowerLawSum, eigenvalues
from symderiv_papers.worschech_rosenow.linear_curve import (
    half_ends,
)
from symderiv_papers.worschech_rosenow.linear_points import mode_values

_CASES = (
    Case((Fraction(2), Fraction(1)), Fraction(7, 10), Fraction(3, 2), law=True),
    Case((Fraction(9, 5), Fraction(1), Fraction(1, 5)), Fraction(9, 10), Fraction(1), Fraction(2)),
)
#: One step, and later; the figures' σ_J, and one that can be seen in the error.
_TIMES = tuple(Fraction(n, 256) for n in (1, 16, 256, 2560, 25_600, 256_000))
_DEVIATIONS = (Fraction(1, 100), Fraction(7, 10))


def _mean(
    eigenvalue: list[Any], copies: int, rate: Any, alpha: Any, variance: Any, trained: int = 0
) -> float:
    """Return the mean error of SGD after αN examples, with so many coordinates per eigenvalue."""
    rho = np.array([float(x) for x in eigenvalue])
    curve = finite_dimension(
        rho,
        np.full(rho.size, float(copies)),
        float(rate),
        1.0 + float(variance),
        trained or None,
    )
    return float(curve.after(round(float(alpha) * copies * rho.size)))


def many_coordinates(numbers: Any) -> Iterator[Point]:
    """More and more coordinates per eigenvalue."""
    for case in _CASES:
        for copies in (40, 160, 640):
            network = LinearNetwork(case, numbers)
            mean = _mean(network.eigenvalue, copies, case.rate, case.time, case.variance)
            values = extended(mode_values(network), {"eps_g": numbers.mpf(mean)})
            N = copies * network.L
            yield Point(f"{case}, N = {N}", values, 1 / N, str(case))


def one_coordinate(numbers: Any) -> Iterator[Point]:
    """Yield one coordinate per eigenvalue, η → 0 at fixed ηα."""
    for beta in (Fraction(1, 2), Fraction(1)):
        for power in (1, 2, 3):
            rate = Fraction(1, 10**power)
            case = Case((Fraction(48), beta), rate, Fraction(1, 48) / rate, law=True)
            network = LinearNetwork(case, numbers)
            mean = _mean(network.eigenvalue, 1, rate, case.time, case.variance)
            values = _sum_values(network) | {"eps_g": numbers.mpf(mean)}
            yield Point(str(case), values, float(rate), str(beta))


def _sum_values(network: LinearNetwork) -> dict[str, Any]:
    n = network.numbers
    return {
        "L": network.L,
        "K": 1,
        "M": 1,
        "eta": network.eta,
        "alpha": network.alpha,
        "sigma_J": n.sqrt(network.variance),
        "lam": Indexed(network.eigenvalue, (1, network.L)),
    }


def not_small(numbers: Any) -> Iterator[Point]:
    """Yield one coordinate per eigenvalue; at β = 1 SGD is unstable from η = 1.001 on."""
    for beta, rate in product((Fraction(1, 2), Fraction(1)), (Fraction(1, 10), Fraction(9, 10))):
        for alpha in (1, 10, 100):
            case = Case((Fraction(128), beta), rate, Fraction(alpha), law=True)
            network = LinearNetwork(case, numbers)
            mean = _mean(network.eigenvalue, 1, rate, case.time, case.variance)
            yield Point(str(case), _sum_values(network) | {"eps_g": numbers.mpf(mean)})


def middle_of_windows(numbers: Any) -> Iterator[Point]:
    """-d ln ε_g/d ln α at any learning rate, at z = L^((1+β)/2)."""
    for beta, rate in product((1, 2), (Fraction(1, 10), Fraction(1, 2), Fraction(1))):
        for L in (64, 256, 1024):
            law = PowerLawSum(numbers, Fraction(beta), L, "1", learning_rate=rate)
            spectrum = np.array([float(x) for x in eigenvalues(numbers, law.beta, L)])
            curve = generalization_error(
                eigendirections(spectrum, np.full(L, 1.0 / L)), float(rate)
            )
            time = L ** ((1 + beta) / 2) / (2 * float(rate) * spectrum[0])
            terms = curve.weight * np.exp(-curve.rate * time)
            exponent = time * float(np.sum(curve.rate * terms) / np.sum(terms))
            yield Point(
                f"eta = {rate}, beta = {beta}, L = {L}",
                law.names | {"exponent": numbers.mpf(exponent)},
                L ** (-beta / 2),
                f"eta = {rate}, beta = {beta}",
            )


def _figure(
    numbers: Any, beta: Fraction, rate: Fraction, alpha: Fraction, deviation: Fraction
) -> PowerLawSum:
    """Return the power law of a figure at a time."""
    law = PowerLawSum(numbers, beta, 256, "1", learning_rate=rate, student_std=deviation)
    z = 2 * law.names["eta"] * law.names["lambda_plus"] * as_number(alpha, numbers)
    return replace(law, z=str(z))


def _figure_point(law: PowerLawSum, ends: Any, trained: int = 0) -> Point:
    """Return the point with what integrals neglect, and 1/20 of the error for the finite rate."""
    numbers, names = law.numbers, law.names
    mean = numbers.mpf(
        _mean(
            eigenvalues(numbers, law.beta, law.L),
            1,
            law.learning_rate,
            names["alpha"],
            law.student_std**2,
            trained,
        )
    )
    more = {"epsilon_g": mean, "eps_g": mean, "N_l": trained, "allowed": ends + mean / 20}
    label = f"alpha = {float(names['alpha']):g}, sigma_J = {float(law.student_std):g}"
    return Point(f"{label}, N_l = {trained}" if trained else label, names | more)


def figure_2(numbers: Any) -> Iterator[Point]:
    for alpha, deviation in product(_TIMES, _DEVIATIONS):
        law = _figure(numbers, Fraction(3, 4), Fraction(1, 10), alpha, deviation)
        yield _figure_point(law, half_ends(law))


def figure_3(numbers: Any) -> Iterator[Point]:
    for alpha, deviation in product(_TIMES, _DEVIATIONS):
        law = _figure(numbers, Fraction(1), Fraction(1, 20), alpha, deviation)
        for trained in (50, 100, 150, 200):
            frozen = half_ends(replace(law, z="0"), trained)
            yield _figure_point(law, half_ends(law, 1, trained) + frozen, trained)


_RUNS, _COPIES = 600, 96


@lru_cache(maxsize=4)
def _simulated(case: Case, seed: int) -> dict[str, tuple[float, float]]:
    """Return means and standard errors of ε_g and R^(1) over runs with teachers of their own."""
    rng = np.random.default_rng(seed)
    spectrum = np.repeat([float(x) for x in case.spectrum], _COPIES)
    N = spectrum.size
    teacher = rng.standard_normal((_RUNS, N))
    student = float(case.variance) ** 0.5 * rng.standard_normal((_RUNS, N))
    scale = np.sqrt(spectrum)
    for _ in range(round(float(case.time) * N)):
        inputs = scale * rng.standard_normal((_RUNS, N))
        error = np.einsum("ra,ra->r", inputs, student - teacher)
        student -= float(case.rate) / N * error[:, None] * inputs
    found = {
        "eps_g": (student - teacher) ** 2 @ spectrum / (2 * N),
        "R": student * teacher @ spectrum / N,
    }
    return {
        name: (float(np.mean(x)), float(np.std(x, ddof=1) / _RUNS**0.5))
        for name, x in found.items()
    }


def simulations(numbers: Any) -> Iterator[Point]:
    for seed, case in enumerate(
        (
            Case((Fraction(8, 5), Fraction(2, 5)), Fraction(7, 10), Fraction(3, 2), Fraction(2)),
            Case((Fraction(3, 2), Fraction(1, 2)), Fraction(6, 5), Fraction(1, 2), Fraction(1, 4)),
        )
    ):
        network = LinearNetwork(case, numbers)
        found = _simulated(case, seed)
        measured = {
            "eps_g": Measured(*found["eps_g"]),
            "R": Indexed([Measured(*found["R"])], (1, 1)),
            "lam": Indexed(network.eigenvalue, (1, network.L)),
        }
        yield Point(f"{case}, {_RUNS} runs", Values(measured, _lazily(mode_values(network))))


def _lazily(values: Any) -> dict[str, Any]:
    return {name: (lambda name=name: values[name]) for name in values}
