"""Vector expressions mean what they say of actual vectors."""

from __future__ import annotations

from collections.abc import Callable
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


Case = tuple[Callable[[Drawn], Any], Callable[[Drawn, Callable[[str], np.ndarray]], Any]]

SAID: dict[str, Case] = {
    "a sum": (lambda d: d.x + d.w - 2 * d.v[0], lambda d, a: a("x") + a("w") - 2 * a("v1")),
    "minus": (lambda d: -(d.x - d.u * d.w), lambda d, a: 0.7 * a("w") - a("x")),
    "a quotient": (
        lambda d: (d.x + d.w) / 4 - d.w / d.u,
        lambda d, a: (a("x") + a("w")) / 4 - a("w") / 0.7,
    ),
    "the same twice": (lambda d: d.x + d.w + d.x - 3 * d.w, lambda d, a: 2 * a("x") - 2 * a("w")),
    "Python's sum": (lambda d: sum([d.x, d.w, d.v[1]]), lambda d, a: a("x") + a("w") + a("v2")),
    "zero minus": (lambda d: 0 * d.w - d.x, lambda d, a: -a("x")),
    "an array of factors": (
        lambda d: d.x * np.array([2, d.u], dtype=object),
        lambda d, a: np.array([2 * a("x"), 0.7 * a("x")]),
    ),
    "a vector plus an array": (
        lambda d: d.x + d.v.array,
        lambda d, a: np.array([a("x") + a("v1"), a("x") + a("v2")]),
    ),
    "a vector minus an array": (
        lambda d: d.x - d.v.array,
        lambda d, a: np.array([a("x") - a("v1"), a("x") - a("v2")]),
    ),
    "an array minus a vector": (
        lambda d: d.v.array - d.x,
        lambda d, a: np.array([a("v1") - a("x"), a("v2") - a("x")]),
    ),
    "families": (
        lambda d: d.v + d.W,
        lambda d, a: np.array([a("v1") + a("W1"), a("v2") + a("W2")]),
    ),
    "families apart": (
        lambda d: d.v - d.W,
        lambda d, a: np.array([a("v1") - a("W1"), a("v2") - a("W2")]),
    ),
    "a family minus a vector": (
        lambda d: d.v - d.x,
        lambda d, a: np.array([a("v1") - a("x"), a("v2") - a("x")]),
    ),
    "a vector minus a family": (
        lambda d: d.x - d.v,
        lambda d, a: np.array([a("x") - a("v1"), a("x") - a("v2")]),
    ),
    "a vector plus a family": (
        lambda d: d.x + d.v,
        lambda d, a: np.array([a("x") + a("v1"), a("x") + a("v2")]),
    ),
    "minus a family": (lambda d: -d.v, lambda d, a: np.array([-a("v1"), -a("v2")])),
    "factors of a family": (
        lambda d: d.c * d.v,
        lambda d, a: np.array([-1.3 * a("v1"), 0.4 * a("v2")]),
    ),
    "a family times factors": (
        lambda d: d.v * [2, 3],
        lambda d, a: np.array([2 * a("v1"), 3 * a("v2")]),
    ),
    "coefficients at a family": (
        lambda d: d.x + d.c @ d.v,
        lambda d, a: a("x") - 1.3 * a("v1") + 0.4 * a("v2"),
    ),
    "a matrix at a family": (
        lambda d: np.array([[1, 2], [3, 4], [5, 6]]) @ d.v,
        lambda d, a: np.array([[1, 2], [3, 4], [5, 6]]) @ np.array([a("v1"), a("v2")]),
    ),
    "tokens": (lambda d: d.y[1] - 2 * d.y[2], lambda d, a: a("y2") - 2 * a("y3")),
    "a shift of tokens": (
        lambda d: d.y + d.u * d.w,
        lambda d, a: np.array([a(f"y{n}") + 0.7 * a("w") for n in (1, 2, 3)]),
    ),
    "weights of tokens": (
        lambda d: d.y * [1, d.u, 3],
        lambda d, a: np.array([a("y1"), 0.7 * a("y2"), 3 * a("y3")]),
    ),
    "tokens one by one": (
        lambda d: np.array(list(d.y), dtype=object),
        lambda d, a: np.array([a("y1"), a("y2"), a("y3")]),
    ),
    "a field": (lambda d: d.w @ d.x, lambda d, a: a("w") @ a("x")),
    "fields of a family": (
        lambda d: d.v @ (d.x + d.u * d.w),
        lambda d, a: np.array([a(n) @ (a("x") + 0.7 * a("w")) for n in ("v1", "v2")]),
    ),
    "fields of tokens": (
        lambda d: d.v @ d.y,
        lambda d, a: np.array([[a(n) @ a(f"y{t}") for t in (1, 2, 3)] for n in ("v1", "v2")]),
    ),
    "a vector and tokens": (
        lambda d: d.w @ d.y,
        lambda d, a: np.array([a("w") @ a(f"y{t}") for t in (1, 2, 3)]),
    ),
    "overlaps of families": (
        lambda d: d.v.dot(d.W),
        lambda d, a: np.array([[a(n) @ a(m) for m in ("W1", "W2")] for n in ("v1", "v2")]),
    ),
    "an overlap": (lambda d: d.w.dot(d.v[1]), lambda d, a: a("w") @ a("v2")),
    "a vector with a family": (
        lambda d: d.w.dot(d.v),
        lambda d, a: np.array([a("w") @ a("v1"), a("w") @ a("v2")]),
    ),
    "an array with a vector": (
        lambda d: d.v.array @ d.x,
        lambda d, a: np.array([a("v1") @ a("x"), a("v2") @ a("x")]),
    ),
    "inner products": (
        lambda d: (d.x - d.u * d.w) @ (2 * d.y[0] + d.v[0]),
        lambda d, a: (a("x") - 0.7 * a("w")) @ (2 * a("y1") + a("v1")),
    ),
    "a norm": (
        lambda d: sd.norm2(d.x - d.c @ d.v),
        lambda d, a: np.sum((a("x") + 1.3 * a("v1") - 0.4 * a("v2")) ** 2),
    ),
    "a sum over an episode": (
        lambda d: d.e.sum((d.w @ d.e) ** 2 * d.e + d.x),
        lambda d, a: sum((a("w") @ a(n)) ** 2 * a(n) + a("x") for n in ("e1", "e2")),
    ),
    "a mean over an episode": (
        lambda d: d.e.mean((d.w @ d.e) * (d.x @ d.e)),
        lambda d, a: np.mean([(a("w") @ a(n)) * (a("x") @ a(n)) for n in ("e1", "e2")]),
    ),
    "means of an array": (
        lambda d: d.e.mean(d.v @ d.e),
        lambda d, a: np.array([np.mean([a(m) @ a(n) for n in ("e1", "e2")]) for m in ("v1", "v2")]),
    ),
    "norms over an episode": (
        lambda d: d.e.sum(sd.norm2(d.e - d.w)),
        lambda d, a: sum(np.sum((a(n) - a("w")) ** 2) for n in ("e1", "e2")),
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_an_expression_is_what_it_says_of_actual_vectors(name: str) -> None:
    drawn = Drawn()
    said, meant = SAID[name]
    found = drawn.value(said(drawn))
    np.testing.assert_allclose(found, meant(drawn, drawn.array), rtol=1e-12, atol=1e-13)


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
