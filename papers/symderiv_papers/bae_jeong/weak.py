"""Weak correlations: pairs of functions, densities, covariances of fields at finite size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.bae_jeong.cross import pair_mean
from symderiv_papers.references.manifold import Manifold, coefficients, manifold

__all__ = [
    "blocks",
    "growth_points",
    "in_numbers",
    "large",
    "nearly_orthogonal",
    "pair_points",
    "quadratic",
    "quadratic_forms",
    "two_functions",
    "vector_functions",
]

_SMALL: Final = (1e-2, 1e-3)
_PAIRS: Final = (("relu", "relu"), ("sign", "x**2 + x + 1"), ("erf", "relu"))


def in_numbers(expression: Any, names: list[Any], numbers: Any) -> Callable[..., Any]:
    """Return a closed form as a function in some kind of numbers."""
    import sympy as sp

    known = ("sqrt", "sign", "mpf", "erf", "exp", "asin", "acos", "atan")
    modules = {name: getattr(numbers, name) for name in known} | {"pi": +numbers.pi}
    return sp.lambdify(names, expression, modules=[modules, "math"])  # type: ignore[no-any-return]


@lru_cache(maxsize=8)
def _two(u: str, v: str) -> tuple[Any, Any]:
    import sympy as sp

    from symderiv.formula import activation
    from symderiv.gaussian import covariance_symbols, i2

    covariance = covariance_symbols(2)
    value = i2(activation(u).expression, activation(v).expression, covariance).unfolded()
    ones = {covariance[0, 0]: sp.Integer(2), covariance[1, 1]: sp.Rational(3, 2)}
    return value.subs(ones), covariance[0, 1]


def two_functions(numbers: Any) -> Iterator[Point]:
    """E[u(x1) v(x2)] of weakly correlated x1 and x2, and E u, E v; names both, first, second."""
    for u, v in _PAIRS:
        value, correlation = _two(u, v)
        both = in_numbers(value, [correlation], numbers)
        one, other = (_alone(function, numbers) for function in (u, v))
        known = {"first": one(2), "second": other(numbers.mpf(3) / 2), "scale": 1}
        for eps in _SMALL:
            yield Point(
                f"u = {u}, v = {v}, correlation {eps:g}",
                known | {"both": both(numbers.mpf(eps))},
                eps,
                f"{u}, {v}",
            )


def _alone(f: str, numbers: Any) -> Callable[[Any], Any]:
    import sympy as sp

    from symderiv.formula import activation
    from symderiv.gaussian import covariance_symbols, expectation

    x, covariance = sp.Symbol("x", real=True), covariance_symbols(1)
    value = expectation(activation(f).expression, [x], covariance).value
    return in_numbers(value, [covariance[0, 0]], numbers)


def blocks(numbers: Any) -> Iterator[Point]:
    """Yield two Gaussian vectors of 3 and 2 components and their joint covariance.

    Names: Q, S, R, eps, I, J; zero and its like; block(A, B, C, D); x, y (columns), z (both);
    P, Z of the joint density by conditioning one component after the other.
    """
    Q = numbers.matrix([[2, 1, 0], [1, 3, -1], [0, -1, 2]]) / 2
    R = numbers.matrix([[3, 1], [1, 2]]) / 3
    S = numbers.matrix([[1, -2], [3, 1], [-1, 2]]) / 4
    x = numbers.matrix([3, -2, 1]) / 5
    y = numbers.matrix([-1, 4]) / 3
    for eps in (0.1, 1e-2, 1e-3):
        joint = _block(Q, eps * S, eps * S.T, R, numbers)
        density, norm = _conditioned(joint, [*x, *y], numbers)
        names = {
            "Q": Q, "S": S, "R": R, "eps": numbers.mpf(eps), "x": x, "y": y,
            "z": numbers.matrix([*x, *y]), "zero": numbers.zeros(3, 2),
            "none": numbers.zeros(3, 3), "nothing": numbers.zeros(2, 2),
            "means": _mixed(joint, numbers), "P": density, "Z": norm,
            "block": lambda A, B, C, D: _block(A, B, C, D, numbers),
            "I": 3, "J": 2, "xs": Indexed(list(x), (1, 3)), "ys": Indexed(list(y), (1, 2)),
            "entry": _entry,
        }  # fmt: skip
        yield Point(f"eps = {eps:g}", names, eps)


def _entry(matrix: Any, i: int, j: int) -> Any:
    return Indexed(matrix, (1, matrix.rows), (1, matrix.cols))[i, j]


def _block(A: Any, B: Any, C: Any, D: Any, numbers: Any) -> Any:
    found = numbers.matrix(A.rows + C.rows, A.cols + B.cols)
    for part, row, column in ((A, 0, 0), (B, 0, A.cols), (C, A.rows, 0), (D, A.rows, A.cols)):
        for i in range(part.rows):
            for j in range(part.cols):
                found[row + i, column + j] = part[i, j]
    return found


def _mixed(joint: Any, numbers: Any) -> Any:
    """Return second moments of independent numbers mixed by the triangular root of a covariance."""
    root = numbers.cholesky(joint)
    return root * root.T


def _conditioned(joint: Any, z: list[Any], numbers: Any) -> tuple[Any, Any]:
    """Return the normal density at z as a product of conditional densities, and its
    normalisation.
    """
    rows = [[joint[i, j] for j in range(joint.cols)] for i in range(joint.rows)]
    means, exponent, norm = [numbers.zero] * len(z), numbers.zero, numbers.one
    for k in range(len(z)):
        variance = rows[k][k]
        gap = z[k] - means[k]
        exponent += gap**2 / variance / 2
        norm *= numbers.sqrt(2 * numbers.pi * variance)
        slope = [rows[i][k] / variance for i in range(len(z))]
        for i in range(k + 1, len(z)):
            means[i] += slope[i] * gap
            for j in range(k + 1, len(z)):
                rows[i][j] -= slope[i] * rows[k][j]
    return numbers.exp(-exponent) / norm, norm


@lru_cache(maxsize=1)
def _vector_means() -> tuple[list[Any], Any]:
    """E[f g], E f, E g, E[x_i f], E[y_j g] for two functions of two components each."""
    import sympy as sp

    from symderiv.gaussian import expectation

    x1, x2, y1, y2 = fields = sp.symbols("x1 x2 y1 y2", real=True)
    eps = sp.Symbol("eps", real=True)
    Q = sp.Matrix([[2, 1], [1, 3]]) / 2
    R = sp.Matrix([[3, 1], [1, 2]]) / 3
    S = sp.Matrix([[1, -2], [3, 1]]) / 4
    covariance = sp.Matrix(sp.BlockMatrix([[Q, eps * S], [eps * S.T, R]]))
    f = x1**2 * x2 + x1 * x2 + x1 + 2 * x2
    g = y1**2 + y1 * y2**2 + y2
    wanted = [f * g, f, g, x1 * f, x2 * f, y1 * g, y2 * g]
    return [expectation(sp.expand(h), fields, covariance).value for h in wanted], eps


def vector_functions(numbers: Any) -> Iterator[Point]:
    """Yield means of polynomials of two vectors with x1, x2 and y1, y2 weakly correlated."""
    values, symbol = _vector_means()
    Q = numbers.matrix([[2, 1], [1, 3]]) / 2
    R = numbers.matrix([[3, 1], [1, 2]]) / 3
    S = numbers.matrix([[1, -2], [3, 1]]) / 4
    for eps in _SMALL:
        both, f, g, *moments = (in_numbers(v, [symbol], numbers)(eps) for v in values)
        yield Point(
            f"eps = {eps:g}",
            {
                "both": both, "f": f, "g": g, "xf": Indexed(moments[:2], (1, 2)),
                "yg": Indexed(moments[2:], (1, 2)), "Q": Q, "R": R, "S": S, "I": 2, "J": 2,
                "eps": numbers.mpf(eps), "scale": 1, "entry": _entry,
            },
            eps,
        )  # fmt: skip


def pair_points(numbers: Any) -> Iterator[Point]:
    """Yield two inputs whose features have a small overlap.

    Names: a, b, D, F[r, i] (two columns), pair = E[f(U_1) f(U_2)], mean = E f(U), overlap.
    """
    for f in ("relu", "sign", "x**2 + x", "erf"):
        a, b, _ = coefficients(f, numbers)
        value, correlation = pair_mean(f)
        both = in_numbers(value, [correlation], numbers)
        D = 3
        root = numbers.sqrt(D)
        for eps in _SMALL:
            e = numbers.mpf(eps)
            columns = (
                (1, 0, 0),
                (e, numbers.sqrt(1 - e**2) * 3 / 5, numbers.sqrt(1 - e**2) * 4 / 5),
            )
            rows = [[root * columns[i][r] for i in range(2)] for r in range(D)]
            yield Point(
                f"f = {f}, overlap {eps:g}",
                {
                    "a": a, "b": b, "D": D, "F": Indexed(rows, (1, D), (1, 2)), "pair": both(e),
                    "mean": a, "overlap": e, "scale": 1,
                },
                eps,
                f,
            )  # fmt: skip


@lru_cache(maxsize=8)
def _with_overlap(f: str, eps: float, digits: int) -> Manifold:
    """Return a manifold whose features are nearly orthogonal, their overlaps of size eps."""
    base = manifold(2, 2, 6, 4, f, "erf", digits, 3)
    numbers = base.numbers
    F = numbers.matrix(base.D, base.N)
    for i in range(base.N):
        column = [eps * base.features[r, i] + int(r == i) for r in range(base.D)]
        length = numbers.sqrt(sum(x**2 for x in column) / base.D)
        for r in range(base.D):
            F[r, i] = column[r] / length
    return Manifold(F, base.student, base.teacher, f, "erf", numbers)


def nearly_orthogonal(numbers: Any) -> Iterator[Point]:
    """Yield covariances of fields by closed forms of pairs, at small overlaps of the features.

    Names: K, D, N, a, b, c, W, F, Omega, Sigma, Q (exact for this f), shifted[i, j] =
    E[f(U_i - a) (f(U_j) - a)] and centred[i, j] = E[(f(U_i) - a) (f(U_j) - a)] for f = x^2 + x.
    """
    for f in ("relu", "sign", "x**2 + x"):
        for eps in _SMALL:
            state = _with_overlap(f, eps, numbers.dps)
            yield Point(f"f = {f}, overlaps {eps:g}", Values(_covariances(state)), eps, f)


def _covariances(state: Manifold) -> dict[str, Any]:
    numbers = state.numbers
    K, D, N = state.K, state.D, state.N
    a, b, c = state.coefficients
    value, correlation = pair_mean(state.f)
    mean = in_numbers(value, [correlation], numbers)
    overlap = state.features.T * state.features / D
    pairs = numbers.matrix(N)
    shifted = numbers.matrix(N)
    for i in range(N):
        for j in range(N):
            rho = overlap[i, j] if i != j else numbers.one
            pairs[i, j] = (c if i == j else mean(rho)) - a**2
            # (u - a)^2 + u - a beside v^2 + v - 1 for f = x^2 + x, a = 1
            shifted[i, j] = 2 * rho**2 + (1 - 2 * a) * rho
    Ks, Ds, Ns = (1, K), (1, D), (1, N)
    return {
        "K": K, "D": D, "N": N, "a": a, "b": b, "c": c, "scale": 1,
        "W": Indexed(state.student, Ks, Ns), "F": Indexed(state.features, Ds, Ns),
        "Omega": Indexed(state.student * state.student.T / N, Ks, Ks),
        "Sigma": Indexed(state.seen * state.seen.T / D, Ks, Ks),
        "Q": Indexed(state.student * pairs * state.student.T / N, Ks, Ks),
        "centred": Indexed(pairs, Ns, Ns), "shifted": Indexed(shifted, Ns, Ns),
    }  # fmt: skip


def growth_points(numbers: Any) -> Iterator[Point]:
    """Exponents of N in the size of sums over independent normal weights and features.

    growth[p, q] is that of 1/√N Σ W_i^p F_i^q, all indices of W and of F equal; overlap[i, j] that
    of D in 1/√D Σ F_ri F_rj.
    """
    few, many = numbers.mpf(10) ** 60, numbers.mpf(10) ** 64

    def moment(power: int) -> Any:
        return numbers.fac2(power - 1) if power % 2 == 0 else 0

    def exponent(mean: Any, square: Any) -> Any:
        sizes = [numbers.sqrt(n * mean**2 + square - mean**2) for n in (few, many)]
        return numbers.log(sizes[1] / sizes[0]) / numbers.log(many / few)

    def growth(p: int, q: int) -> Any:
        return exponent(moment(p) * moment(q), moment(2 * p) * moment(2 * q))

    def overlap(i: int, j: int) -> Any:
        return exponent(1, 3) if i == j else exponent(0, 1)

    yield Point(
        "independent normal weights and features",
        {"growth": Indexed(growth, (1, 4), (1, 4)), "overlap": Indexed(overlap, (1, 3), (1, 3))},
    )


@lru_cache(maxsize=4)
def _large(f: str, D: int, N: int) -> dict[str, Any]:
    """Q of a random manifold by the closed form of pairs, and what approximates it, in doubles."""
    import numpy as np

    random = np.random.default_rng(D + N)
    K = 3
    F = random.normal(size=(D, N))
    F *= np.sqrt(D) / np.linalg.norm(F, axis=0)
    W = random.normal(size=(K, N)) + 0.3 * random.normal(size=(K, D)) @ F / np.sqrt(D)
    import sympy as sp

    value, correlation = pair_mean(f)
    pair = sp.lambdify(correlation, value, modules=["scipy", "numpy"])
    overlap = np.clip(F.T @ F / D, -1.0, 1.0)
    np.fill_diagonal(overlap, 0.0)
    from symderiv.inputs.nonlinearity import nonlinearity

    g = nonlinearity(f)
    pairs = pair(overlap) - g.a**2
    np.fill_diagonal(pairs, g.c - g.a**2)
    S = W @ F.T / np.sqrt(N)
    return {
        "K": K, "a": g.a, "b": g.b, "c": g.c, "Q": W @ pairs @ W.T / N,
        "Omega": W @ W.T / N, "Sigma": S @ S.T / D,
    }  # fmt: skip


def large(numbers: Any) -> Iterator[Point]:
    """Yield random features at growing sizes, D/N below and above 1; the parameter is 1/D."""
    for f in ("sign", "relu"):
        for ratio in (0.5, 2.0):
            for D in (48, 768):
                found = _large(f, D, round(D / ratio))
                values = {
                    name: Indexed(numbers.matrix(value.tolist()), (1, 3), (1, 3))
                    if hasattr(value, "shape")
                    else value if isinstance(value, int) else numbers.mpf(value)
                    for name, value in found.items()
                }  # fmt: skip
                series = f"f = {f}, D/N = {ratio:g}"
                yield Point(f"{series}, D = {D}", values | {"scale": 1}, 1 / D, series)


def quadratic_forms(numbers: Any) -> Iterator[Point]:
    """Excess kurtosis of the fields of f(u) = u^2, quadratic forms of the latent vector."""
    import numpy as np

    for ratio in (0.5, 2.0):
        for D in (40, 640):
            N = round(D / ratio)
            random = np.random.default_rng(D + N)
            F = random.normal(size=(D, N))
            F *= np.sqrt(D) / np.linalg.norm(F, axis=0)
            A = (F * random.normal(size=N)) @ F.T / (D * np.sqrt(N))
            square = A @ A
            kurtosis = 12.0 * float((square**2).sum()) / float(np.trace(square)) ** 2
            series = f"D/N = {ratio:g}"
            values = {"kurtosis": numbers.mpf(kurtosis), "scale": 1}
            yield Point(f"{series}, D = {D}", values, 1 / D, series)


def quadratic(numbers: Any) -> list[Point]:
    """Nearly orthogonal rows, f with an even part."""
    return [point for point in nearly_orthogonal(numbers) if point.series == "x**2 + x"]
