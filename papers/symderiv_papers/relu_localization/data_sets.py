"""The two data sets: nonlinear Gaussian process (NLGP) and single pulse (SP)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

from symderiv.verification.arithmetic import Indexed, Values, evaluate
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact
from symderiv.verification.statement import Statement, parse_statement
from symderiv_papers.relu_localization.populations import FiniteClasses, single_pulses
from symderiv_papers.relu_localization.rules import IN_DOUBLES

__all__ = ["CLAIMS", "FIRST", "NORMAL", "large_gains"]

_DISTANCE = "Min(abs(i - j), n - abs(i - j))"
NORMAL = "2/sqrt(2*pi)*exp(-z**2/2)"
FIRST, _SECOND = "2/pi*asin(g**2/(1 + g**2))", "2/pi*asin(2*g**2/(1 + 2*g**2))"
_SITES = "i = 1..n, j = 1..n"


def _rings(numbers: Any) -> Iterator[Point]:
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
def _mean_of_erfs() -> Statement:
    """The engine's E[erf(x1/sqrt 2) erf(x2/sqrt 2)]."""
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


def _inputs(numbers: Any) -> Iterator[Point]:
    for gain, c in itertools.product((0.375, 2.0, 6.5), (-0.4375, 0.25, 0.875)):
        moments = _moments_of_inputs(numbers.mpf(gain), numbers.mpf(c), numbers)
        yield Point(f"g = {gain}, C = {c}", moments)


def _gains(numbers: Any) -> Iterator[Point]:
    for gain in (0.375, 2.0, 6.5):
        yield Point(f"g = {gain}", {"g": numbers.mpf(gain)})


def _small_gains(numbers: Any) -> Iterator[Point]:
    for c, gain in itertools.product((-0.4375, 0.875), (0.0625, 0.015625)):
        moments = _moments_of_inputs(numbers.mpf(gain), numbers.mpf(c), numbers)
        yield Point(f"g = {gain}, C = {c}", moments, gain, f"C = {c}")


def large_gains(numbers: Any) -> Iterator[Point]:
    for c, gain in itertools.product((-0.4375, 0.875), (64.0, 1024.0)):
        moments = _moments_of_inputs(numbers.mpf(gain), numbers.mpf(c), numbers)
        yield Point(f"g = {gain}, C = {c}", moments, 1 / gain, f"C = {c}")


def _wide_kernels(numbers: Any) -> Iterator[Point]:
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
    """The mean when 0 and 1 are replaced by other values."""
    number = law.numbers.mpf
    return law.mean1(law.variable(lambda x: number(high if x[i - 1] else low)))


def _pulses(numbers: Any) -> Iterator[Point]:
    """Populations of single pulses, counted one by one."""
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


def _settings(numbers: Any) -> Iterator[Point]:
    """The typical settings; the fractions exactly, not as doubles."""
    for low, high, length in ((250, 275, 11), (50, 75, 3)):
        values = {"n": 40, "lminus": numbers.mpf(low) / 1000, "lplus": numbers.mpf(high) / 1000}
        values["length"] = length
        yield Point(f"fractions {low / 1000} to {high / 1000} of 40", values)


_OVERLAP = "(Max(0, l - d) + Max(0, l - (n - d)))"


def _pairs_of_sites(moment: str) -> str:
    """A second moment of sites i, j; the distance is written out."""
    d = f"({_DISTANCE})"
    return moment.replace("d)", f"{d})")


_BOTH = _pairs_of_sites(f"Sum({_OVERLAP}/n, (l, a + 1, b))/(b - a)")
_MEAN = "Sum(l/n, (l, a + 1, b))/(b - a)"

CLAIMS: tuple[Claim, ...] = (
    Claim("NLGP ring", f"walk[i, j] == {_DISTANCE}", _rings, Exact(), _SITES, definition=True),
    Claim(
        "NLGP kernel",
        f"kernel[i, j] == exp(-({_DISTANCE})**2/xi**2)",
        _rings,
        Exact(),
        _SITES,
        definition=True,
        note="The left side is the Fourier sum of the kernel's eigenvalues: it is circulant.",
    ),
    Claim(
        "NLGP input",
        f"1 == Integral({NORMAL}*(erf(g*z/sqrt(2))/sqrt({FIRST}))**2, (z, 0, oo))"
        f" == Integral({NORMAL}*(erf(g*z)/sqrt({_SECOND}))**2, (z, 0, oo))",
        _gains,
        IN_DOUBLES,
        definition=True,
        note="Both conventions have E x_i^2 = 1, by quadrature. erf(u) with the first Z has not.",
    ),
    Claim(
        "NLGP first convention",
        f"Zsq1 == {FIRST}",
        _inputs,
        Exact(),
        definition=True,
    ),
    Claim(
        "NLGP second convention",
        f"Zsq2 == {_SECOND}",
        _inputs,
        Exact(),
        definition=True,
    ),
    Claim(
        "NLGP covariance",
        "xx1 == asin(g**2/(1 + g**2)*c)/asin(g**2/(1 + g**2))",
        _inputs,
        Exact(),
        part="first convention",
        regime="every gain and every correlation",
    ),
    Claim(
        "NLGP covariance",
        "xx2 == asin(2*g**2/(1 + 2*g**2)*c)/asin(2*g**2/(1 + 2*g**2))",
        _inputs,
        Exact(),
        part="second convention",
        regime="every gain and every correlation",
    ),
    Claim(
        "NLGP limits",
        "xx1 == c",
        _small_gains,
        Converges(4.0),
        part="covariance, small gain",
        printed=0,
        regime="g -> 0; the error goes like g^4",
    ),
    Claim(
        "NLGP limits",
        f"Integral({NORMAL}*(erf(g*z/sqrt(2))/sqrt({FIRST}))**4, (z, 0, oo)) == 3",
        _small_gains,
        Converges(2.0, digits=16, backend="float64"),
        part="Gaussian, small gain",
        printed=0,
        regime="g -> 0; the fourth moment is that of a Gaussian up to g^2",
    ),
    Claim(
        "NLGP limits",
        "xx1 == 2/pi*asin(c)",
        large_gains,
        Converges(1.0),
        part="large gain",
        printed=1,
        regime="g -> infinity; the right side is the covariance of signs; the error goes like 1/g",
    ),
    Claim(
        "NLGP label",
        definition=True,
        note="Y = 1 for the class of correlation length xi_1, Y = 0 for xi_2; all means over X and "
        "Y take both with probability 1/2.",
    ),
    Claim(
        "NLGP wrapped kernel",
        "smallest == Sum(exp(-Min(j, n - j)**2/xi**2)*cos(2*pi*q*j/n), (j, 0, n - 1)) < 0",
        _wide_kernels,
        Exact(),
        in_words=True,
        regime="xi = 0.6 n",
        note="The smallest eigenvalue is negative there: such a kernel is no covariance.",
    ),
    Claim(
        "SP lengths",
        "lengths == floor(lplus*n) - floor(lminus*n)",
        _pulses,
        Exact(),
        definition=True,
    ),
    Claim("SP draw", "draws == n*(b - a)", _pulses, Exact(), definition=True),
    Claim(
        "SP pulse",
        f"both[i, j] == {_BOTH}",
        _pulses,
        Exact(),
        _SITES,
        definition=True,
        note="The second moments of pulses without complement; they depend on the distance only.",
    ),
    Claim(
        "SP complement",
        f"both_c[i, j] == 1/2*(2*({_BOTH}) + 1 - 2*({_MEAN}))",
        _pulses,
        Exact(),
        _SITES,
        definition=True,
        note="The second moments with complements.",
    ),
    Claim(
        "SP support",
        "mean_s[i] == 1/2*(s1 - s0) + s0",
        _pulses,
        Exact(),
        "i = 1..n",
        definition=True,
    ),
    Claim(
        "SP settings",
        "length == floor(lminus*n) + 1 == floor(lplus*n)",
        _settings,
        Exact(),
        note="Lengths 11 and 3: each class has a single one.",
    ),
    Claim(
        "SP mean",
        "mean_c[i] == 1/2",
        _pulses,
        Exact(),
        "i = 1..n",
        regime="with complements",
        note="Without them the mean is the mean length over n. Lines that need X symmetric about "
        "0 (after 12, 13) hold for the support {-1, 1} with complements.",
    ),
)
