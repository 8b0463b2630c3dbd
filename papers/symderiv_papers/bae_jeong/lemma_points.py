"""One-dimensional mixtures of two or three normal laws: means of functions, halves, cumulants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.bae_jeong.weak import in_numbers

__all__ = [
    "at_separations",
    "correlated",
    "even_mixtures",
    "halves",
    "near_mean",
    "normal_mean",
    "small_separation",
]

#: Probabilities and means (to be multiplied by the separation) of skewed and even mixtures.
_SKEWED: Final = ((1, 2), (-1, 3))
_EVEN: Final = ((1, 1), (-2, 2))


@lru_cache(maxsize=16)
def _mean_of(f: str) -> tuple[Any, list[Any]]:
    """E f under N(m, c11), the engine's closed form, and its names."""
    import sympy as sp

    from symderiv.formula import activation
    from symderiv.gaussian import covariance_symbols, expectation

    g = activation(f).expression
    (x,) = g.free_symbols
    m = sp.Symbol("m", real=True)
    covariance = covariance_symbols(1)
    found = expectation(g, [x], covariance, mean=sp.Matrix([m])).value
    return found, [m, covariance[0, 0]]


def normal_mean(f: str, numbers: Any) -> Callable[[Any, Any], Any]:
    """E f under a normal law of a mean and a variance."""
    value, names = _mean_of(f)
    return in_numbers(value, names, numbers)


def _standardised(
    shape: tuple[Sequence[int], Sequence[int]], alpha: Any, numbers: Any
) -> dict[str, Any]:
    """p, means m and the standard deviation s of the components of a standardised mixture."""
    weights, places = shape
    total = sum(weights)
    p = [numbers.mpf(weight) / total for weight in weights]
    raw = [alpha * place for place in places]
    mean = sum(q * x for q, x in zip(p, raw, strict=True))
    deviation = numbers.sqrt(1 + sum(q * (x - mean) ** 2 for q, x in zip(p, raw, strict=True)))
    m = [(x - mean) / deviation for x in raw]
    n = (1, len(p))
    return {
        "n": len(p), "p": Indexed(p, n), "m": Indexed(m, n), "s": 1 / deviation,
        "cumulant": Indexed([
            sum(q * x for q, x in zip(p, m, strict=True)),
            1 / deviation**2 + sum(q * x**2 for q, x in zip(p, m, strict=True)),
        ], (1, 2)),
    }  # fmt: skip


def _with_means(f: str, known: dict[str, Any], numbers: Any) -> dict[str, Any]:
    mean = normal_mean(f, numbers)
    parts = range(1, known["n"] + 1)
    mixture = sum(known["p"][(k,)] * mean(known["m"][(k,)], known["s"] ** 2) for k in parts)
    return known | {"mixture": mixture, "normal": mean(numbers.zero, numbers.one), "scale": 1}


def at_separations(f: str) -> Callable[[Any], Iterator[Point]]:
    """E f under standardised mixtures ("mixture") and N(0, 1) ("normal"), alpha = 1/2 to 5."""

    def points(numbers: Any) -> Iterator[Point]:
        for alpha in (0.5, 2.0, 5.0):
            known = _standardised(_SKEWED, numbers.mpf(alpha), numbers)
            yield Point(f"alpha = {alpha:g}", _with_means(f, known, numbers))
        if f == "relu":
            known = _standardised(_EVEN, numbers.mpf(2), numbers)
            yield Point("alpha = 2, even", _with_means(f, known, numbers))

    return points


def even_mixtures(functions: Sequence[str]) -> Callable[[Any], Iterator[Point]]:
    """Return the same for two components of equal probability, alpha = 1/2 to 9."""

    def points(numbers: Any) -> Iterator[Point]:
        for f in functions:
            for alpha in (0.5, 2.0, 9.0):
                known = _standardised(_EVEN, numbers.mpf(alpha) / 2, numbers)
                yield Point(f"f = {f}, alpha = {alpha:g}", _with_means(f, known, numbers))

    return points


def small_separation(
    functions: Sequence[str], *, even: bool = False
) -> Callable[[Any], Iterator[Point]]:
    """Return the same for a separation that goes to zero, which is the parameter."""

    def points(numbers: Any) -> Iterator[Point]:
        for f in functions:
            for alpha in (0.02, 0.01):
                shape = _EVEN if even else _SKEWED
                known = _standardised(shape, numbers.mpf(alpha), numbers)
                yield Point(f"f = {f}, alpha = {alpha:g}", _with_means(f, known, numbers), alpha, f)

    return points


@lru_cache(maxsize=4)
def _pair(f: str, g: str) -> tuple[Any, list[Any]]:
    """E[f(u) g(w)] under a normal law with means."""
    import sympy as sp

    from symderiv.formula import activation
    from symderiv.gaussian import covariance_symbols, expectation

    u, w, m1, m2 = sp.symbols("u w m1 m2", real=True)
    factors = []
    for function, name in ((f, u), (g, w)):
        h = activation(function).expression
        factors.append(h.subs(next(iter(h.free_symbols)), name))
    covariance = covariance_symbols(2)
    mean = sp.Matrix([m1, m2])
    value = expectation(sp.expand(sp.Mul(*factors)), [u, w], covariance, mean=mean).value
    entries = [covariance[0, 0], covariance[0, 1], covariance[1, 1]]
    return value, [m1, m2, *entries]


def correlated(components: str) -> Callable[[Any], Iterator[Point]]:
    """E[f(u1) g(u2)] of two standardised mixture variables with E[u1 u2] = eps.

    Args:
        components: "each" variable has its own; "one" for both, with means that do not correlate.
    """

    def points(numbers: Any) -> Iterator[Point]:
        for f, g in (("sign", "x**2 + x"), ("x**2 + x", "x**3 - x")):
            for eps in (1e-2, 1e-3):
                known = _joint(f, g, numbers.mpf(eps), components, numbers)
                yield Point(f"f = {f}, g = {g}, eps = {eps:g}", known, eps, f)

    return points


def _joint(f: str, g: str, eps: Any, components: str, numbers: Any) -> dict[str, Any]:
    value, names = _pair(f, g)
    both = in_numbers(value, names, numbers)
    if components == "each":
        first = _standardised(_SKEWED, numbers.mpf(2), numbers)
        second = _standardised(((3, 2), (1, -1)), numbers.mpf(1), numbers)
        law = [(k, l, first["p"][(k,)] * second["p"][(l,)]) for k in (1, 2) for l in (1, 2)]
    else:
        # the products of the means vanish in the mean, yet the means depend on each other
        first = _standardised(((1, 1, 1), (-1, 2, -1)), numbers.mpf(2), numbers)
        second = _standardised(((1, 1, 1), (-1, 0, 1)), numbers.mpf(2), numbers)
        law = [(k, k, first["p"][(k,)]) for k in (1, 2, 3)]
    s, t = first["s"], second["s"]
    total = sum(
        weight * both(first["m"][(k,)], second["m"][(l,)], s**2, eps, t**2) for k, l, weight in law
    )
    one, other = normal_mean(f, numbers), normal_mean(g, numbers)
    n = first["n"]
    f_means = [one(first["m"][(k,)], s**2) for k in range(1, n + 1)]
    g_means = [other(second["m"][(l,)], t**2) for l in range(1, second["n"] + 1)]
    return {
        "both": total, "n": n, "scale": 1, "p": first["p"], "q": second["p"],
        "f": Indexed(f_means, (1, n)), "g": Indexed(g_means, (1, second["n"])),
    }  # fmt: skip


def near_mean(numbers: Any) -> Iterator[Point]:
    """Yield the mean of f given that x is within eps of its mean 0, by the density; f(0) is
    centre.
    """
    for f, function in _FUNCTIONS.items():
        for eps in (1e-2, 1e-3):
            known = _standardised(_SKEWED, numbers.mpf(2), numbers)
            density = _density(known, numbers)
            e = numbers.mpf(eps)

            def product(x: Any, function: Any = function, density: Any = density) -> Any:
                return function(x, numbers) * density(x)

            inside = numbers.quad(product, [-e, 0, e]) / numbers.quad(density, [-e, 0, e])
            yield Point(
                f"f = {f}, eps = {eps:g}",
                {"inside": inside, "centre": function(numbers.zero, numbers), "scale": 1},
                eps,
                f,
            )


_FUNCTIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "sgn + 1": lambda x, numbers: numbers.sign(x) + 1,
    "erf + 1": lambda x, numbers: numbers.erf(x / numbers.sqrt(2)) + 1,
    "ReLU + 1": lambda x, _: 1 + (x if x > 0 else 0 * x),
}


def _density(known: dict[str, Any], numbers: Any) -> Callable[[Any], Any]:
    s = known["s"]

    def density(x: Any) -> Any:
        parts = range(1, known["n"] + 1)
        total = sum(
            known["p"][(k,)] * numbers.exp(-(((x - known["m"][(k,)]) / s) ** 2) / 2) for k in parts
        )
        return total / (numbers.sqrt(2 * numbers.pi) * s)

    return density


def halves(numbers: Any) -> Iterator[Point]:
    """Yield a mixture of mean mu and variance var, its density P and the normal one, Dn; f = x^2 +
    x.

    Names: mu, var, eps, P, Dn, f, df[n] (derivatives at mu), mixture (E f), left (the part of
    E f from x < -eps).
    """
    for eps in (0.02, 0.01):
        known = _standardised(_SKEWED, numbers.mpf(1), numbers)
        density, mu, e = _density(known, numbers), numbers.mpf(1) / 3, numbers.mpf(eps)

        def P(x: Any, density: Any = density, mu: Any = mu) -> Any:
            return density(x - mu)

        def normal(x: Any, mu: Any = mu) -> Any:
            return numbers.exp(-((x - mu) ** 2) / 2) / numbers.sqrt(2 * numbers.pi)

        def f(x: Any) -> Any:
            return x**2 + x

        mean = normal_mean("x**2 + x", numbers)
        parts = range(1, known["n"] + 1)
        total = sum(known["p"][(k,)] * mean(known["m"][(k,)] + mu, known["s"] ** 2) for k in parts)
        left, left_D = (
            numbers.quad(lambda x, law=law: f(x) * law(x), [-12, -3, -e]) for law in (P, normal)
        )
        yield Point(
            f"eps = {eps:g}",
            Values({
                "mu": mu, "var": numbers.one, "eps": e, "P": P, "Dn": normal, "f": f,
                "df": Indexed([f(mu), 2 * mu + 1, numbers.mpf(2)], (0, 2)), "mixture": total,
                "left": left, "left_D": left_D, "scale": 1, "far": 12,
            }),
            eps,
        )  # fmt: skip
