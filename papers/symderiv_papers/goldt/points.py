"""Points of statements on the dynamics: exact weights and covariances, means of two activations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import sympy as sp
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv.formula import activation as named_activation
from symderiv.gaussian import covariance_symbols, expectation
from symderiv.precision.balls.contexts import numbers as arithmetic
from symderiv_papers.references.exact import as_number
from symderiv_papers.references.latent import LatentNetwork, latent_network, latent_rates

__all__ = [
    "ETA",
    "Factor",
    "Field",
    "Means",
    "network_points",
    "one_point",
    "states",
]

#: Learning rate of all points: terms of the second order must not be small.
ETA: Final = Fraction(7, 10)
_SYMBOLS: Final = tuple(sp.Symbol(f"z{k}", real=True) for k in range(4))
_NAMES: Final = ("sqrt", "asin", "acos", "atan", "exp", "log", "erf", "mpf")

#: A field: ("s", k) is λ^k, ("t", n) is ν^n.
Field = tuple[str, int]
#: What stands in a mean: "g", "g'", "g''" or the field itself, "x".
Factor = tuple[str, Field]


@lru_cache(maxsize=2)
def states() -> tuple[LatentNetwork, ...]:
    """K ≠ M, N ≠ D, three and two eigenvalues, two of them close, one student."""
    generic = Fraction(7, 4), Fraction(3, 5), Fraction(1, 3)
    close = Fraction(20001, 10000), Fraction(2)
    return (
        latent_network(3, 2, generic, (1, 3, 2), 4, seed=1),
        latent_network(2, 3, close, (2, 4), 3, seed=2, words="eigenvalues close together"),
        latent_network(1, 3, generic, (2, 1, 3), 8, seed=3, words="D above N"),
    )


class Means:
    """Gaussian means of products of activations of fields, by the engine's closed forms.

    Args:
        state: Weights and covariances.
        numbers: mpmath numbers.
        activations: Of students and teachers.
    """

    def __init__(self, state: LatentNetwork, numbers: Any, activations: tuple[str, str]) -> None:
        self.state, self.numbers, self.activations = state, numbers, activations
        self._found: dict[tuple[Factor, ...], Any] = {}
        self._root = numbers.sqrt(numbers.mpf(state.N * state.D))

    def covariance(self, a: Field, b: Field) -> Any:
        """E[a b]."""
        (one, i), (other, j) = sorted((a, b))
        if one == other:
            rows = self.state.Q if one == "s" else self.state.T
            return as_number(rows[i - 1][j - 1], self.numbers)
        return as_number(self.state.R_times_root[i - 1][j - 1], self.numbers) / self._root

    def __call__(self, *factors: Factor) -> Any:
        if factors not in self._found:
            fields = list(dict.fromkeys(field for _, field in factors))
            pattern = tuple((what, fields.index(field), field[0]) for what, field in factors)
            entries = [
                self.covariance(fields[i], fields[j])
                for i in range(len(fields))
                for j in range(i, len(fields))
            ]
            self._found[factors] = _function(pattern, self.activations, self.numbers)(*entries)
        return self._found[factors]


_Pattern = tuple[tuple[str, int, str], ...]


def _function(pattern: _Pattern, activations: tuple[str, str], numbers: Any) -> Callable[..., Any]:
    fields = 1 + max(place for _, place, _ in pattern)
    matrix = covariance_symbols(fields)
    arguments = [matrix[i, j] for i in range(fields) for j in range(i, fields)]
    names = {name: getattr(numbers, name) for name in _NAMES}
    names["pi"] = +numbers.pi
    closed = _closed_form(pattern, activations)
    function: Callable[..., Any] = sp.lambdify(arguments, closed, modules=[names, "mpmath"])
    return function


@lru_cache(maxsize=512)
def _closed_form(pattern: _Pattern, activations: tuple[str, str]) -> sp.Expr:
    x = sp.Symbol("x", real=True)
    product = sp.S.One
    for what, place, kind in pattern:
        g = named_activation(activations[kind == "t"]).expression
        term = x if what == "x" else sp.diff(g, x, what.count("'"))
        product *= term.subs(x, _SYMBOLS[place])
    fields = 1 + max(place for _, place, _ in pattern)
    return expectation(product, list(_SYMBOLS[:fields]), covariance_symbols(fields)).unfolded()


def network_points(
    activations: tuple[tuple[str, str], ...],
) -> Callable[[Any], Iterator[Point]]:
    """Return points at all states for each pair of activations of student and teacher."""

    def points(numbers: Any) -> Iterator[Point]:
        for pair, state in itertools.product(activations, states()):
            yield one_point(state, numbers.dps, pair)

    return points


@lru_cache(maxsize=32)
def one_point(state: LatentNetwork, digits: int, activations: tuple[str, str]) -> Point:
    """Return everything that statements on a network may name; computed once for all claims.

    ``q``, ``r``, ``tilde_T`` have the eigenvalue's number first; ``dq`` and ``dr`` are the engine's
    rates, ``dq1`` those without the second order. ``h1`` … ``h5`` are coefficients of exact
    regression, E[g'' g] and E[g' g'], not the quotients that the paper writes.
    """
    with arithmetic(digits, "mpmath") as numbers:
        return _computed(state, numbers, activations)


def _computed(state: LatentNetwork, numbers: Any, activations: tuple[str, str]) -> Point:
    K, M, L = (1, state.K), (1, state.M), (1, state.L)
    means = Means(state, numbers, activations)
    eta = as_number(ETA, numbers)

    def exact(values: Any) -> Any:
        if isinstance(values, tuple | list):
            return [exact(value) for value in values]
        return as_number(values, numbers)

    @lru_cache(maxsize=2)
    def rates(full: bool) -> Any:
        return latent_rates(state, eta, numbers, activations, full_order=full)

    def regression(kind: str, first: bool) -> Callable[[int, int], Any]:
        """E[g'(λ^k) g(b) z] = first E[λ^k z] + second E[b z]."""

        def of(k: int, b: int) -> Any:
            if first:
                return means(("g''", ("s", k)), ("g", (kind, b)))
            return means(("g'", ("s", k)), ("g'", (kind, b)))

        return of

    def alone(k: int) -> Any:
        slope = means(("g''", ("s", k)), ("g", ("s", k)))
        return slope + means(("g'", ("s", k)), ("g'", ("s", k)))

    def noise(k: int, l: int) -> Any:
        """E[g'(λ^k) g'(λ^l) Δ²]."""
        units = [("s", j) for j in range(1, state.K + 1)] + [("t", n) for n in range(1, M[1] + 1)]
        weights = [*exact(state.v), *(-x for x in exact(state.v_teacher))]
        terms = itertools.product(zip(weights, units, strict=True), repeat=2)
        slopes = ("g'", ("s", k)), ("g'", ("s", l))
        return numbers.fsum(a * b * means(*slopes, ("g", x), ("g", y)) for (a, x), (b, y) in terms)

    known = {
        "K": state.K, "M": state.M, "L": state.L, "N": state.N, "D": state.D, "eta": eta,
        "delta": numbers.mpf(state.D) / state.N,
        "Omega": Indexed(exact(state.omega), (1, state.N), (1, state.N)),
        "Phi": Indexed(exact(state.phi), (1, state.N), (1, state.D)),
        "w": Indexed(exact(state.student), K, (1, state.N)),
        "tilde_w": Indexed(exact(state.teacher), M, (1, state.D)),
        "v": Indexed(exact(state.v), K), "tilde_v": Indexed(exact(state.v_teacher), M),
        "rho": Indexed(exact(state.eigenvalues), L),
        "mu": Indexed(exact(state.weights), L),
        "q": Indexed(exact(state.q), L, K, K), "r": Indexed(exact(state.r), L, K, M),
        "tilde_T": Indexed(exact(state.t), L, M, M), "T": Indexed(exact(state.T), M, M),
        "h1": Indexed(regression("s", True), K, K), "h2": Indexed(regression("s", False), K, K),
        "h3": Indexed(alone, K),
        "h4": Indexed(regression("t", True), K, M), "h5": Indexed(regression("t", False), K, M),
        "h6": Indexed(_kept(noise), K, K),
        "lam": Indexed(lambda k: ("s", k), K), "nu": Indexed(lambda n: ("t", n), M),
        "cov": means.covariance,
        "I2": lambda a, b: means(("g", a), ("g", b)),
        "I3": lambda a, b, c: means(("g'", a), ("x", b), ("g", c)),
        "I4": lambda a, b, c, d: means(("g'", a), ("g'", b), ("g", c), ("g", d)),
    }  # fmt: skip
    lazy = {
        "Q": lambda: Indexed(rates(True).Q, K, K),
        "R": lambda: Indexed(rates(True).R, K, M),
        "eps_g": lambda: rates(True).error,
        "dq": lambda: Indexed(rates(True).dq, L, K, K),
        "dq1": lambda: Indexed(rates(False).dq, L, K, K),
        "dr": lambda: Indexed(rates(True).dr, L, K, M),
    }
    g, teacher = activations
    words = f"g = {g}" + ("" if g == teacher else f", teacher {teacher}")
    return Point(f"{state.label}, eta = {ETA}, {words}", Values(known, lazy))


def _kept(function: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    return lru_cache(maxsize=64)(function)
