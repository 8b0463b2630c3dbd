"""The two data sets: nonlinear Gaussian process (NLGP) and single pulse (SP)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.claims.statement import Relation, parse_statement
from symderiv_ledger.rules.arithmetic import Indexed, Values, evaluate

from symderiv_papers.relu_localization.populations import FiniteClasses, single_pulses

__all__ = [
    "gains",
    "inputs",
    "large_gains",
    "pulses",
    "rings",
    "settings",
    "small_gains",
    "wide_kernels",
]


def rings(numbers: Any) -> Iterator[Point]:
    """Distances by walking around the ring, kernels from their Fourier sums."""
    for n, xi in ((5, 0.8125), (8, 1.5)):
        width = numbers.mpf(xi)
        steps = [min(shift, n - shift) for shift in range(n)]
        row = [numbers.exp(-((step / width) ** 2)) for step in steps]
        waves = [
            sum((row[j] * numbers.cos(2 * numbers.pi * q * j / n) for j in range(n)), numbers.zero)
            for q in range(n)
        ]

        def kernel(i: int, j: int, waves: Any = waves, n: int = n) -> Any:
            angles = (2 * numbers.pi * q * (i - j) / n for q in range(n))
            terms = (wave * numbers.cos(a) for wave, a in zip(waves, angles, strict=True))
            return sum(terms, numbers.zero) / n

        def walked(i: int, j: int, n: int = n) -> int:
            return next(k for k in range(n) if (i + k - j) % n == 0 or (i - k - j) % n == 0)

        sites = (1, n)
        values = {"n": n, "N": n, "L": 2, "xi": width}
        values |= {"walk": Indexed(walked, sites, sites), "kernel": Indexed(kernel, sites, sites)}
        yield Point(f"n = {n}, xi = {xi}", values)


@functools.lru_cache(maxsize=1)
def _mean_of_erfs() -> Relation:
    """Return the engine's E[erf(x1/sqrt 2) erf(x2/sqrt 2)]."""
    import sympy as sp

    from symderiv.gaussian import covariance_symbols, expectation

    x1, x2 = sp.symbols("x1 x2")
    integrand = sp.erf(x1 / sp.sqrt(2)) * sp.erf(x2 / sp.sqrt(2))
    return parse_statement(f"0 == {expectation(integrand, [x1, x2], covariance_symbols(2)).value}")


def _moments_of_inputs(gain: Any, c: Any, numbers: Any) -> dict[str, Any]:
    """E[psi psi'] and E[psi^2] in both conventions, for z of variance 1 and covariance c."""

    def mean(square: Any, covariance: Any) -> Any:
        values = {"c11": square, "c12": square * covariance, "c22": square}
        return evaluate(_mean_of_erfs().sides[1], values, numbers)

    one = numbers.mpf(1)
    return {
        "g": gain, "c": c, "Zsq1": mean(gain**2, one), "Zsq2": mean(2 * gain**2, one),
        "xx1": mean(gain**2, c) / mean(gain**2, one),
        "xx2": mean(2 * gain**2, c) / mean(2 * gain**2, one),
    }  # fmt: skip


def inputs(numbers: Any) -> Iterator[Point]:
    for gain, c in itertools.product((0.375, 2.0, 6.5), (-0.4375, 0.25, 0.875)):
        moments = _moments_of_inputs(numbers.mpf(gain), numbers.mpf(c), numbers)
        yield Point(f"g = {gain}, C = {c}", moments)


def gains(numbers: Any) -> Iterator[Point]:
    for gain in (0.375, 2.0, 6.5):
        yield Point(f"g = {gain}", {"g": numbers.mpf(gain)})


def small_gains(numbers: Any) -> Iterator[Point]:
    for c, gain in itertools.product((-0.4375, 0.875), (0.0625, 0.015625)):
        moments = _moments_of_inputs(numbers.mpf(gain), numbers.mpf(c), numbers)
        yield Point(f"g = {gain}, C = {c}", moments, gain, f"C = {c}")


def large_gains(numbers: Any) -> Iterator[Point]:
    for c, gain in itertools.product((-0.4375, 0.875), (64.0, 1024.0)):
        moments = _moments_of_inputs(numbers.mpf(gain), numbers.mpf(c), numbers)
        yield Point(f"g = {gain}, C = {c}", moments, 1 / gain, f"C = {c}")


def wide_kernels(numbers: Any) -> Iterator[Point]:
    """xi not small against n, at the wave whose eigenvalue is the smallest."""
    for n, xi in ((10, 6.0), (7, 4.0)):
        row = [numbers.exp(-((min(k, n - k) / numbers.mpf(xi)) ** 2)) for k in range(n)]
        matrix = numbers.matrix([[row[(j - i) % n] for j in range(n)] for i in range(n)])
        eigenvalues = numbers.eigsy(matrix, eigvals_only=True)
        smallest = min(eigenvalues)
        waves = [
            sum((row[j] * numbers.cos(2 * numbers.pi * q * j / n) for j in range(n)), numbers.zero)
            for q in range(n)
        ]
        lowest = min(range(n), key=lambda q, waves=waves: float(waves[q]))  # type: ignore[misc]
        values = {"n": n, "N": n, "L": 3, "xi": numbers.mpf(xi), "q": lowest, "smallest": smallest}
        yield Point(f"n = {n}, xi = {xi}, wave {lowest}", values)


def _mean(law: FiniteClasses, i: int) -> Any:
    return law.mean1(law.variable(lambda x: x[i - 1]))


def _both(law: FiniteClasses, i: int, j: int) -> Any:
    return law.mean1(law.variable(lambda x: x[i - 1] * x[j - 1]))


def _mapped(law: FiniteClasses, i: int, low: int, high: int) -> Any:
    """Return the mean when 0 and 1 are replaced by other values."""
    number = law.numbers.mpf
    return law.mean1(law.variable(lambda x: number(high if x[i - 1] else low)))


def pulses(numbers: Any) -> Iterator[Point]:
    """Yield populations of single pulses, counted one by one."""
    for n, first, last in ((7, 1, 4), (9, 4, 6), (6, 2, 3)):
        number = numbers.mpf
        inputs = {
            complement: [
                [number(x) for x in pulse]
                for pulse in single_pulses(n, range(first + 1, last + 1), complement)
            ]
            for complement in (False, True)
        }
        laws = {name: FiniteClasses(part, part, numbers) for name, part in inputs.items()}

        plain, whole, sites = laws[False], laws[True], (1, n)
        values = {
            "n": n, "a": first, "b": last, "s0": number(-2), "s1": number(3),
            "lminus": (number(first) + 0.25) / n, "lplus": (number(last) + 0.5) / n,
            "lengths": len({sum(map(int, x)) for x in inputs[False]}),
            "draws": len(inputs[False]),
            "mean": Indexed(lambda i, law=plain: _mean(law, i), sites),
            "both": Indexed(lambda i, j, law=plain: _both(law, i, j), sites, sites),
            "mean_c": Indexed(lambda i, law=whole: _mean(law, i), sites),
            "both_c": Indexed(lambda i, j, law=whole: _both(law, i, j), sites, sites),
            "mean_s": Indexed(lambda i, law=whole: _mapped(law, i, -2, 3), sites),
        }  # fmt: skip
        yield Point(f"n = {n}, lengths {first + 1} to {last}", Values(values))


def settings(numbers: Any) -> Iterator[Point]:
    """Yield the typical settings; the fractions exactly, not as doubles."""
    for low, high, length in ((250, 275, 11), (50, 75, 3)):
        values = {"n": 40, "lminus": numbers.mpf(low) / 1000, "lplus": numbers.mpf(high) / 1000}
        values["length"] = length
        yield Point(f"fractions {low / 1000} to {high / 1000} of 40", values)
