"""Right-hand sides of a statement by quadrature over all fields of a step at once.

Nothing of the derivation is read: the changes F, G and g of one step are evaluated at the points of
a rule for the joint Gaussian law of the fields, and the rates are built literally,

    dQ_ab/dα = E[Σ_x F_ax h_bx] + E[Σ_c G_ac] Q_cb + (a ↔ b) + Σ_xx' ρ_xx' E[F_ax F_bx'].

A field that no change depends on is its regression on those that are there. Rules: equal steps of a
Gaussian weight where the changes are smooth; seven points of Gauss and Hermite in directions of
which they are polynomials (exact to degree 13); polar coordinates, cut where a sign changes, for
two fields in signs (exact for polynomials between the cuts, to rounding).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
import sympy as sp
from scipy import special

from symderiv.statement.register import Field, Latent, Overlap
from symderiv.statement.stated_problem import Statement
from symderiv.statement.vector_expressions import FreshInput, SlowVector

__all__ = ["direct_mean", "direct_rates"]

STEP, REACH = 0.5, 7.0
JUMPS = (sp.sign, sp.Heaviside, sp.Abs, sp.Max, sp.Min)
FUNCTIONS = [{"erf": special.erf, "sign": np.sign, "Heaviside": lambda x, _=0: x > 0}, "numpy"]

Rule = tuple[np.ndarray, np.ndarray]


def direct_rates(
    statement: Statement, state: Mapping[str, Any], step: float = STEP
) -> dict[str, np.ndarray]:
    """Return the rates by name, shapes as in the state, for isotropic inputs.

    Args:
        statement: With parameters at their defaults.
        state: All overlaps between vectors, and scalars, by name.
        step: Of the rule where the changes are smooth.
    """
    return _Direct(statement, state, step).rates(state)


def direct_mean(
    statement: Statement, expression: sp.Expr, state: Mapping[str, Any], step: float = STEP
) -> float:
    """Return the average of an expression over a fresh example, with steps of the rule."""
    direct = _Direct(statement, state, step)
    return float(direct.moments([direct.numbers(expression)])[0][0, -1])


class _Direct:
    def __init__(self, statement: Statement, state: Mapping[str, Any], step: float = STEP) -> None:
        self.statement, self.symbols, self.step = statement, statement.symbols, step
        self.inputs = {each.name: each for each in statement.inputs}
        self.places = statement.families
        self.overlaps: dict[tuple[str, str], float] = {}
        for name in (name for name in state if "." in name):
            first, second = name.split(".")
            array = np.reshape(state[name], (len(self.places[first]), len(self.places[second])))
            for (i, a), (j, b) in product(
                enumerate(self.places[first]), enumerate(self.places[second])
            ):
                self.overlaps[a.name, b.name] = self.overlaps[b.name, a.name] = float(array[i, j])
        self.values = {s: sp.Float(v, 17) for s, v in self.symbols.parameters.items()}
        for name, own in statement.scalars.items():
            self.values |= dict(zip(own, map(sp.Float, np.ravel(state[name])), strict=True))

    def overlap(self, first: SlowVector, second: SlowVector) -> float:
        return self.overlaps[first.name, second.name]

    def correlation(self, one: FreshInput, other: FreshInput) -> float:
        if one is other:
            return 1.0
        matrix = self.inputs[one.source].correlation
        if one.source != other.source or matrix is None:
            return 0.0
        return float(matrix[one.position, other.position])

    def covariance(self, one: sp.Symbol, other: sp.Symbol) -> float:
        first, second = self.symbols.meaning[one], self.symbols.meaning[other]
        if isinstance(first, Field) and isinstance(second, Field):
            return self.correlation(first.input, second.input) * self.overlap(
                first.vector, second.vector
            )
        return float(one == other)

    def numbers(self, expression: sp.Expr) -> sp.Expr:
        """The expression with numbers for scalars, parameters and overlaps."""
        found = dict(self.values)
        for symbol in expression.free_symbols:
            meaning = self.symbols.meaning.get(symbol)
            if isinstance(meaning, Overlap):
                found[symbol] = sp.Float(self.overlap(meaning.first, meaning.second), 17)
        return expression.xreplace(found)

    def moments(self, rows: list[sp.Expr]) -> tuple[np.ndarray, list[sp.Symbol]]:
        """E[r r'] of the rows, of the Gaussian symbols in them and of 1, in this order."""
        symbols = sorted(set().union(*(r.free_symbols for r in rows)), key=str)
        finite = [s for s in symbols if self._values(s)]
        fields = [s for s in symbols if s not in finite]
        matrix = np.array([[self.covariance(s, t) for t in fields] for s in fields])
        order, points, weight = self._rule(fields, matrix.reshape(2 * (len(fields),)), rows)
        total = np.zeros(2 * (len(rows) + len(fields) + 1,))
        calls = [sp.lambdify([*finite, *order], row, FUNCTIONS, cse=True) for row in rows]
        for chosen in product(*(self._values(s) for s in finite)):
            chance = float(np.prod([float(p) for _, p in chosen]))
            for start in range(0, weight.size, 50000):
                part = points[:, start : start + 50000]
                size = part.shape[1]
                values = [call(*(float(v) for v, _ in chosen), *part) for call in calls]
                values += [part[order.index(s)] for s in fields] + [1.0]
                array = np.array([np.broadcast_to(v, (size,)) for v in values], dtype=float)
                total += chance * (array * weight[start : start + 50000]) @ array.T
        return total, fields

    def _values(self, symbol: sp.Symbol) -> Any:
        meaning = self.symbols.meaning[symbol]
        return meaning.values if isinstance(meaning, Latent) else ()

    def _rule(
        self, fields: list[sp.Symbol], matrix: np.ndarray, rows: list[sp.Expr]
    ) -> tuple[list[sp.Symbol], np.ndarray, np.ndarray]:
        """Symbols, points (one row each) and weights of the product of rules of all blocks."""
        if found := self._by_differences(fields, rows):
            return found
        order: list[sp.Symbol] = []
        points, weight = np.zeros((0, 1)), np.ones(1)
        for block in _blocks(matrix):
            own = [fields[n] for n in block]
            curved = {s: not all(_polynomial(r, s) for r in rows) for s in own}
            own = sorted(own, key=lambda s: (not curved[s], str(s)))
            part = np.array([[self.covariance(s, t) for t in own] for s in own])
            factor = np.linalg.cholesky(part)
            if any(f.has(s) for r in rows for f in r.atoms(*JUMPS) for s in own):
                t, w = _polar(factor)
            else:
                t, w = _tensor([curved[s] for s in own], self.step)
            new = factor @ t
            keep = np.multiply.outer(weight, w).ravel()
            points = np.vstack([np.repeat(points, w.size, axis=1), np.tile(new, (1, weight.size))])
            weight, order = keep, [*order, *own]
        return order, points, weight

    def _by_differences(
        self, fields: list[sp.Symbol], rows: list[sp.Expr]
    ) -> tuple[list[sp.Symbol], np.ndarray, np.ndarray] | None:
        """The same for independent tokens, if the rows are polynomials of a shift of all tokens."""
        meaning = [self.symbols.meaning[s] for s in fields]
        if not all(isinstance(m, Field) for m in meaning):
            return None
        vectors = list(dict.fromkeys(m.vector for m in meaning))
        tokens = list(dict.fromkeys(m.input for m in meaning))
        if len(tokens) < 3 or len(fields) != len(vectors) * len(tokens):
            return None
        if all(_polynomial(row, s) for row in rows for s in fields):
            return None
        shifts = {v: sp.Dummy(v.name, real=True) for v in vectors}
        moved = {s: s + shifts[m.vector] for s, m in zip(fields, meaning, strict=True)}
        shifted = [row.xreplace(moved) for row in rows]
        if not all(_polynomial(row, c) for row in shifted for c in shifts.values()):
            return None
        part = [[self.overlap(v, u) for u in vectors] for v in vectors]
        factor = np.linalg.cholesky(np.array(part))
        # the first row is the mean of the tokens, the others are differences
        turn = np.linalg.qr(np.vstack([np.ones(len(tokens)), np.eye(len(tokens))[1:]]).T)[0].T
        size = len(vectors)
        t, w = _tensor([True] * (len(tokens) - 1) * size, self.step)
        near = np.sum(t**2, axis=0) <= REACH**2
        t, w = t[:, near], w[near]
        mean, share = _tensor([False] * size, self.step, 4)
        t = np.vstack([np.repeat(mean, w.size, axis=1), np.tile(t, (1, share.size))])
        spread = np.einsum("vu,sup->svp", factor, t.reshape(len(tokens), size, -1))
        points = np.einsum("st,svp->vtp", turn, spread)
        order = [self.symbols.product(v, x) for v in vectors for x in tokens]
        return order, points.reshape(len(order), -1), np.multiply.outer(share, w).ravel()

    def rates(self, state: Mapping[str, Any]) -> dict[str, np.ndarray]:
        step = self.statement.step()
        places: dict[Any, int] = {}
        rows: list[sp.Expr] = []
        for vector, change in step.vectors.items():
            for other, value in (*change.inputs.items(), *change.vectors.items()):
                places[vector, other] = len(rows)
                rows.append(self.numbers(value))
        for scalar, change in step.scalars.items():
            places[scalar] = len(rows)
            rows.append(self.numbers(change.scalar))
        mean, fields = self.moments(rows)
        matrix = np.array([[self.covariance(s, t) for t in fields] for s in fields])

        def with_field(row: int, vector: SlowVector, atom: FreshInput) -> float:
            """E[F h], by regression of h on the fields that are there."""
            field = self.symbols.product(vector, atom)
            with_it = np.array([self.covariance(field, s) for s in fields])
            moments = mean[row, len(rows) : len(rows) + len(fields)]
            if not fields:
                return 0.0
            return float(moments @ np.linalg.solve(matrix, with_it))

        def drift(a: SlowVector, b: SlowVector) -> float:
            if a not in step.vectors:
                return 0.0
            change = step.vectors[a]
            total = sum(with_field(places[a, x], b, x) for x in change.inputs)
            return float(
                total + sum(mean[places[a, c], -1] * self.overlap(c, b) for c in change.vectors)
            )

        def noise(a: SlowVector, b: SlowVector) -> float:
            if a not in step.vectors or b not in step.vectors:
                return 0.0
            return sum(
                self.correlation(x, y) * mean[places[a, x], places[b, y]]
                for x in step.vectors[a].inputs
                for y in step.vectors[b].inputs
            )

        vectors = self.statement.vectors
        raw = {
            (a, b): drift(a, b) + drift(b, a) + noise(a, b) for a, b in product(vectors, vectors)
        }
        # a constraint turns w_a into w_a − ½ Σ_b M_ab w_b
        back: dict[tuple[SlowVector, SlowVector], float] = {}
        for constraint in self.statement.constraints:
            for a, b in product(constraint.vectors, constraint.vectors):
                if constraint.kind == "orthonormal" or a is b:
                    size = self.overlap(a, a) if constraint.kind == "sphere" else 1.0
                    back[a, b] = raw[a, b] / size
        final = dict(raw)
        for (a, c), amount in back.items():
            for b in vectors:
                final[a, b] -= amount * self.overlap(c, b) / 2
                final[b, a] -= amount * self.overlap(c, b) / 2
        found = {}
        for name in state:
            if "." in name:
                first, second = name.split(".")
                values = [final[a, b] for a in self.places[first] for b in self.places[second]]
            else:
                own = self.statement.scalars[name]
                values = [mean[places[s], -1] if s in places else 0.0 for s in own]
            found[name] = np.reshape(values, np.shape(state[name]))
        return found


def _blocks(matrix: np.ndarray) -> Iterable[list[int]]:
    """Places that are connected by covariances."""
    left = set(range(len(matrix)))
    while left:
        block = {min(left)}
        while more := {m for n in block for m in left if matrix[n, m] != 0} - block:
            block |= more
        left -= block
        yield sorted(block)


def _polynomial(expression: sp.Expr, symbol: sp.Symbol) -> bool:
    return not expression.has(symbol) or not any(
        f.has(symbol)
        for f in expression.atoms(sp.Function, sp.Pow)
        if not (f.is_Pow and f.exp.is_Integer and f.exp > 0)
    )


def _tensor(curved: list[bool], step: float, nodes: int = 7) -> Rule:
    """Points in independent variables of variance one: equal steps, or Gauss and Hermite."""
    rules = []
    for each in curved:
        if each:
            t = np.arange(-REACH, REACH + step / 2, step)
            rules.append((t, step * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)))
        else:
            t, w = np.polynomial.hermite_e.hermegauss(nodes)
            rules.append((t, w / np.sqrt(2 * np.pi)))
    points = np.array([g.ravel() for g in np.meshgrid(*(t for t, _ in rules), indexing="ij")])
    weight = np.ones(1)
    for _, w in rules:
        weight = np.multiply.outer(weight, w).ravel()
    return points, weight


def _polar(factor: np.ndarray) -> Rule:
    """Points in two independent variables, cut along the lines on which a field is zero."""
    if len(factor) == 1:
        t, w = _radial(0)
        weight = w / np.sqrt(2 * np.pi)
        return np.array([[*t, *-t]]), np.array([*weight, *weight])
    if len(factor) != 2:
        raise ValueError("polar coordinates serve two fields of an input in signs")
    cuts = sorted({float(np.arctan2(-a, b) % np.pi) for a, b in factor})
    cuts = [*cuts, *(c + np.pi for c in cuts)]
    node, share = np.polynomial.legendre.leggauss(16)
    r, v = _radial(1)
    points, weights = [], []
    for start, stop in zip(cuts, [*cuts[1:], cuts[0] + 2 * np.pi], strict=True):
        angle = start + (stop - start) * (node + 1) / 2
        points.append(np.array([np.outer(np.cos(angle), r), np.outer(np.sin(angle), r)]))
        weights.append(np.outer(share * (stop - start) / 2, v) / (2 * np.pi))
    return np.hstack([p.reshape(2, -1) for p in points]), np.hstack([w.ravel() for w in weights])


def _radial(power: int, size: int = 7) -> Rule:
    """Gauss's rule for the weight r^power exp(−r²/2) on r > 0, exact to degree 2 size − 1."""
    t, w = np.polynomial.legendre.leggauss(160)
    t, w = 6.5 * (t + 1), 6.5 * w
    w = w * t**power * np.exp(-(t**2) / 2)
    # Lanczos with the weight: the polynomials orthogonal with it and their recursion
    before, now = np.zeros_like(t), np.ones_like(t) / np.sqrt(w.sum())
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(size):
        diagonal.append(float(w @ (t * now * now)))
        after = (t - diagonal[-1]) * now - (beside[-1] * before if beside else 0.0)
        beside.append(float(np.sqrt(w @ after**2)))
        before, now = now, after / beside[-1]
    node, turn = np.linalg.eigh(
        np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    )
    return node, w.sum() * turn[0] ** 2
