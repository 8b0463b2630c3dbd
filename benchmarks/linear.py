"""Linear networks: speed and accuracy of the secular equation, and the digits that moments need.

python -m benchmarks.linear            everything, a few minutes
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import flint
import mpmath
import numpy as np

from symderiv.analysis.linear.error_curve import eigendirections, generalization_error
from symderiv.analysis.linear.exact_spectrum import ExactLinear, exact_power_law
from symderiv.analysis.linear.many_digits import linear_digits
from symderiv.analysis.linear.system import linear_system
from symderiv.analysis.low_rank import low_rank_spectrum
from symderiv.inputs.spectra import power_law
from symderiv.learning.derivation.moment_hierarchy import closure_coefficients
from symderiv.precision.moments.digits import moment_digits

LEARNING_RATE, EXPONENT = 1.0, 1.0
ROOM_SECONDS = 60.0


def secular_problem(L: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Poles, strengths and readout of a power law, ascending."""
    component = power_law(L, EXPONENT).single()
    rho = component.eigenvalue[::-1].copy()
    d, b, c = linear_system().numbers(LEARNING_RATE, rho, component.weight)
    return d, b * c, c


def spot_check(L: int, places: list[int]) -> float:
    """Largest relative error of some roots, against Newton's method in 60 digits."""
    pole, strength, readout = secular_problem(L)
    roots = low_rank_spectrum(pole[None], strength[None], [[-1.0]], readout[None, None])
    worst = 0.0
    flint.ctx.dps = 60
    d, a = ([flint.arb(float(x)) for x in array] for array in (pole, strength))
    for j in places:
        s = start = flint.arb(float(roots.origin[j])) + flint.arb(float(roots.offset[j]))
        for _ in range(4):
            value, slope = flint.arb(-1), flint.arb(0)
            for x, y in zip(d, a, strict=True):
                inverse = 1 / (x - s)
                value += y * inverse
                slope += y * inverse * inverse
            s = (s - value / slope).mid()
        worst = max(worst, abs(float((start - s) / s)))
    return worst


def secular_seconds(L: int, repeats: int = 3) -> float:
    """CPU seconds of all rates and weights; compiled before."""
    component = power_law(L, EXPONENT).single()
    directions = eigendirections(component.eigenvalue, component.weight)
    generalization_error(directions, LEARNING_RATE)
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        generalization_error(directions, LEARNING_RATE)
        times.append(time.process_time() - begin)
    return min(times)


def short_secular_seconds(L: int) -> float:
    """The same for a short spectrum, repeated until it can be measured."""
    component = power_law(L, EXPONENT).single()
    directions = eigendirections(component.eigenvalue, component.weight)
    generalization_error(directions, LEARNING_RATE)
    begin, count = time.process_time(), 0
    while time.process_time() - begin < 0.3:
        generalization_error(directions, LEARNING_RATE)
        count += 1
    return (time.process_time() - begin) / count


def mpmath_companion(L: int) -> tuple[float, list[Any]]:
    """CPU seconds of mpmath's eigenvalues of the moment matrix with the digits it needs."""
    mp = mpmath.MPContext()
    mp.dps = moment_digits(power_law(L, EXPONENT).single().eigenvalue, digits=15).digits
    begin = time.process_time()
    shape = [mp.mpf(l) ** -(1 + mp.mpf(EXPONENT)) for l in range(1, L + 1)]
    rho = [x * L / mp.fsum(shape) for x in shape]
    shift, source = linear_system().moments(mp.mpf(LEARNING_RATE))
    closure = closure_coefficients([x / rho[0] for x in rho])
    matrix = mp.zeros(L, L)
    for l in range(L):
        if l + 1 < L:
            matrix[l, l + 1] = shift * rho[0]
        else:
            for m in range(L):
                matrix[l, m] = -shift * rho[0] * closure[m]
        matrix[l, 1] += source * rho[0] * mp.fsum((x / rho[0]) ** l * x for x in rho) / L
    values = mp.eig(matrix, left=False, right=False)
    return time.process_time() - begin, sorted(-value.real for value in values)


def largest_mpmath(room: float = ROOM_SECONDS) -> tuple[int, float, float]:
    """The largest L (in steps of a quarter) that mpmath finishes in time, CPU s, its deviation."""
    L, found = 8, (0, 0.0, 0.0)
    while True:
        seconds, rates = mpmath_companion(L)
        if seconds > room:
            return found
        pole, strength, readout = secular_problem(L)
        ours = low_rank_spectrum(pole[None], strength[None], [[-1.0]], readout[None, None]).value
        deviation = max(abs(float(x / y) - 1.0) for x, y in zip(ours, rates, strict=True))
        found = (L, seconds, deviation)
        # of order L^4 and more: the next one would not finish
        if seconds * 1.25**4 > room:
            return found
        L = L * 5 // 4


def agreement(L: int, alpha: list[int], method: str) -> tuple[int, int, float]:
    """Digits used, digits that agree, and the largest difference of ε_g from the double curve."""
    eta = Fraction(1, 2)
    problem = ExactLinear(exact_power_law(L, Fraction(int(EXPONENT))), L, eta, Fraction(1))
    found = linear_digits(problem, [Fraction(a) for a in alpha], method, 15)
    component = power_law(L, EXPONENT).single()
    directions = eigendirections(component.eigenvalue, component.weight)
    curve = generalization_error(directions, 0.5)(np.array(alpha, dtype=float))
    exact = np.array([float(x) for x in found.generalization_error])
    return found.digits_used, found.agreement, float(np.max(np.abs(curve / exact - 1.0)))


def rows() -> list[tuple[str, str, str, bool]]:
    """What, measured, must be, met: the lines of the project's table."""
    seconds = secular_seconds(10_000)
    error = spot_check(10_000, [0, 1, 100, 5000, 9000, 9998, 9999])
    L, slow, deviation = largest_mpmath()
    ratio = slow / short_secular_seconds(L)
    result = [
        (
            "linear network, secular spectrum L = 10^4",
            f"{seconds:.2f} CPU s, relative error {error:.0e} in 60 digits",
            "< 5 CPU s, 1e-14",
            seconds < 5.0 and error <= 1e-14,
        ),
        (
            f"the same against mpmath's companion matrix, L = {L}",
            f"{ratio:.0f}x ({slow:.0f} CPU s; rates differ by {deviation:.0e})",
            ">= 1000x",
            ratio >= 1000.0,
        ),
    ]
    for L, method, times in (
        (50, "companion", [1, 10, 100]),
        (50, "moments", [1, 10, 100]),
        (150, "companion", [1, 10, 100]),
        (150, "moments", [1, 5]),
    ):
        used, agreed, difference = agreement(L, times, method)
        result.append(
            (
                f"linear network, spectral form against {method}, L = {L}",
                f"{difference:.0e} ({used} digits used, {agreed} agree with a second computation)",
                "<= 1e-8",
                difference <= 1e-8,
            )
        )
    return result


def digits_table() -> list[str]:
    """Digits that moments lose, by length of the spectrum, exponent and time."""
    lines = ["   L   beta   at any time   alpha = 1   alpha = 10   alpha = 100   doubles leave"]
    for exponent in (0.25, 1.0, 1.5):
        for L in (4, 8, 10, 12, 20, 50, 150, 185):
            rho = power_law(L, exponent).single().eigenvalue
            plan = moment_digits(rho)
            early = (moment_digits(rho, alpha=a, rate=1.0).lost for a in (1.0, 10.0, 100.0))
            cells = "".join(f"{lost:13.0f}" for lost in early)
            left = plan.double_digits
            words = "overflow" if left == -np.inf else f"{max(left, 0.0):.0f} digits"
            lines.append(f"{L:4d}{exponent:7.2f}{plan.lost:14.0f}{cells}   {words}")
    return lines


def main() -> None:
    for what, measured, must_be, met in rows():
        print(f"{what}: {measured} (must be {must_be}: {'met' if met else 'NOT MET'})")
    print("\nDecimal digits lost between moments and directions, rate 2 eta = 1:")
    print("\n".join(digits_table()))


if __name__ == "__main__":
    main()
