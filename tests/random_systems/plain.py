"""The plain reading of a statement: means over examples, whose fields are drawn."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy as sp
from scipy import special, stats

import symderiv as sd

_ROOM = 6  # coordinates of an eigenspace in which all slow vectors lie


class Number:
    """Values at all examples, shape (copies, points), with derivatives by fields and the like."""

    def __init__(self, value: Any, slopes: Mapping[Any, Any] | None = None) -> None:
        self.value, self.slopes = np.atleast_2d(value), dict(slopes or {})

    def through(self, value: Any, slope: Any) -> Number:
        return Number(value, {leaf: slope * each for leaf, each in self.slopes.items()})

    def __add__(self, other: Any) -> Number:
        other = _number(other)
        slopes = {k: v + other.slopes.get(k, 0) for k, v in self.slopes.items()}
        return Number(self.value + other.value, {**other.slopes, **slopes})

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Vector):
            return other * self
        other = _number(other)
        one, two = self.through(0, other.value), other.through(0, self.value)
        return Number(self.value * other.value, (one + two).slopes)

    def __sub__(self, other: Any) -> Number:
        return self + -1 * _number(other)

    def __pow__(self, power: int) -> Number:
        return self.through(self.value**power, power * self.value ** (power - 1))

    def __rsub__(self, other: Any) -> Number:
        return _number(other) - self

    __radd__, __rmul__ = __add__, __mul__


def _number(given: Any) -> Number:
    return given if isinstance(given, Number) else Number(float(given))


_FUNCTIONS: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "erf": (
        sd.activation("erf"),
        lambda a: special.erf(a / np.sqrt(2)),
        lambda a: np.sqrt(2 / np.pi) * np.exp(-(a**2) / 2),
    ),
    "relu": (sd.activation("relu"), lambda a: np.maximum(a, 0), lambda a: np.heaviside(a, 0)),
    "abs": (sp.Abs, np.abs, np.sign),
    "leaky": (
        lambda a: sp.Max(a, a / 5),
        lambda a: np.maximum(a, a / 5),
        lambda a: 0.2 + 0.8 * np.heaviside(a, 0),
    ),
    "square": (lambda a: a**2, np.square, lambda a: 2 * a),
    "same": (lambda a: a, np.positive, np.ones_like),
    "sin": (sp.sin, np.sin, np.cos),
    "softplus": (lambda a: sp.log(1 + sp.exp(a)), lambda a: np.logaddexp(0, a), special.expit),
    "sign": (sp.sign, np.sign, np.zeros_like),
    "step": (sp.Heaviside, lambda a: np.heaviside(a, 0), np.zeros_like),
}


def function(name: str, argument: Any) -> Any:
    """A function of an expression of either reading."""
    symbolic, plain, slope = _FUNCTIONS[name]
    if not isinstance(argument, Number):
        return symbolic(argument)
    return argument.through(plain(argument.value), slope(argument.value))


class Vector:
    """A sum of inputs and slow vectors with coefficients; by itself one of them."""

    def __init__(self, P: Plain, terms: Mapping[Any, Any] | None = None) -> None:
        self.P = P
        self.terms = {self: Number(1.0)} if terms is None else dict(terms)

    def __add__(self, other: Any) -> Vector:
        if not isinstance(other, Vector):
            return self
        terms = {k: v + other.terms.get(k, 0) for k, v in self.terms.items()}
        return Vector(self.P, {**other.terms, **terms})

    def __mul__(self, factor: Any) -> Vector:
        return Vector(self.P, {k: v * factor for k, v in self.terms.items()})

    def __sub__(self, other: Vector) -> Vector:
        return self + other * -1

    def __matmul__(self, other: Vector) -> Any:
        parts = [(a, b) for a in self.terms for b in other.terms]
        return sum(self.terms[a] * other.terms[b] * self.P.product(a, b) for a, b in parts)

    def sum(self, of: Any) -> Any:
        """Over the two examples of an episode; derivatives by fields stay with their example."""
        if isinstance(of, Vector):
            return of
        two = np.ones((2, 1))
        slopes = {
            k: v * two if k[0] == "field" else np.sum(v * two, 0) for k, v in of.slopes.items()
        }
        return Number(np.sum(of.value * two, 0), slopes)

    def mean(self, of: Any) -> Any:
        return of

    __radd__, __rmul__, dot = __add__, __mul__, __matmul__


class Plain:
    """What a system is told, done to examples at points of a Sobol sequence.

    Vectors stand in a few coordinates of each eigenspace, and so inputs do.
    """

    alpha = Number(0.7)

    def __init__(self, points: int, seed: int, state: int) -> None:
        self.random = np.random.default_rng(state)
        uniform = stats.qmc.Sobol(40, seed=seed).random(points).T
        self.uniform = iter(np.clip(uniform, 1e-12, 1 - 1e-12))
        self.rho = self.weight = np.ones(1)
        self.batch = self.seen = 0.0
        self.place: dict[Vector, np.ndarray] = {}  # of slow vectors, (classes, room)
        self.xi: dict[Vector, np.ndarray] = {}  # of inputs, (copies, points, classes, room)
        self.share: dict[tuple[Vector, Vector], float] = {}
        self.families: dict[str, Any] = {}
        self.u, self.gains = np.zeros(0), np.zeros(2)
        self.moves: dict[Vector, Vector] = {}
        self.held: tuple[list[Vector], str] | None = None

    def inputs(self, name: str, model: Any = None, **more: Any) -> Any:
        if model is not None:
            self.rho, self.weight = np.array(model.eigenvalues), np.array(model.weights)
        self.batch = float(more.get("batch_ratio", 0)) or self.batch
        number = more.get("length", 1) * more.get("episode", 1)
        rows = [next(self.uniform) for _ in range(number * self.rho.size * _ROOM)]
        z = special.ndtri(np.array(rows)).T.reshape(-1, number, self.rho.size, _ROOM)
        share = np.eye(number)
        if "correlation" in more:
            share = np.array(more["correlation"], float)
            z = np.einsum("ij,pjld->pild", np.linalg.cholesky(share), z)
        z = z.transpose(1, 0, 2, 3)
        pieces = list(z[:, None]) if "length" in more else [z]
        found = [Vector(self) for _ in pieces]
        self.xi |= zip(found, pieces, strict=True)
        for (i, x), (j, y) in itertools.product(enumerate(found), repeat=2):
            self.share[x, y] = share[i, j]
        return found if "length" in more else found[0]

    def vectors(self, name: str, number: int | None = None, fixed: bool = False) -> Any:
        found = [Vector(self) for _ in range(number or 1)]
        for each in found:
            self.place[each] = self.random.normal(size=(self.rho.size, _ROOM)) / np.sqrt(_ROOM)
        self.families[name] = found if number else found[0]
        return self.families[name]

    def scalars(self, name: str, number: int) -> list[Number]:
        self.u = self.random.normal(size=number)
        return [Number(value, {("scalar", i): 1.0}) for i, value in enumerate(self.u)]

    def latents(self, name: str, law: Any) -> Number:
        uniform = next(self.uniform)
        if law == "gaussian":
            return Number(special.ndtri(uniform))
        (low, chance), (high, _) = law.items()
        return Number(np.where(uniform < float(chance), low, high))

    def product(self, a: Vector, b: Vector) -> Number:
        a, b = (b, a) if b in self.xi else (a, b)
        if b in self.xi:
            return Number(0.0)  # of order N, and nothing depends on it
        if a in self.xi:
            h = np.einsum("cpld,ld->cp", self.xi[a], self.place[b] * self.root(1))
            return Number(h, {("field", b, a): np.ones_like(h)})
        value = np.einsum("ld,ld,l->", self.place[a], self.place[b], self.weight)
        return Number(value, {("overlap", a, b): 1.0})

    def root(self, sign: int) -> np.ndarray:
        return np.sqrt(self.rho * self.weight**sign)[:, None]

    def average(self, of: Number) -> Number:
        return Number(np.mean(of.value))

    def observe(self, seen: Number) -> None:
        self.seen = float(np.mean(seen.value))

    def constrain(self, vectors: Any, kind: str) -> None:
        members = vectors if isinstance(vectors, list) else [vectors]
        self.held = members, kind
        if kind == "orthonormal":
            W = np.array([self.place[each] for each in members])
            for each, q in zip(members, np.linalg.qr(W.transpose(1, 2, 0))[0].T, strict=True):
                self.place[each] = q.T

    def descend(self, loss: Number, rates: Mapping[Any, Any]) -> None:
        for target, rate in rates.items():
            change: Any = Vector(self, {}) if isinstance(target, Vector) else Number(0.0)
            for (kind, *what), slope in loss.slopes.items():
                for n, one in enumerate(what):
                    if kind == "scalar" and ("scalar", one) in getattr(target, "slopes", ()):
                        change = change + Number(slope)
                    if one is target:
                        change = change + Vector(self, {what[1 - n]: Number(slope)})
            self.update({target: change * (-1 * _number(rate))})

    def update(self, changes: Mapping[Any, Any]) -> None:
        for target, change in changes.items():
            if isinstance(target, Vector):
                self.moves[target] = change + self.moves.get(target, 0)
            else:
                ((_, i),) = target.slopes
                self.gains[i] += np.mean(change.value)

    def by_family(self, matrix: np.ndarray) -> dict[str, np.ndarray]:
        """Of a matrix (classes, vectors, vectors) those of pairs of families, as systems do."""
        vectors, found = list(self.place), {}
        for one, other in itertools.combinations_with_replacement(self.families, 2):
            pair = [self.families[one], self.families[other]]
            rows, columns = (
                [vectors.index(v) for v in f] if isinstance(f, list) else vectors.index(f)
                for f in pair
            )
            block = matrix[:, rows][..., columns]
            found[f"{one}.{other}"] = block if self.rho.size > 1 else block[0]
        return found

    def overlaps(self) -> np.ndarray:
        V = np.array(list(self.place.values()))
        return np.einsum("ald,bld->lab", V, V)

    def state(self) -> dict[str, Any]:
        return self.by_family(self.overlaps()) | ({"u": self.u} if self.u.size else {})

    def rates(self, order: str) -> dict[str, Any]:
        """What follows from a step by the definition of the overlaps."""
        V = np.array(list(self.place.values()))
        drift = np.zeros_like(V)
        forces: list[dict[Vector, Any]] = [{} for _ in V]
        for a, vector in enumerate(self.place):
            for of, force in self.moves.get(vector, Vector(self, {})).terms.items():
                if of in self.place:
                    drift[a] += np.mean(force.value) * self.place[of]
                    continue
                xi = self.xi[of]
                value = np.broadcast_to(force.value, xi.shape[:2])
                drift[a] += np.einsum("cp,cpld->ld", value, xi) * self.root(-1) / xi.shape[1]
                constant = np.std(value) < 1e-12 and not any(k[0] == "field" for k in force.slopes)
                if order == "full" or constant:
                    forces[a][of] = value
        grown = np.einsum("ald,bld->lab", drift, V)
        grown = grown + grown.transpose(0, 2, 1)
        if self.batch:
            grown += np.einsum("ald,bld->lab", drift, drift)
        for (a, one), (b, other) in itertools.product(enumerate(forces), repeat=2):
            for x, y in itertools.product(one, other):
                noise = self.share.get((x, y), 0.0) * np.mean((one[x] * other[y]).sum(0))
                grown[:, a, b] += self.rho * noise / (self.batch or 1)
        self._hold(grown)
        found = self.by_family(grown) | {"seen": self.seen}
        return found | ({"u": self.gains} if self.u.size else {})

    def _hold(self, grown: np.ndarray) -> None:
        """Take away what the constraint does, which is W - Λ W for small steps."""
        if self.held is not None:
            rows = [list(self.place).index(each) for each in self.held[0]]
            norms, growth = (np.tensordot(self.weight, q, 1) for q in (self.overlaps(), grown))
            taken = np.zeros_like(norms)
            taken[np.ix_(rows, rows)] = growth[np.ix_(rows, rows)] / 2
            if self.held[1] == "sphere":
                taken = np.diag(np.diag(taken) / np.diag(norms))
            change = taken @ self.overlaps()
            grown -= change + change.transpose(0, 2, 1)
