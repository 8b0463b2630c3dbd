"""Vector expressions mean what they say of actual vectors."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from symderiv.foundation.errors import InputError, NotClosed, ShapeError
from symderiv.statement.register import Field, Overlap, Size
from symderiv.statement.vector_expressions import SlowVector, VectorExpression, as_expression

N = 7


class Drawn:
    """Declared vectors and inputs, with numbers for each of them."""

    def __init__(self) -> None:
        P = self.P = sd.System()
        self.x = P.inputs("x")
        self.y = P.inputs("y", length=3)
        self.e = P.inputs("e", episode=2)
        self.w, self.v, self.W = P.vectors("w"), P.vectors("v", 2), P.vectors("W", 2, fixed=True)
        self.u, self.c = P.scalars("u"), P.latents("c", number=2)
        random = np.random.default_rng(3)
        names = ["x", "y1", "y2", "y3", "e1", "e2", "w", "v1", "v2", "W1", "W2"]
        self.arrays = dict(zip(names, random.normal(size=(len(names), N)), strict=True))
        self.numbers = {self.u: 0.7, self.c[0]: -1.3, self.c[1]: 0.4}

    def array(self, name: str) -> np.ndarray:
        """A vector, slow ones over √N."""
        return self.arrays[name] / (1 if name[0] in "xye" else np.sqrt(N))

    def value(self, said: Any) -> Any:
        """The number, vector or array of these that an expression stands for."""
        if isinstance(said, np.ndarray):
            return np.array([self.value(each) for each in said])
        if isinstance(said, VectorExpression):
            terms = [self.value(f) * self.array(a.name) for a, f in said.terms.items()]
            return sum(terms, np.zeros(N))
        found = dict(self.numbers)
        for symbol in said.free_symbols:
            meaning = self.P.statement.symbols.meaning.get(symbol)
            if isinstance(meaning, Field):
                pair = meaning.vector.name, meaning.input.name
            elif isinstance(meaning, Overlap | Size):
                pair = meaning.first.name, meaning.second.name
            else:
                continue
            found[symbol] = float(self.array(pair[0]) @ self.array(pair[1]))
        return float(said.subs(found))


class Rows(np.ndarray):
    """Numbers of a family, one vector a row."""

    array = property(lambda self: self)


# the same words are meant of declared vectors and of arrays of their numbers
SAME = [
    lambda d: d.x + d.w - 2 * d.v[0],
    lambda d: -(d.x - d.u * d.w),
    lambda d: (d.x + d.w) / 4 - d.w / d.u,
    lambda d: d.x + d.w + d.x - 3 * d.w,
    lambda d: sum([d.x, d.w, d.v[1]]),
    lambda d: 0 * d.w - d.x,
    lambda d: d.x + d.v.array,
    lambda d: d.x - d.v.array,
    lambda d: d.v.array - d.x,
    lambda d: d.v + d.W,
    lambda d: d.v - d.W,
    lambda d: d.v - d.x,
    lambda d: d.x - d.v,
    lambda d: d.x + d.v,
    lambda d: -d.v,
    lambda d: d.x + d.c @ d.v,
    lambda d: np.array([[1, 2], [3, 4], [5, 6]]) @ d.v,
    lambda d: d.y[1] - 2 * d.y[2],
    lambda d: d.y + d.u * d.w,
    lambda d: d.w @ d.x,
    lambda d: d.v @ (d.x + d.u * d.w),
    lambda d: d.w.dot(d.v[1]),
    lambda d: d.v.array @ d.x,
    lambda d: (d.x - d.u * d.w) @ (2 * d.y[0] + d.v[0]),
]
OTHER = [
    (lambda d: d.x * np.array([2, d.u], dtype=object), lambda p: np.outer([2, p.u], p.x)),
    (lambda d: d.c * d.v, lambda p: p.c[:, None] * p.v),
    (lambda d: d.v * [2, 3], lambda p: [[2], [3]] * p.v),
    (lambda d: d.y * [1, d.u, 3], lambda p: [[1], [p.u], [3]] * p.y),
    (lambda d: np.array(list(d.y), dtype=object), lambda p: p.y),
    (lambda d: d.v @ d.y, lambda p: p.v @ p.y.T),
    (lambda d: d.w @ d.y, lambda p: p.y @ p.w),
    (lambda d: d.v.dot(d.W), lambda p: p.v @ p.W.T),
    (lambda d: d.w.dot(d.v), lambda p: p.v @ p.w),
    (lambda d: sd.norm2(d.x - d.c @ d.v), lambda p: np.sum((p.x - p.c @ p.v) ** 2)),
    (
        lambda d: d.e.sum((d.w @ d.e) ** 2 * d.e + d.x),
        lambda p: sum((p.w @ e) ** 2 * e + p.x for e in p.e),
    ),
    (lambda d: d.e.mean((d.w @ d.e) * (d.x @ d.e)), lambda p: np.mean((p.e @ p.w) * (p.e @ p.x))),
    (lambda d: d.e.mean(d.v @ d.e), lambda p: p.v @ p.e.mean(0)),
    (lambda d: d.e.sum(sd.norm2(d.e - d.w)), lambda p: np.sum((p.e - p.w) ** 2)),
]


@pytest.mark.parametrize(("said", "meant"), [*((each, each) for each in SAME), *OTHER])
def test_an_expression_is_what_it_says_of_actual_vectors(said: Any, meant: Any) -> None:
    drawn = Drawn()
    families = {"y": "y1 y2 y3", "e": "e1 e2", "v": "v1 v2", "W": "W1 W2"}
    rows = {
        name: np.array([drawn.array(each) for each in members.split()]).view(Rows)
        for name, members in families.items()
    }
    numbers = SimpleNamespace(
        x=drawn.array("x"), w=drawn.array("w"), u=0.7, c=np.array([-1.3, 0.4]), **rows
    )
    found = drawn.value(said(drawn))
    np.testing.assert_allclose(found, meant(numbers), rtol=1e-12, atol=1e-13)


def test_families_and_sequences_are_read_by_place() -> None:
    drawn = Drawn()
    assert (len(drawn.v), len(drawn.y)) == (2, 3)
    assert [each.name for each in drawn.v] == ["v1", "v2"]
    assert [each.name for each in drawn.y] == ["y1", "y2", "y3"]
    assert drawn.v[1].index == 1
    assert drawn.w.index is None
    assert (drawn.v.fixed, drawn.W.fixed, drawn.W[0].fixed) == (False, True, True)
    assert repr(drawn.x - 2 * drawn.v[0]) == "(1)*x + (-2)*v1"
    assert repr(0 * drawn.x) == "0"
    assert [repr(each) for each in (drawn.v, drawn.y, drawn.w)] == ["v[2]", "y[3]", "w"]


def test_coefficients_that_cancel_leave_no_term() -> None:
    drawn = Drawn()
    assert list((drawn.x + drawn.w - drawn.x).terms) == [drawn.w]
    assert not (drawn.u * drawn.w - drawn.w * drawn.u).terms


def test_decimals_are_read_as_they_are_printed() -> None:
    assert as_expression(0.1) == sp.Rational(1, 10)
    assert as_expression(np.float64(0.25)) == sp.Rational(1, 4)
    assert as_expression(np.int64(3)) == 3
    u = sp.Symbol("u")
    assert as_expression(0.1 * u) == u / 10


def _of_two_systems(d: Drawn) -> Any:
    return d.w @ Drawn().x


REFUSED: dict[str, tuple[Callable[[Drawn], Any], type[Exception]]] = {
    "a truth value": (lambda d: as_expression(True), InputError),
    "a text": (lambda d: as_expression("x"), InputError),
    "a complex number": (lambda d: as_expression(sp.I * d.u), InputError),
    "infinity": (lambda d: as_expression(sp.oo), InputError),
    "a condition": (lambda d: as_expression(d.u > 0), InputError),
    "two systems": (_of_two_systems, InputError),
    "too few coefficients": (lambda d: np.array([1, 2, 3]) @ d.v, ShapeError),
    "a single coefficient": (lambda d: np.array(2) @ d.v, ShapeError),
    "a product of vectors": (lambda d: d.x * d.w, InputError),
    "a product with a family": (lambda d: d.x * d.v, InputError),
    "an inner product with a number": (lambda d: d.w @ 3, InputError),
    "a number added": (lambda d: d.x + 1, InputError),
    "a number taken away": (lambda d: d.x - 1, InputError),
    "one vector as several": (lambda d: list(d.w), TypeError),
    "a power": (lambda d: d.x**2, NotClosed),
    "a power of a family": (lambda d: d.v**2, NotClosed),
    "a function of coordinates": (lambda d: as_expression(sp.tanh(d.x)), NotClosed),
    "absolute values": (lambda d: abs(d.v), NotClosed),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_vector_expression_is_refused(name: str) -> None:
    make, kind = REFUSED[name]
    with pytest.raises(kind):
        make(Drawn())


def test_a_slow_vector_is_its_own_only_term() -> None:
    drawn = Drawn()
    assert isinstance(drawn.w, SlowVector)
    assert dict(drawn.w.terms) == {drawn.w: 1}
