"""Conditional features and Hermite coefficients, by the engine and by sums over grids.

Coordinates are such that V_c is spanned by the first two axes: a and s are rational there, and the
engine's means at them are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values
from symderiv_models.one_step.hermite import hermite_model
from symderiv_models.one_step.setting import window_degree

from symderiv.gaussian import expectation
from symderiv_papers.goldt.setup_points import grid

__all__ = ["conditional_points", "hermite_points", "notebook_points", "window_points"]

_X = sp.Symbol("x", real=True)
#: σ of the conditional features: a polynomial, of which grids give all means exactly.
_CUBIC = _X**3 / 3 - _X / 2 + _X**2 / 5
_INSIDE = 2


def conditional_points(numbers: Any) -> Iterator[Point]:
    """Features of k fields at fixed F and kappa, n - 2 directions outside V_c.

    Names: k, d (directions outside), nu[i], Psi[i, r], Cov[i, j] (sums over a grid of z_perp),
    a[i], s[i], f[i, r], E_sigma and E_slope (the engine's means of sigma(a + s z) and of its
    slope), Phi[i, j] (Mehler's series of the engine's means of derivatives), field[i], z[r], mu[r].
    """
    for k, d, centre in ((2, 3, 0), (3, 2, 1)):
        F = [[Fraction((5 * i + 3 * j * j + i * j) % 7 - 3, 6) for j in range(_INSIDE + d)]
             for i in range(1, k + 1)]  # fmt: skip
        kappa = [Fraction(4, 3), Fraction(-5, 7)]
        mean = [Fraction(centre * (r + 1), 4) for r in range(d)]
        yield Point(
            f"k = {k}, {d} directions outside, mu_c {'not ' if centre else ''}in V_c",
            _conditional(F, kappa, mean, numbers),
        )


def _conditional(
    F: list[list[Fraction]], kappa: list[Fraction], mean: list[Fraction], numbers: Any
) -> Values:
    k, d = len(F), len(mean)

    def mp(value: Fraction) -> Any:
        return numbers.mpf(value.numerator) / value.denominator

    own = [sum((f * x for f, x in zip(row, kappa, strict=False)), Fraction(0)) for row in F]
    outside = [row[_INSIDE:] for row in F]
    shift = [sum((f * x for f, x in zip(row, mean, strict=True)), Fraction(0)) for row in outside]
    square = [sum((f * f for f in row), Fraction(0)) for row in outside]
    total = [a + b for a, b in zip(own, shift, strict=True)]
    nodes, weight = grid(d, 5, numbers)
    fields = [
        mp(total[i]) + sum(mp(f) * z for f, z in zip(outside[i], nodes, strict=True))
        for i in range(k)
    ]
    sigma = [value**3 / 3 - value / 2 + value**2 / 5 for value in fields]
    nu = [np.dot(weight, values) for values in sigma]
    z = [numbers.mpf(3 * r - 1) / 4 for r in range(d)]

    def at(order: int) -> Callable[[Any, Any], Any]:
        def mean_of(a: Any, s: Any) -> Any:
            places = {(str(mp(total[i])), str(numbers.sqrt(mp(square[i])))): i for i in range(k)}
            i = places.get((str(a), str(s)))
            if i is None:  # a mutant asks elsewhere
                return _engine_at(order, a, s, numbers)
            exact = _engine_mean(order, total[i], square[i])
            return numbers.mpf(exact.p) / exact.q

        return mean_of

    def Phi(i: int, j: int) -> Any:
        r = sum((a * b for a, b in zip(outside[i - 1], outside[j - 1], strict=True)), Fraction(0))
        found = numbers.zero
        for p in (2, 3):
            ends = [_engine_mean(p, total[e - 1], square[e - 1]) for e in (i, j)]
            term = ends[0] * ends[1] * sp.Rational(r.numerator, r.denominator) ** p
            term /= math.factorial(p)
            found += numbers.mpf(int(term.p)) / int(term.q)
        return found

    def covariance(i: int, j: int) -> Any:
        return np.dot(weight, sigma[i - 1] * sigma[j - 1]) - nu[i - 1] * nu[j - 1]

    known = {
        "k": k, "d": d, "nu": Indexed(nu, (1, k)), "Phi": Indexed(Phi, (1, k), (1, k)),
        "Psi": Indexed(lambda i, r: np.dot(weight, sigma[i - 1] * nodes[r - 1]), (1, k), (1, d)),
        "Cov": Indexed(covariance, (1, k), (1, k)),
        "a": Indexed([mp(x) for x in total], (1, k)), "own": Indexed([mp(x) for x in own], (1, k)),
        "s": Indexed([numbers.sqrt(mp(x)) for x in square], (1, k)),
        "f": Indexed([[mp(x) for x in row] for row in outside], (1, k), (1, d)),
        "mu": Indexed([mp(x) for x in mean], (1, d)), "z": Indexed(z, (1, d)),
        "field": Indexed(
            [mp(total[i]) + sum(mp(f) * x for f, x in zip(outside[i], z, strict=True))
             for i in range(k)], (1, k)),
        "E_sigma": at(0), "E_slope": at(1),
    }  # fmt: skip
    return Values(known)


@lru_cache(maxsize=64)
def _engine_mean(order: int, mean: Fraction, variance: Fraction) -> Any:
    """E of a derivative of σ at N(mean, variance)."""
    law = [sp.Matrix([[sp.Rational(q.numerator, q.denominator)]]) for q in (variance, mean)]
    g = sp.diff(_CUBIC, _X, order)
    return sp.nsimplify(expectation(g, [_X], law[0], law[1]).value) if g.has(_X) else g


def _engine_at(order: int, a: Any, s: Any, numbers: Any) -> Any:
    nodes, weight = grid(1, 4, numbers)
    slope = sp.lambdify(_X, sp.diff(_CUBIC, _X, order), modules="mpmath")
    return sum(w * slope(a + s * x) for x, w in zip(nodes[0], weight, strict=True))


def window_points(numbers: Any) -> Iterator[Point]:
    """ell = ⌈beta/(1 - beta)⌉, l of the theorem, and the ends of the beta with this ell."""
    for text in ("0.2", "0.49", "0.55", "0.7", "0.74", "0.78", "0.81", "0.93"):
        degree = window_degree(float(text))
        assert degree is not None
        exact = Fraction(text)
        beta = numbers.mpf(exact.numerator) / exact.denominator
        ell = _ell(beta, numbers)
        known = {
            "l": degree + 1, "ell": ell, "lower": _end(ell, beta, numbers.zero, numbers),
            "upper": _end(ell, beta, numbers.one, numbers),
        }  # fmt: skip
        yield Point(f"beta = {text}", Values(known))


def _ell(beta: Any, numbers: Any) -> int:
    return int(numbers.ceil(beta / (1 - beta))) if beta < 1 else -1


def _end(ell: int, inside: Any, outside: Any, numbers: Any) -> Any:
    """Return where ell changes between two points."""
    for _ in range(numbers.prec):
        middle = (inside + outside) / 2
        if _ell(middle, numbers) == ell:
            inside = middle
        else:
            outside = middle
    return inside


#: Activation, formula, b², l.
_MODELS = (("relu", Fraction(9, 10), 3), ("tanh", Fraction(17, 19), 4), ("sigmoid", Fraction(1), 4))
_FAR = 14


def hermite_points(numbers: Any) -> Iterator[Point]:
    """h[j] (j = 0..l-1), hstar by the engine; sigma, H(j, z), b, l; HH[i, j] = E H_i H_j.

    poly(x) is the sum of h_j H_j(x/b)/j!; rest is E (sigma(b z) - poly(b z))^2.
    """
    for text, squared, l in _MODELS:
        yield Point(f"{text}, b^2 = {squared}, l = {l}", _hermite(text, squared, l, numbers))


def _hermite(text: str, squared: Fraction, l: int, numbers: Any) -> Values:
    model = hermite_model(text, squared, l - 1)
    b = numbers.sqrt(numbers.mpf(squared.numerator) / squared.denominator)
    h = [numbers.mpf(value.value) for value in model.coefficients]
    sigma = _sigma(text, numbers)

    def H(j: Any, z: Any) -> Any:
        before, found = numbers.zero, numbers.one
        for i in range(int(j)):
            before, found = found, z * found - i * before
        return found

    def poly(x: Any) -> Any:
        return sum(h[j] * H(j, x / b) / numbers.factorial(j) for j in range(l))

    def rest() -> Any:
        def term(z: Any) -> Any:
            return (sigma(b * z) - poly(b * z)) ** 2 * numbers.npdf(z)

        return numbers.quad(term, [-_FAR, -5, 0, 5, _FAR])

    nodes, weight = grid(1, l + 1, numbers)

    def products(i: int, j: int) -> Any:
        return sum(w * H(i, z) * H(j, z) for z, w in zip(nodes[0], weight, strict=True))

    known = {
        "l": l, "b": b, "far": _FAR, "h": Indexed(h, (0, l - 1)),
        "hstar": numbers.mpf(model.remainder.value),
        "sigma": sigma, "H": H, "poly": poly, "density": numbers.npdf,
        "HH": Indexed(products, (0, l - 1), (0, l - 1)),
    }  # fmt: skip
    return Values(known, {"rest": rest})


def _sigma(text: str, numbers: Any) -> Callable[[Any], Any]:
    named: dict[str, Callable[[Any], Any]] = {
        "relu": lambda x: x if x > 0 else numbers.zero,
        "tanh": numbers.tanh,
        "sigmoid": lambda x: 1 / (1 + numbers.exp(-x)),
    }
    return named[text]


def notebook_points(numbers: Any) -> Iterator[Point]:
    """h[j] by the engine and h_100[j] by the notebooks' 100-point Gauss-Hermite sum; size = h_1."""
    nodes, weight = np.polynomial.hermite_e.hermegauss(100)
    weight = weight / weight.sum()
    for text, squared, l in _MODELS:
        model = hermite_model(text, squared, l - 1)
        fields = math.sqrt(squared) * nodes
        value = {
            "relu": np.maximum(fields, 0.0),
            "tanh": np.tanh(fields),
            "sigmoid": 1 / (1 + np.exp(-fields)),
        }[text]
        sums = [
            float(np.sum(weight * value * np.polynomial.hermite_e.hermeval(nodes, [0] * j + [1])))
            for j in range(l)
        ]
        h = [float(v.value) for v in model.coefficients]
        known = {
            "l": l, "h": Indexed(h, (0, l - 1)), "h_100": Indexed(sums, (0, l - 1)), "size": h[1],
        }  # fmt: skip
        yield Point(f"{text}, b^2 = {squared}", Values(known))
