"""Sums over tables are means of the mixtures; stable forms are the forms they come from."""

import math
from itertools import product

import numpy as np
import pytest
import sympy as sp
from scipy.special import dawsn, erf

from symderiv.gaussian.erf_mixture import mixture, tanh_form
from symderiv.gaussian.functions import SignMean2
from symderiv.lowering.means.mixture_integrals import (
    MixtureIntegral,
    MixtureTables,
    mixture_integral,
)
from symderiv.lowering.means.patterns import Pattern
from symderiv.lowering.means.stable import stable

X = sp.Symbol("x", real=True)
COVARIANCE = np.array([[0.7, 0.2, -0.3], [0.2, 0.5, 0.1], [-0.3, 0.1, 0.9]])
STUDENT, TEACHER = "S", "T"


@pytest.fixture(scope="module")
def tables() -> dict[bool, MixtureTables]:
    forms = (tanh_form(sp.tanh(X) + X / 2), tanh_form(sp.tanh(2 * X / 3) - 1))
    assert all(forms)
    found = [mixture(form, 5e-2) for form in forms if form]
    return {False: MixtureTables(found[0], STUDENT), True: MixtureTables(found[1], TEACHER)}


def value_of(integral: MixtureIntegral, tables: dict[bool, MixtureTables]) -> float:
    """The sums as they are written."""
    known: dict[str, object] = {}
    for table in tables.values():
        known.update(table.constants)
    size = len(integral.pattern.fields)
    upper = COVARIANCE[:size, :size][np.triu_indices(size)]
    total = 0.0
    for term in integral.terms:
        counts = [range(known[row.size]) for row in term.rows]  # type: ignore[call-overload]
        for rows in product(*counts):
            values = dict(zip(integral.arguments, upper, strict=True))
            for row, number in zip(term.rows, rows, strict=True):
                values |= {symbol: known[name][number] for symbol, name in row.entries}  # type: ignore[index]
            for symbol, definition in term.definitions:
                values[symbol] = definition.subs(values)
            total += float(term.value.subs(values))
    return total


def mixture_at(table: MixtureTables, order: int, z: np.ndarray) -> np.ndarray:
    found = table.mixture
    rest = sp.lambdify(X, sp.diff(found.form.rest, X, order), "numpy")(z) + 0 * z
    for w, a in zip(found.weights, found.scales, strict=True):
        rest += w * (
            erf(a * z) if order == 0 else 2 * a / math.sqrt(math.pi) * np.exp(-((a * z) ** 2))
        )
    return rest


@pytest.mark.parametrize(
    "kinds",
    [
        ((False, 0), (True, 0)),
        ((False, 1), (False, 1)),
        ((True, 0), (True, 0)),
        ((False, 1), (False, 0), (True, 0)),
    ],
)
def test_sums_over_tables_are_means_of_the_mixtures(
    tables: dict[bool, MixtureTables], kinds: tuple[tuple[bool, int], ...]
) -> None:
    pattern = Pattern(tuple((kind,) for kind in kinds))
    integral = mixture_integral(pattern, tables, lambda kind, field: field)
    size = len(kinds)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    root = np.linalg.cholesky(COVARIANCE[:size, :size])
    grid = np.stack(np.meshgrid(*[nodes] * size, indexing="ij")).reshape(size, -1)
    weight = np.prod(np.stack(np.meshgrid(*[weights] * size)).reshape(size, -1), axis=0)
    fields = root @ grid
    values = np.prod(
        [mixture_at(tables[t], o, z) for (t, o), z in zip(kinds, fields, strict=True)], axis=0
    )
    expected = weight @ values / (2 * math.pi) ** (size / 2)
    assert value_of(integral, tables) == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert integral.sign_factors <= sum(order == 0 for _, order in kinds)


a, b, c, r = sp.symbols("a b c r", real=True)
POINT = {a: 0.3, b: -0.7, c: 1.1, r: 0.4}


def plain(value: sp.Expr) -> complex:
    """The functions of stable forms by their definitions."""

    def tilted(power: sp.Expr, h1: sp.Expr, h2: sp.Expr, rho: sp.Expr) -> sp.Expr:
        return sp.exp(power) * SignMean2(h1, h2, rho).evalf(25)

    rules = {
        "Dawson": lambda y: sp.Float(float(dawsn(float(y)))),
        "TiltedSigns": tilted,
        "ExpDifference": lambda p, q: sp.exp(p) - sp.exp(q),
    }
    at = value.subs(POINT)
    for name, rule in rules.items():
        at = at.replace(lambda e, n=name: type(e).__name__ == n, lambda e, f=rule: f(*e.args))
    return complex(at.evalf(20))


@pytest.mark.parametrize(
    "value",
    [
        sp.exp(-a) * sp.erfi(b) * c + a,
        sp.exp(-a / 2 + b) - sp.exp(-a / 2 - b),
        c * sp.exp(a) - c * sp.exp(b) + 2 * sp.exp(r) - 2 * sp.exp(c) + sp.exp(a * b) + a,
        sp.exp(-a) * SignMean2(a, b, r) * sp.exp(b) + c * SignMean2(b, c, r),
        sp.exp(a) * (sp.exp(b) - sp.exp(c)) * sp.erfi(r) * 3,
        -sp.exp(a + b) + sp.exp(a - c) + sp.exp(2 * a) - sp.exp(c) - sp.exp(b),
        SignMean2(a, b, r) * SignMean2(b, c, r) * sp.exp(a),
        sp.erfi(a) * sp.erfi(b) * sp.exp(-c),
    ],
)
def test_stable_forms_are_the_same_numbers(value: sp.Expr) -> None:
    found = stable(value)
    assert plain(found) == pytest.approx(plain(value), rel=1e-12)
    assert not found.has(sp.erfi)
    signs = {type(e).__name__ for e in found.atoms(sp.Function)}
    assert "Dawson" in signs or "ExpDifference" in signs or "TiltedSigns" in signs


@pytest.mark.parametrize("sign", [1, -1])
def test_differences_join_what_is_most_alike(sign: int) -> None:
    """Each of the pairs vanishes with c; joined otherwise the sum would lose its digits."""
    pairs = [(a + b + c, a + b - c), (a + r + c, a + r - c), (r + c, r - c)]
    value = sp.Add(*(2 * sign * r * e for p, q in pairs for e in (sp.exp(p), -sp.exp(q))))
    found = [e for e in stable(value).atoms(sp.Function) if type(e).__name__ == "ExpDifference"]
    assert {frozenset(e.args) for e in found} == {frozenset(pair) for pair in pairs}
    assert stable(sp.exp(a) + sp.exp(b)) == sp.exp(a) + sp.exp(b)
    assert stable(a * b + sp.asin(r)) == a * b + sp.asin(r)
