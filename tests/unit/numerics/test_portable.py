"""Special functions of exports, evaluated as programs, against many digits."""

from collections.abc import Callable
from functools import cache

import mpmath
import numpy as np
import pytest
import sympy as sp
from symderiv_codegen import ScalarFunction

from symderiv.numerics.digits.owens_t_mpmath import _owen_t_mpmath
from symderiv.numerics.digits.shifted_signs_mpmath import _shifted_signs_mpmath
from symderiv.numerics.digits.sign_mean4_mpmath import sign_mean4_mpmath
from symderiv.numerics.digits.waves_mpmath import (
    _dawson_mpmath,
    _exp_difference_mpmath,
    _tilted_signs_mpmath,
)
from symderiv.numerics.portable import portable

mp = mpmath.MPContext()
mp.dps = 25

Function = Callable[..., float]


@cache
def functions() -> dict[str, Function]:
    """The definitions in doubles: expressions one after the other, sums row by row."""
    known: dict[str, Function] = {}
    given = portable()

    def compiled(symbols: list[sp.Symbol], expression: sp.Expr) -> Function:
        return sp.lambdify(symbols, expression, modules=[known, "math"])

    for one in given.definitions(set(given.functions.values())):
        arguments = list(one.arguments)
        term = one if isinstance(one, ScalarFunction) else one.terms[0]
        entries = [] if isinstance(one, ScalarFunction) else list(term.rows[0].entries)
        columns = [given.constants[column] for _, column in entries]
        rows = list(zip(*columns, strict=True)) if columns else [()]
        symbols = [*arguments, *(symbol for symbol, _ in entries)]
        steps = []
        for symbol, expression in (*term.definitions, (None, term.value)):
            steps.append(compiled(list(symbols), expression))
            symbols.append(symbol)

        def function(*values: float, rows=rows, steps=steps) -> float:
            total = 0.0
            for row in rows:
                found = [*values, *row]
                for step in steps:
                    found.append(step(*found))
                total += found[-1]
            return total

        known[one.name] = function
    return {name: known[function] for name, function in given.functions.items()}


def correlations(rng: np.random.Generator) -> list[float]:
    """Of four fields of which no two are nearly parallel."""
    while True:
        A = rng.normal(size=(4, 4))
        C = A @ A.T
        r = (C / np.sqrt(np.outer(np.diag(C), np.diag(C))))[np.triu_indices(4, 1)]
        if np.max(np.abs(r)) < 0.95:
            return list(map(float, r))


def cases(name: str) -> list[tuple[float, ...]]:
    rng = np.random.default_rng(7)
    if name == "SignMean4":
        return [tuple(correlations(rng)) for _ in range(6)]
    if name == "Dawson":
        return [(float(x),) for x in (0.0, 1e-20, 0.19, -0.21, 1.0, -3.3, 8.0, 40.0)]
    if name == "TiltedSigns":
        drawn = rng.uniform((0, -2, -2, -0.95), (0, 2, 2, 0.95), (12, 4))
        # the exponent is what makes the means bounded
        return [(-(a * a + b * b) / 2, a, b, r) for _, a, b, r in drawn.tolist()]
    if name == "ExpDifference":
        return [(-1.0, -1.0 + d) for d in (0.0, 1e-12, 0.3, 0.99, 1.01, 4.0)]
    if name == "OwenT":
        return [tuple(row) for row in rng.uniform(-3, 3, (30, 2)).tolist()] + [(0.0, 1.0)]
    drawn = rng.uniform((-4, -4, -0.95), (4, 4, 0.95), (30, 3)).tolist()
    return [(0.0, 0.7, 0.4), (0.0, 0.0, -0.5), *map(tuple, drawn)]


REFERENCES = {
    "SignMean4": sign_mean4_mpmath,
    "Dawson": _dawson_mpmath,
    "TiltedSigns": _tilted_signs_mpmath,
    "ExpDifference": _exp_difference_mpmath,
    "OwenT": _owen_t_mpmath,
    "ShiftedSigns": _shifted_signs_mpmath,
}


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", REFERENCES)
def test_portable_functions_are_right_to_1e_14(name: str) -> None:
    assert set(REFERENCES) == set(portable().functions)
    found = functions()[name]
    for case in cases(name):
        expected = REFERENCES[name](mp, *map(mp.mpf, case))
        error = abs(found(*case) - float(expected.real))
        assert error < 1e-14 * max(1.0, abs(float(expected.real))), case
