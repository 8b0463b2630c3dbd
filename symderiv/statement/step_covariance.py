r"""Covariance of overlaps and scalars from example to example, by the definition of a step.

A step Δw_a = Σ_x F_ax ξ^x/√N + Σ_c G_ac w_c/N changes the overlap O^k_ab of the eigenvalue class k,
which has w_k N coordinates, by 1/N times

    d^k_ab = Σ_x (F_ax h^k_bx + F_bx h^k_ax)/w_k + Σ_c (G_ac O^k_cb + G_bc O^k_ac)
             + Σ_x ρ^x_k F_ax F_bx + e^k_ab/N,

where h^k_ax is the part of the field of w_a on ξ^x that comes from class k. Given the whole fields
z, the parts are Gaussian with a mean M z and a covariance V that follow from the vectors, so that
only means over z remain. The norm of ξ^x in a class is ρ_k w_k N, up to fluctuations that are
independent of all else and of lower order, and up to its part along the vectors, which makes

    e^k_ab = Σ_xx' F_ax F_bx' √(ρ^x_k ρ^x'_k) (E[u_x·u_x' | z] - δ_xx' dim)/w_k
             + Σ_xc (F_ax G_bc + F_bx G_ac) h^k_cx/w_k + Σ_cd G_ac G_bd O^k_cd,

where u_x are the coordinates of ξ^x/√ρ^x_k along the vectors. E[d] is the rate in the equations,
E[e] its correction at finite N, and Cov[d] the strength of fluctuations. Two independent examples
of one step add e with the means of each in place of means of products, and without δ_xx' dim.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from symderiv.foundation.errors import NotYetError
from symderiv.statement.averaged_step import Reading, SlowState, StateFrame
from symderiv.statement.stated_problem import Statement

Floats = NDArray[np.float64]

_POINTS = 8192
"""The number of points per block, so that arrays stay in the cache."""

Term = tuple[str, ...]
"""A number that varies from example to example: ``("one",)``, ``("part", c, x, r)`` for F_cx z_r,
``("product", x, c, d)`` for F_cx F_dx, ``("vector", c, w)`` for G_cw, ``("scalar", u, "")``.
"""


@dataclass(frozen=True)
class StepMoments:
    """The first two moments of N times what one step adds to overlaps and scalars.

    Args:
        mean: The mean in the limit of large N, shape (n,).
        further: The correction of the mean at finite N, times N, shape (n,).
        covariance: The covariance, shape (n, n).
        together: What two independent examples of one step add to ``further``, shape (n,); None
            where it is not known.
    """

    mean: Floats
    further: Floats
    covariance: Floats
    together: Floats | None = None


def mixed(found: Sequence[tuple[float, StepMoments]]) -> StepMoments:
    """Return the moments of a step for a mixture of laws of the example.

    Args:
        found: The probabilities of the laws, and the moments of each.
    """
    if len(found) == 1:
        return found[0][1]
    mean, further = (
        sum(share * getattr(each, name) for share, each in found) for name in ("mean", "further")
    )
    squares = (p * (each.covariance + np.outer(each.mean, each.mean)) for p, each in found)
    return StepMoments(mean, further, sum(squares) - np.outer(mean, mean))


def check_varies(statement: Statement) -> None:
    """Refuse statements whose steps do not use a single example each.

    Raises:
        NotYetError: Steps take batches of cN examples, have several constraints, or have no noise.
    """
    if statement.batch_ratio is not None:
        raise NotYetError(
            "fluctuations of steps over batches of cN examples are not known yet; use steps over "
            "one example",
            argument="batch_ratio",
        )
    held = [vector for each in statement.constraints for vector in each.vectors]
    if len(set(held)) < len(held):
        raise NotYetError(
            "fluctuations of vectors under several constraints are not known yet; leave one out",
            argument="constrain",
        )
    if statement.order != "full":
        raise NotYetError(
            "fluctuations belong to steps with their terms of second order; use order='full'",
            argument="order",
        )


class StepVariation:
    """The random changes of overlaps and scalars in a step, at a state.

    Args:
        reading: The statement.
        state: The state before the step.
    """

    def __init__(self, reading: Reading, state: SlowState) -> None:
        self.reading, self.state = reading, state
        self.frame = StateFrame(reading, state)
        step = reading.statement.step()
        self._forces = reading.forces
        self._drifts = {v.name: [w.name for w in c.vectors] for v, c in step.vectors.items()}
        names = [v.name for v in reading.statement.vectors]
        moving = {vector.name for vector in step.vectors}
        for each in reading.statement.constraints:
            moving |= {vector.name for vector in each.moved(step.vectors)}
        #: Pairs of vectors of which at least one moves, and the scalars, in the order of the
        # moments.
        self.pairs = [
            pair for pair in itertools.combinations_with_replacement(names, 2) if set(pair) & moving
        ]
        self.scalars = [str(symbol) for symbol in step.scalars]
        self._names = names
        inputs = reading.statement.inputs
        self._of_inputs = {atom.name: each.name for each in inputs for atom in each.atoms}

    @property
    def classes(self) -> int:
        """The number L of eigenvalues; in moments the classes of a pair are contiguous."""
        return int(self.state.weight.size)

    @property
    def size(self) -> int:
        """The number n of overlaps and scalars."""
        return len(self.pairs) * self.classes + len(self.scalars)

    def moments(
        self, z: Floats, weights: Floats, averages: Mapping[sp.Symbol, float]
    ) -> StepMoments:
        """Return the moments as means over points, before constraints are applied.

        Args:
            z: Points, shape (P, dimension).
            weights: The weights of the points, which sum to one.
            averages: Values of the averages in coefficients.
        """
        chance = self.reading.combinations[1]
        second = np.zeros((len(self.terms), len(self.terms)))
        for begin in range(0, len(z), _POINTS):
            points, share = z[begin : begin + _POINTS], weights[begin : begin + _POINTS]
            varied = self._varied(points, averages)
            second += (varied * (chance[:, None] * share).ravel()) @ varied.T
        mean = second[self._place["one",]]
        change = self._weighing @ mean
        covariance = self._weighing @ (second - np.outer(mean, mean)) @ self._weighing.T
        covariance += self._rest(mean)
        together = self._further(np.outer(mean, mean), alone=False)
        covariance = (covariance + covariance.T) / 2
        return StepMoments(change, self._further(second), covariance, together)

    def averages(self, z: Floats, weights: Floats) -> dict[sp.Symbol, float]:
        """Return the averages in coefficients as means over points."""
        means, both = self.reading.means, self.reading.combinations[1][:, None] * weights
        results = self.frame.values(z, True, {}).values() if means else ()
        return {s: float((each * both).sum()) for s, each in zip(means, results, strict=True)}

    def constrained(self, found: StepMoments) -> StepMoments:
        r"""Return the moments after constraints are applied.

        Constraints turn the rows W of the vectors after a step into S W, where S = 1 + s/N + 3/2
        s²/N² is the inverse root of the matrix that they fix to 1. As d and s are linear in the
        change of a step, overlaps change by 1/N times

            d + s O + O sᵀ + (s d + d sᵀ + 3/2 (s² O + O sᵀ²) + s O sᵀ)/N.
        """
        if not self.reading.statement.constraints:
            return found
        first = self._brought(np.eye(self.size))[0]
        values, axes = np.linalg.eigh(found.covariance + np.outer(found.mean, found.mean))
        further = found.further @ first + values @ self._brought(axes.T)[1]
        return StepMoments(found.mean @ first, further, first.T @ found.covariance @ first)

    def _brought(self, changes: Floats) -> tuple[Floats, Floats]:
        """Return the first and second order of changes after constraints, shape (m, n) each."""
        number = {name: n for n, name in enumerate(self._names)}
        one, other = np.array([[number[name] for name in pair] for pair in self.pairs]).T
        weight, L, rows = self.state.weight, self.classes, self._rows
        first, second = changes.copy(), np.zeros_like(changes)
        parts = changes[:, : len(self.pairs) * L].reshape(len(changes), -1, L)
        d = np.zeros((len(changes), L, len(rows), len(rows)))
        d[:, :, one, other] = d[:, :, other, one] = np.swapaxes(parts, 1, 2)
        overlap, s = np.einsum("vkn,wkn->kvw", rows, rows), np.zeros_like(d[:, 0])
        for each in self.reading.statement.constraints:
            moved = [number[v.name] for v in each.moved(self.reading.statement.step().vectors)]
            if each.kind == "orthonormal":
                place = np.ix_(range(len(s)), moved, moved)
                s[place] = -np.einsum("k,mkab->mab", weight, d)[place] / 2
                continue
            measure = weight * self.state.of_inputs(each.inputs)
            squares, whole = (np.einsum("k,...kaa->...a", measure, e) for e in (d, overlap))
            s[:, moved, moved] = -squares[:, moved] / whole[moved] / 2
        s = s[:, None]
        sd, so = s @ d, s @ overlap
        ends = d + so, sd + 1.5 * s @ so + so @ np.swapaxes(s, 2, 3) / 2
        for total, end in ((first, ends[0]), (second, ends[1])):
            whole = end + np.swapaxes(end, 2, 3) - (d if total is first else 0.0)
            block = np.swapaxes(whole[:, :, one, other], 1, 2)
            total[:, : len(self.pairs) * L] = block.reshape(len(changes), -1)
        return first, second

    @cached_property
    def terms(self) -> list[Term]:
        """The random terms: changes are linear in them, and means of changes in their products."""
        terms: list[Term] = [("one",)]
        for atom in self.atoms:
            acting = self.acting(atom)
            rank = len(self.axes(atom))
            terms += [("part", c, atom, str(r)) for c in acting for r in range(rank)]
            pairs = itertools.combinations_with_replacement(acting, 2)
            terms += [("product", atom, *pair) for pair in pairs]
        terms += [("vector", c, w) for c, others in self._drifts.items() for w in others]
        return terms + [("scalar", u, "") for u in self.scalars]

    @cached_property
    def _place(self) -> dict[Term, int]:
        return {term: n for n, term in enumerate(self.terms)}

    def _varied(self, points: Floats, averages: Mapping[sp.Symbol, float]) -> Floats:
        """Return the values of the terms, shape (terms, combinations of latents · points)."""
        values = {k: v.ravel() for k, v in self.frame.values(points, False, averages).items()}
        count = len(self.reading.combinations[1])
        z = np.tile(points.T, count)
        varied = np.empty((len(self.terms), z.shape[1]))
        for row, (kind, *names) in enumerate(self.terms):
            if kind == "one":
                varied[row] = 1.0
            elif kind == "part":
                own = z[self.frame.places[names[1]] + int(names[2])]
                np.multiply(values["input", names[0], names[1]], own, out=varied[row])
            elif kind == "product":
                one, other = (values["input", name, names[0]] for name in names[1:])
                np.multiply(one, other, out=varied[row])
            else:
                varied[row] = values[kind, names[0], names[1]]
        return varied

    @cached_property
    def _weighing(self) -> Floats:
        """Coefficients of the changes d in the terms, given the whole fields, shape (n, terms)."""
        weights, L = np.zeros((self.size, len(self.terms))), self.classes
        first = len(self.pairs) * L
        number = {name: n for n, name in enumerate(self._names)}
        for row, pair in enumerate(self.pairs):
            rows = slice(row * L, row * L + L)
            for one, other in (pair, pair[::-1]):
                for atom in self._forces.get(one, ()):
                    part = self._along[atom][number[other]] / self.state.weight[:, None]
                    for r, column in enumerate(part.T):
                        weights[rows, self._place["part", one, atom, str(r)]] += column
                for source in self._drifts.get(one, ()):
                    overlap = self.state.overlap(source, other)
                    weights[rows, self._place["vector", one, source]] += overlap
            for atom in self.atoms:
                place = self._product(atom, *pair)
                if place is not None:
                    weights[rows, place] += self.eigenvalue(atom)
        for n, name in enumerate(self.scalars):
            weights[first + n, self._place["scalar", name, ""]] = 1.0
        return weights

    def _product(self, atom: str, one: str, other: str) -> int | None:
        place = self._place.get(("product", atom, one, other))
        return self._place.get(("product", atom, other, one)) if place is None else place

    def _rest(self, mean: Floats) -> Floats:
        """Return the covariance due to the parts of fields in classes, given the whole fields."""
        rest, L = np.zeros((self.size, self.size)), self.classes
        number = {name: n for n, name in enumerate(self._names)}
        for atom in self.atoms:
            acting, left = self.acting(atom), self._left(atom)
            if not left.any():
                continue
            slopes = np.zeros((len(acting), self.size, len(left)))
            for row, pair in enumerate(self.pairs):
                for k, (one, other) in itertools.product(range(L), (pair, pair[::-1])):
                    if one in acting:
                        place = acting.index(one), row * L + k, number[other] * L + k
                        slopes[place] += 1 / self.state.weight[k]
            for c, d in itertools.product(range(len(acting)), repeat=2):
                square = mean[self._product(atom, acting[c], acting[d])]
                rest += square * slopes[c] @ left @ slopes[d].T
        return rest

    def _further(self, second: Floats, *, alone: bool = True) -> Floats:
        """Return the means of e, of one example or of two independent ones of a step."""
        further, L = np.zeros(self.size), self.classes
        number = {name: n for n, name in enumerate(self._names)}
        for row, (a, b) in enumerate(self.pairs):
            rows = slice(row * L, row * L + L)
            for atom, other in itertools.product(self._forces.get(a, ()), self._forces.get(b, ())):
                norms = self._norms(second, (a, atom), (b, other), alone=alone)
                further[rows] += norms / self.state.weight
            for one, two in ((a, b), (b, a)):
                for atom, source in itertools.product(
                    self._forces.get(one, ()), self._drifts.get(two, ())
                ):
                    mixed = second[self._parts(one, atom), self._place["vector", two, source]]
                    part = self._along[atom][number[source]] @ mixed
                    further[rows] += part / self.state.weight
            for source, target in itertools.product(
                self._drifts.get(a, ()), self._drifts.get(b, ())
            ):
                place = self._place["vector", a, source], self._place["vector", b, target]
                further[rows] += second[place] * self.state.overlap(source, target)
        return further

    def _parts(self, name: str, atom: str) -> list[int]:
        rank = len(self.axes(atom))
        return [self._place["part", name, atom, str(r)] for r in range(rank)]

    def _norms(
        self, second: Floats, one: tuple[str, str], other: tuple[str, str], *, alone: bool
    ) -> Floats:
        """Return the means of F F' √(ρ ρ') (u·u' - dim) in every class."""
        atoms = one[1], other[1]
        size = np.sqrt(self.eigenvalue(atoms[0]) * self.eigenvalue(atoms[1]))
        turned = np.einsum("rkn,skn->krs", self.axes(atoms[0]), self.axes(atoms[1]))
        mixed = second[np.ix_(self._parts(*one), self._parts(*other))]
        norms = np.einsum("krs,rs->k", turned, mixed)
        if alone and atoms[0] == atoms[1]:
            square = second[0, self._product(atoms[0], one[0], other[0])]
            norms -= square * np.einsum("krr->k", turned)
        return np.asarray(size * norms)

    def acting(self, atom: str) -> list[str]:
        """Return the vectors that move along an input."""
        return [name for name, atoms in self._forces.items() if atom in atoms]

    @cached_property
    def atoms(self) -> list[str]:
        """Names of the inputs along which vectors move."""
        return list(dict.fromkeys(atom for atoms in self._forces.values() for atom in atoms))

    def eigenvalue(self, atom: str) -> Floats:
        """Return the eigenvalues of an input, shape (L,)."""
        return self.state.of_inputs(self._of_inputs[atom])

    def axes(self, atom: str) -> Floats:
        """Return the directions of an input's z in coordinates, shape (rank, L, n)."""
        shape = next(iter(self.state.vectors.values())).shape
        return self.frame.axes.get(atom, np.zeros((0, *shape)))

    @cached_property
    def _rows(self) -> Floats:
        return np.array([self.state.vectors[name] for name in self._names])

    @cached_property
    def _along(self) -> dict[str, Floats]:
        """Conditional means of the parts of fields given z, by input, as rows of z, shape (V, L,
        rank).
        """
        return {
            atom: np.einsum(
                "k,vkn,rkn->vkr",
                np.sqrt(self.state.weight * self.eigenvalue(atom)),
                self._rows,
                self.axes(atom),
            )
            for atom in self.atoms
        }

    def _left(self, atom: str) -> Floats:
        """Return the conditional covariance of parts of fields given the whole ones, shape (V L, V
        L).
        """
        share, L, V = self.state.weight * self.eigenvalue(atom), self.classes, len(self._rows)
        left = np.zeros((V, L, V, L))
        for k in range(L):
            left[:, k, :, k] = share[k] * self._rows[:, k] @ self._rows[:, k].T
        known = self._along[atom].reshape(V * L, -1)
        return left.reshape(V * L, V * L) - known @ known.T
