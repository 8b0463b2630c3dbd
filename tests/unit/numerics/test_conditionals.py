"""Schur complements in scalar functions: recognised by their shape, computed through vectors."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from symderiv_codegen import print_mpmath, print_numba
from symderiv_codegen.ir.functions import ScalarFunction
from symderiv_codegen.ir.names import NamePool
from unit.codegen.support import as_multiprecision, as_plain_python, one_function

from symderiv.numerics import GAUSSIAN
from symderiv.numerics.conditionals import through_vectors

SIZES = (2, 3, 4)


def entries(size: int) -> dict[tuple[int, int], sp.Symbol]:
    """Upper triangle under names that say nothing."""
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    return {
        pair: sp.Symbol(f"p{number}", real=True, positive=pair[0] == pair[1] or None)
        for number, pair in enumerate(pairs)
    }


def everything(size: int, guarded: bool = True) -> ScalarFunction:
    """All Schur complements by elimination in ascending order, and arcsines of all of them."""
    levels = [entries(size)]
    definitions: list[tuple[sp.Symbol, sp.Expr]] = []
    value = sp.S.Zero
    for k in range(size):
        c = levels[-1]
        for number, (i, j) in enumerate(sorted(c)):
            if i != j:
                correlation = c[i, j] / sp.sqrt(c[i, i] * c[j, j])
                value += (number + k + 1) * sp.asin(correlation)
            value += (number + 2 * k + 1) * c[i, j]
        following = {}
        for i, j in c:
            if k in (i, j):
                continue
            symbol = sp.Symbol(f"s{k}_{i}{j}", real=True, positive=i == j or None)
            first, second = c[min(i, k), max(i, k)], c[min(j, k), max(j, k)]
            definitions.append((symbol, c[i, j] - first * second / c[k, k]))
            following[i, j] = symbol
        levels.append(following)
    arguments = tuple(entries(size).values())
    return ScalarFunction("f", arguments, tuple(definitions), value, "f.", guarded=guarded)


def both(function: ScalarFunction) -> tuple[Any, Any, str]:
    program = one_function(
        function.value,
        *function.arguments,
        definitions=function.definitions,
        guarded=function.guarded,
        extension=GAUSSIAN,
    )
    text = print_numba(program)
    return as_plain_python(text)["f"], as_multiprecision(print_mpmath(program))["f"], text


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("epsilon", [1.0, 1e-4, 1e-7])
def test_the_vectors_give_what_elimination_gives_at_many_digits(size: int, epsilon: float) -> None:
    plain, exact, text = both(everything(size))
    assert "asin" not in text
    rng = np.random.default_rng(size)
    mp = mpmath.MPContext()
    mp.dps = 70
    for _ in range(5):
        rows = rng.normal(size=(size, size))
        rows[-1] = rows[0] + epsilon * rows[-1]
        covariance = rows @ rows.T * 10.0 ** rng.integers(-8, 8)
        numbers = covariance[np.triu_indices(size)]
        # Where two fields nearly coincide, what is left of one given the other stands on the
        # rounding of the vectors: its angle to a third is right to 1e-16 of the distance.
        tolerance = 1e-14 * max(1.0, 1e-2 / epsilon) * max(1.0, covariance.max())
        expected = exact(mp, *(mp.mpf(float(c)) for c in numbers))
        assert plain(*map(float, numbers)) == pytest.approx(float(expected), abs=300 * tolerance)


@pytest.mark.parametrize("size", SIZES)
def test_lost_rank_and_vanishing_fields_leave_finite_numbers(size: int) -> None:
    plain, _, _ = both(everything(size))
    rng = np.random.default_rng(3)
    for _ in range(100):
        rows = rng.integers(-1, 2, size=(size, 2)).astype(float)
        assert math.isfinite(plain(*(rows @ rows.T)[np.triu_indices(size)].tolist()))


def test_functions_that_stay_inside_their_domain_are_left_alone() -> None:
    function = everything(3, guarded=False)
    assert through_vectors(function, NamePool(function.names)).function is function
    # four arguments are no triangle of a matrix
    arguments = sp.symbols("a b c d", real=True)
    function = ScalarFunction("f", arguments, (), sp.asin(arguments[3]), "f.", guarded=True)
    assert through_vectors(function, NamePool(function.names)).function is function
    assert "_fields3" not in both(function)[2]


def test_other_quotients_are_left_alone() -> None:
    a, b, c = sp.symbols("a b c", positive=True)
    d = sp.Symbol("d", real=True)
    for quotient in (c - b * b / (1 + a), c + b * b / a, c - a * b / c, b - a * c / b):
        function = ScalarFunction(
            "f", (a, b, c), ((d, quotient),), sp.asin(b / sp.sqrt(1 + a)) + d, "f.", guarded=True
        )
        result = through_vectors(function, NamePool(function.names))
        assert result.targets == ()
        assert dict(result.function.definitions) == {d: quotient}
        assert result.function.value == function.value


def test_names_in_use_are_not_taken_again() -> None:
    x1 = sp.Symbol("x1", positive=True)
    p = list(entries(3).values())
    arguments = (x1, *p[1:])
    complement = sp.Symbol("volume_123", real=True)
    function = ScalarFunction(
        "f", arguments, ((complement, p[4] - p[1] * p[2] / x1),), complement, "f.", guarded=True
    )
    names = [str(s) for s in through_vectors(function, NamePool(function.names)).function.arguments]
    assert len(names) == len(set(names)) == 10
    plain, _, _ = both(function)
    assert plain(2.0, 0.5, 0.25, 1.0, 0.75, 1.5) == pytest.approx(0.75 - 0.125 / 2)
