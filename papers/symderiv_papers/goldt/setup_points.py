"""Points of statements on the set-up: means over Gaussian grids, eigenvectors, a hidden manifold.

Means of polynomials over normal numbers are finite sums over Gauss-Hermite nodes, so that a mean
can be written down as it is printed and compared with the engine's closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np
import sympy as sp
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv.formula import activation as named_activation
from symderiv.gaussian import covariance_symbols, expectation
from symderiv.precision.balls.contexts import numbers as arithmetic
from symderiv_papers.goldt.points import Means, one_point, states
from symderiv_papers.references.exact import as_number
from symderiv_papers.references.latent import LatentNetwork, latent_network

__all__ = [
    "correlation_points",
    "eigenbasis_points",
    "field_points",
    "generator_points",
    "grid",
    "isotropic_points",
    "manifold_points",
]

_X: Final = sp.Symbol("x", real=True)
#: Coefficients are binary fractions, so that they are exact as doubles.
_PAIR: Final = ("x**2/2 + x", "x**3 - x/4")


def grid(dimension: int, nodes: int, numbers: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes (dimension, count) and weights (count,) that give means of polynomials exactly.

    Args:
        dimension: Of the normal vector.
        nodes: Per coordinate; exact up to the degree 2 nodes - 1 in each.
        numbers: mpmath numbers.
    """
    jacobi = numbers.matrix(nodes, nodes)
    for k in range(1, nodes):
        jacobi[k, k - 1] = jacobi[k - 1, k] = numbers.sqrt(numbers.mpf(k))
    values, vectors = numbers.eigsy(jacobi)
    hermite = np.array([values[k] for k in range(nodes)], dtype=object)
    weight = np.array([vectors[0, k] ** 2 for k in range(nodes)], dtype=object)
    places = np.array(np.meshgrid(*[np.arange(nodes)] * dimension, indexing="ij"))
    places = places.reshape(dimension, -1)
    return hermite[places], np.prod(weight[places], axis=0)


def _polynomial(text: str, order: int = 0) -> Any:
    return sp.lambdify(_X, sp.diff(named_activation(text).expression, _X, order), modules=[{}])


@lru_cache(maxsize=16)
def _field_point(state: LatentNetwork, nodes: int, digits: int) -> Point:
    with arithmetic(digits, "mpmath") as numbers:
        return _on_grid(state, nodes, numbers)


def correlation_points(numbers: Any) -> Iterator[Point]:
    """Yield points as :func:`field_points` does, of four fields."""
    for K, M in ((3, 1), (2, 2)):
        state = latent_network(K, M, (Fraction(7, 4), Fraction(3, 5)), (2, 3), 4, seed=K)
        yield _field_point(state, 5, numbers.dps)


def field_points(numbers: Any) -> Iterator[Point]:
    """Yield all fields on a grid: ``lam``, ``nu``, ``g``, ``tilde_g``, ``mean`` besides the
    engine's.

    ``I_2``, ``I_3``, ``I_4`` are the engine's integrals by unit, students 1 … K and then teachers;
    ``z``, ``y`` and ``dy`` of a unit are its field, activation and the latter's slope.
    """
    for state in states():
        yield _field_point(state, 4, numbers.dps)


def _on_grid(state: LatentNetwork, nodes: int, numbers: Any) -> Point:
    K, M = state.K, state.M
    means = Means(state, numbers, _PAIR)
    fields = [("s", k + 1) for k in range(K)] + [("t", n + 1) for n in range(M)]
    size = len(fields)
    covariance = numbers.matrix([[means.covariance(a, b) for b in fields] for a in fields])
    root = numbers.cholesky(covariance)
    normal, weight = grid(size, nodes, numbers)
    z = [sum(root[i, j] * normal[j] for j in range(i + 1)) for i in range(size)]
    kinds = [_PAIR[kind == "t"] for kind, _ in fields]
    units = (1, size)

    def closed(*pattern: str) -> Indexed:
        def value(*places: int) -> Any:
            pairs = zip(pattern, places, strict=True)
            return means(*((what, fields[place - 1]) for what, place in pairs))

        return Indexed(value, *[units] * len(pattern))

    base = one_point(state, numbers.dps, _PAIR)
    extra = {
        "lam": Indexed(z[:K], (1, K)),
        "nu": Indexed(z[K:], (1, M)),
        "g": _polynomial(_PAIR[0]),
        "tilde_g": _polynomial(_PAIR[1]),
        "mean": lambda values: numbers.fsum(values * weight),
        "units": size,
        "z": Indexed(z, units),
        "y": Indexed([_polynomial(g)(x) for g, x in zip(kinds, z, strict=True)], units),
        "dy": Indexed([_polynomial(g, 1)(x) for g, x in zip(kinds, z, strict=True)], units),
        "I_2": closed("g", "g"),
        "I_3": closed("g'", "x", "g"),
        "I_4": closed("g'", "g'", "g", "g"),
    }
    names = ("K", "M", "v", "tilde_v", "T")
    known = {**{name: base.values[name] for name in names}, **extra}
    lazy = {name: (lambda name=name: base.values[name]) for name in ("eps_g", "Q", "R")}
    return Point(base.label, Values(known, lazy))


def isotropic_points(numbers: Any) -> Iterator[Point]:
    """Yield inputs without structure on which the teacher acts too: Ω = Φ = I."""
    for K, M, N in ((3, 2, 6), (2, 4, 5)):
        state = _isotropic(K, M, N)
        yield one_point(state, numbers.dps, ("erf", "erf"))


@lru_cache(maxsize=4)
def _isotropic(K: int, M: int, N: int) -> LatentNetwork:
    base = latent_network(K, M, (Fraction(1),), (N,), N, seed=K)
    unit = tuple(tuple(Fraction(int(i == j)) for j in range(N)) for i in range(N))
    return LatentNetwork(
        unit, unit, base.eigenvalues, base.multiplicities, base.student, base.teacher, base.v,
        base.v_teacher, "isotropic",
    )  # fmt: skip


def eigenbasis_points(numbers: Any) -> Iterator[Point]:
    """Eigenvectors by diagonalisation: ``psi[tau, i]`` of length √N, ``rho_tau`` (descending).

    ``first[s]`` and ``last[s]`` are the eigenvectors of the eigenvalue s. ``C`` is the covariance
    of (ν, λ), ``C_all`` that of (c, x); ``R_T`` and ``Phi_T``
    are transposes.
    """
    for state in states():
        base = one_point(state, numbers.dps, ("erf", "erf"))
        N, D, K, M = state.N, state.D, state.K, state.M
        omega = numbers.matrix([[as_number(x, numbers) for x in row] for row in state.omega])
        values, vectors = numbers.eigsy(omega)
        root = numbers.sqrt(numbers.mpf(N))
        psi = [[root * vectors[i, N - 1 - tau] for i in range(N)] for tau in range(N)]
        counts = np.cumsum((0, *state.multiplicities))
        phi = [[as_number(x, numbers) for x in row] for row in state.phi]
        whole = _stacked(phi, omega, N, D, numbers)
        means = Means(state, numbers, ("erf", "erf"))
        fields = [("t", n + 1) for n in range(M)] + [("s", k + 1) for k in range(K)]
        C = [[means.covariance(a, b) for b in fields] for a in fields]
        units, inputs = (1, M + K), (1, N)
        extra = {
            "psi": Indexed(psi, inputs, inputs),
            "rho_tau": Indexed([values[N - 1 - tau] for tau in range(N)], inputs),
            "first": Indexed([int(x) + 1 for x in counts[:-1]], (1, state.L)),
            "last": Indexed([int(x) for x in counts[1:]], (1, state.L)),
            "Gamma": Indexed(_in_basis(psi, base.values["w"], K, N, numbers), (1, K), inputs),
            "C": Indexed(C, units, units),
            "C_all": Indexed(whole, (1, N + D), (1, N + D)),
            "Psi": Indexed(numbers.eye(D), (1, D), (1, D)),
            "R_T": Indexed([row[M:] for row in C[:M]], (1, M), (1, K)),
            "Phi_T": Indexed([list(row) for row in zip(*phi, strict=True)], (1, D), inputs),
        }  # fmt: skip
        copied = ("K", "M", "N", "D", "L", "Omega", "Phi", "w", "tilde_w", "q", "r", "tilde_T",
                  "rho", "mu", "T", "cov")  # fmt: skip
        known = {**{name: base.values[name] for name in copied}, **extra}
        lazy = {name: (lambda name=name, base=base: base.values[name]) for name in ("Q", "R")}
        yield Point(base.label, Values(known, lazy))


def _in_basis(psi: Any, w: Indexed, K: int, N: int, numbers: Any) -> list[list[Any]]:
    root = numbers.sqrt(numbers.mpf(N))
    return [
        [sum(row[i] * w[k, i + 1] for i in range(N)) / root for row in psi]
        for k in range(1, K + 1)
    ]  # fmt: skip


def _stacked(phi: Any, omega: Any, N: int, D: int, numbers: Any) -> list[list[Any]]:
    """Return the covariance of (c, x)."""
    top = [[numbers.mpf(int(a == b)) for b in range(D)] + [phi[i][a] for i in range(N)]
           for a in range(D)]  # fmt: skip
    bottom = [[*phi[i], *(omega[i, j] for j in range(N))] for i in range(N)]
    return top + bottom


# -- generators of one layer ------------------------------------------------------------------


def _closed(product: sp.Expr, fields: int) -> Any:
    symbols = [sp.Symbol(f"z{k}", real=True) for k in range(fields)]
    return expectation(product, symbols, covariance_symbols(fields)).unfolded()


def _mean_of_two(f: sp.Expr, g: sp.Expr, numbers: Any) -> Any:
    """E f(u) g(v) as a function of the three covariances; u = v has a function of its own."""
    u, v = (sp.Symbol(f"z{k}", real=True) for k in range(2))
    names = {name: getattr(numbers, name) for name in ("sqrt", "asin", "acos", "atan", "mpf")}
    modules = [{**names, "pi": +numbers.pi}, "mpmath"]
    c = covariance_symbols(2)
    two = sp.lambdify(
        [c[0, 0], c[0, 1], c[1, 1]], _closed(f.subs(_X, u) * g.subs(_X, v), 2), modules=modules
    )
    one = sp.lambdify([c[0, 0]], _closed((f * g).subs(_X, u), 1), modules=modules)

    def value(a: Any, b: Any, d: Any, *, same: bool = False) -> Any:
        return one(a) if same else two(a, b, d)

    return value


def generator_points(numbers: Any) -> Iterator[Point]:
    """x_n = σ(a_n·c) of three polynomials σ on a grid of c; ``Omega``, ``Phi`` by the engine."""
    N, K, M = 3, 2, 2
    a = ((Fraction(1, 2), Fraction(-1), Fraction(1)), (Fraction(3, 2), Fraction(1, 2), Fraction(0)),
         (Fraction(-1, 2), Fraction(1), Fraction(1, 2)))  # fmt: skip
    w = ((1, -2, 1), (2, 1, -3))
    tilde = ((1, 1), (-2, 1))
    for D in (2, 3):
        sizes = {2: a[:3], 3: a}
        rows = [[as_number(x, numbers) for x in row[:D]] for row in sizes[D]]
        teacher = [[numbers.mpf(x) for x in (*row, 3)[:D]] for row in tilde]
        student = [[numbers.mpf(x) for x in row] for row in w]
        for sigma in ("x**3 - x/4", "x**3/2 + x"):
            f = named_activation(sigma).expression
            mean2, mean1 = _mean_of_two(f, f, numbers), _mean_of_two(f, _X, numbers)
            normal, weight = grid(D, 5, numbers)
            fields = [sum(x * c for x, c in zip(row, normal, strict=True)) for row in rows]
            x = [_polynomial(sigma)(z) for z in fields]

            def dot(p: Any, q: Any) -> Any:
                return sum(x * y for x, y in zip(p, q, strict=True))

            omega = [
                [mean2(dot(p, p), dot(p, q), dot(q, q), same=p is q) for q in rows] for p in rows
            ]
            phi = [[mean1(dot(p, p), p[r], numbers.one) for r in range(D)] for p in rows]

            def overlaps(left: Any, middle: Any, right: Any, scale: Any) -> Any:
                return [
                    [sum(l[i] * middle[i][j] * r[j] for i in range(len(l)) for j in range(len(r)))
                     / scale for r in right] for l in left
                ]  # fmt: skip

            known = {
                "K": K, "M": M, "N": N, "D": D,
                "a": Indexed(rows, (1, N), (1, D)), "c": Indexed(list(normal), (1, D)),
                "x": Indexed(x, (1, N)), "sigma": _polynomial(sigma),
                "w": Indexed(student, (1, K), (1, N)),
                "tilde_w": Indexed(teacher, (1, M), (1, D)),
                "mean": lambda values, weight=weight: numbers.fsum(values * weight),
                "Omega": Indexed(omega, (1, N), (1, N)), "Phi": Indexed(phi, (1, N), (1, D)),
                "Q": Indexed(overlaps(student, omega, student, N), (1, K), (1, K)),
                "R": Indexed(overlaps(student, phi, teacher, numbers.sqrt(numbers.mpf(N * D))),
                             (1, K), (1, M)),
                "T": Indexed([[dot(p, q) / D for q in teacher] for p in teacher], (1, M), (1, M)),
            }  # fmt: skip
            yield Point(f"N = {N}, D = {D}, sigma = {sigma}", Values(known))


def manifold_points(functions: tuple[str, ...]) -> Callable[[Any], Iterator[Point]]:
    """x = f(F c/√D), rows of F with entries ±1, overlaps of the order 1/√D; parameter 1/D.

    Args:
        functions: f; the mean E f is taken off.
    """
    return partial(_manifold_points, functions)


def _manifold_points(functions: tuple[str, ...], numbers: Any) -> Iterator[Point]:
    one = numbers.one
    for text in functions:
        f = named_activation(text).expression
        mean2, mean1 = _mean_of_two(f, f, numbers), _mean_of_two(f, _X, numbers)
        b, c_f = mean1(one, one, one, same=True), mean2(one, one, one, same=True)
        # independent fields: the square of the mean, which is taken off the inputs
        square = mean2(one, numbers.zero, one)
        for D in (16, 64, 256):
            F = _signs(D)
            rows = [[numbers.mpf(x) for x in row] for row in F]

            def omega(
                i: int, j: int, F: Any = F, D: int = D, mean2: Any = mean2, off: Any = square
            ) -> Any:
                s = numbers.mpf(sum(p * q for p, q in zip(F[i - 1], F[j - 1], strict=True))) / D
                return mean2(one, s, one, same=i == j) - off

            def phi(i: int, r: int, F: Any = F, D: int = D, mean1: Any = mean1) -> Any:
                return mean1(one, F[i - 1][r - 1] / numbers.sqrt(numbers.mpf(D)), one)

            known = {
                "N": 3, "D": D, "F": Indexed(rows, (1, 3), (1, D)), "b": b, "c_f": c_f,
                "rest": c_f - square - b**2,
                "Omega": Indexed(lru_cache(omega), (1, 3), (1, 3)),
                "Phi": Indexed(lru_cache(phi), (1, 3), (1, D)),
            }  # fmt: skip
            yield Point(f"f = {text}, D = {D}", Values(known), 1 / D, text)


def _signs(D: int) -> list[list[int]]:
    """Return three rows of ±1 with the scalar products √D, -√D/2 and √D/2."""
    root = round(D**0.5)
    a, b = (D - root) // 2, (D + root // 2) // 2
    shared = (a + b - (D - root // 2) // 2) // 2
    second, third = set(range(a)), set(range(a - shared, a - shared + b))
    return [
        [1] * D,
        [-1 if r in second else 1 for r in range(D)],
        [-1 if r in third else 1 for r in range(D)],
    ]
