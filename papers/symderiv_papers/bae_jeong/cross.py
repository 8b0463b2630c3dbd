"""Means over normal latent vectors of functions of single inputs: exact at every size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.references.manifold import Manifold, manifold

__all__ = [
    "cross_points",
    "pair_mean",
]

_CASES = (
    (3, 2, 4, 6, "relu"),
    (2, 3, 5, 4, "x**2 + x"),
    (3, 3, 4, 4, "sign"),
)


def cross_points(numbers: Any) -> Iterator[Point]:
    """Small manifolds whose means are closed forms in the engine's calculus, no Gaussian inputs.

    Names: K, M, D, N, a, b, c, W, Wt, S, R[k, m] = E[bar_k nu_m], mean_bar[k] (from the engine's
    E f and quadrature of f at the features' own lengths), mean_nu[m] (a product rule over the
    latent variables), moments[p, q] = E[u^p f(u)^q], the function f.
    """
    for seed, (K, M, D, N, f) in enumerate(_CASES):
        yield _point(K, M, D, N, f, seed, numbers.dps)


@lru_cache(maxsize=16)
def _point(K: int, M: int, D: int, N: int, f: str, seed: int, digits: int) -> Point:
    state = manifold(K, M, D, N, f, "erf", digits, seed)
    return Point(f"K = {K}, M = {M}, D = {D}, N = {N}, f = {f}", Values(_values(state)))


@lru_cache(maxsize=16)
def _closed(f: str) -> tuple[Any, Any, Any]:
    """E[f(u) y] for any covariance of u and y, and its entries."""
    import sympy as sp

    from symderiv.formula import activation
    from symderiv.gaussian import covariance_symbols, expectation

    u, y = sp.symbols("u y", real=True)
    g = activation(f).expression
    (x,) = g.free_symbols
    covariance = covariance_symbols(2)
    found = expectation(g.subs(x, u) * y, [u, y], covariance).value
    return found, [covariance[0, 0], covariance[0, 1], covariance[1, 1]], (g, x)


def _functions(state: Manifold) -> tuple[Any, ...]:
    """Return the closed mean and f itself in the manifold's numbers."""
    import sympy as sp

    numbers = state.numbers
    names = {name: getattr(numbers, name) for name in ("sqrt", "sign", "mpf", "erf", "exp")}
    names |= {"pi": +numbers.pi, "Heaviside": lambda x, half: numbers.mpf(int(x > 0))}
    found, entries, (g, x) = _closed(state.f)
    closed = sp.lambdify(entries, found, modules=[names, "math"])
    return closed, sp.lambdify(x, g, modules=[names, "math"])


def _mean_of(f: Any, variance: Any, numbers: Any) -> Any:
    """E f(u), u normal with this variance, by quadrature on both sides of f's kink at 0."""
    scale = numbers.sqrt(variance)

    def weighted(z: Any) -> Any:
        return f(scale * z) * numbers.exp(-(z**2) / 2)

    return numbers.quad(weighted, [-numbers.inf, 0, numbers.inf]) / numbers.sqrt(2 * numbers.pi)


def _nodes(numbers: Any) -> tuple[tuple[Any, Any], ...]:
    """Gauss-Hermite nodes and weights of the normal law, exact up to degree 5."""
    root = numbers.sqrt(3)
    sixth = numbers.one / 6
    return ((-root, sixth), (numbers.zero, 4 * sixth), (root, sixth))


def _mean_over_latent(function: Any, D: int, nodes: Any) -> Any:
    """Return the mean of a function of D normal latent variables by a product rule."""
    total = 0
    for places in product(nodes, repeat=D):
        weight = 1
        for _, own in places:
            weight = weight * own
        total += weight * function(tuple(place for place, _ in places))
    return total


def _values(state: Manifold) -> dict[str, Any]:
    numbers, D, N = state.numbers, state.D, state.N
    with_field, f = _functions(state)
    a, b, c = state.coefficients
    variance = [sum(x**2 for x in state.features[:, i]) / D for i in range(N)]
    with_teacher = state.features.T * state.teacher.T / D
    T = state.teacher * state.teacher.T / D
    root = numbers.sqrt(N)

    def exact(value: Any) -> Any:
        return numbers.mpf(value)

    R = [
        [
            sum(
                state.student[k, i] * exact(with_field(variance[i], with_teacher[i, m], T[m, m]))
                for i in range(N)
            )
            / root
            for m in range(state.M)
        ]
        for k in range(state.K)
    ]
    averaged = [_mean_of(f, x, numbers) for x in variance]
    means = [
        sum(state.student[k, i] * (averaged[i] - a) for i in range(N)) / root
        for k in range(state.K)
    ]

    def nu(m: int, latent: tuple[Any, ...]) -> Any:
        return sum(c * w for c, w in zip(latent, state.teacher[m, :], strict=True)) / numbers.sqrt(
            D
        )

    nodes = _nodes(numbers)
    Ks, Ms, Ds, Ns = (1, state.K), (1, state.M), (1, D), (1, N)
    return {
        "K": state.K, "M": state.M, "D": D, "N": N, "a": a, "b": b, "c": c,
        "W": Indexed(state.student, Ks, Ns), "Wt": Indexed(state.teacher, Ms, Ds),
        "F": Indexed(state.features, Ds, Ns), "S": Indexed(state.seen, Ks, Ds),
        "R": Indexed(R, Ks, Ms), "mean_bar": Indexed(means, Ks),
        "mean_nu": Indexed(
            [_mean_over_latent(lambda c, m=m: nu(m, c), D, nodes) for m in range(state.M)], Ms
        ),
        "moments": Indexed([[numbers.one, a, c], [numbers.zero, b, numbers.zero]], (0, 1), (0, 2)),
        "f": f,
    }  # fmt: skip


@lru_cache(maxsize=8)
def pair_mean(f: str) -> tuple[Any, Any]:
    """E[f(u) f(w)] of standard normal u, w as an expression, and their correlation in it."""
    import sympy as sp

    from symderiv.formula import activation
    from symderiv.gaussian import covariance_symbols, i2

    g = activation(f).expression
    covariance = covariance_symbols(2)
    value = i2(g, g, covariance).unfolded()
    ones = {covariance[0, 0]: sp.S.One, covariance[1, 1]: sp.S.One}
    return value.subs(ones), covariance[0, 1]
