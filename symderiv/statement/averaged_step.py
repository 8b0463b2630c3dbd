r"""The mean change of slow vectors in one step at a state, by the definition of its increments.

Slow vectors are given by coordinates in every eigenspace of the inputs, whose products are
overlaps. The fields of an input are h = L z with independent standard normal z. As h is linear in
z, the part of an increment F ξ/√N along the slow vectors is E[F zᵀ] L⁺ times their coordinates and
the eigenvalue; the rest is noise, which adds ρ E[F F'] to overlaps. No mean is derived here: forces
are averaged over points z that the caller has drawn, or chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from symderiv.formula.as_function import as_function
from symderiv.statement.register import Field, Latent, Mean, Overlap
from symderiv.statement.slopes import ROUGH, gaps_of
from symderiv.statement.stated_problem import Descent, Statement

Floats = NDArray[np.float64]

_RANK = 1e-9
"""Directions of fields with singular values below this part of the largest are dropped."""


@dataclass(frozen=True)
class SlowState:
    """The state at which a step is taken.

    Args:
        vectors: Coordinates by name, shape (L, n): products of rows k are overlaps of class k.
        weight: Shares of the L classes, which sum to one.
        eigenvalue: The eigenvalues of the classes, by name of inputs; 1 for those that are not
            named.
        numbers: Slow scalars and parameters by name.
    """

    vectors: Mapping[str, Floats]
    weight: Floats
    eigenvalue: Mapping[str, Floats]
    numbers: Mapping[str, float]

    def overlap(self, first: str, second: str) -> Floats:
        """Return the overlaps of two vectors, one for each class."""
        return np.asarray((self.vectors[first] * self.vectors[second]).sum(axis=1))

    def of_inputs(self, name: str) -> Floats:
        """Return the eigenvalues of inputs."""
        return self.eigenvalue.get(name, np.ones_like(self.weight))


@dataclass(frozen=True)
class MeanStep:
    """The averaged increments of a step.

    Args:
        state: The state before the step.
        drift: The drift of vectors by name, coordinates like those of the state.
        noise: The contribution of the noise in increments to overlaps, by pair of names, shape
            (L,).
        scalars: Rates by name.
        observables: The observables by name; ``"loss"`` is the loss of all descents.
        whole: Whether weights move by amounts of order one, so that products of drifts count.
    """

    state: SlowState
    drift: Mapping[str, Floats]
    noise: Mapping[tuple[str, str], Floats]
    scalars: Mapping[str, float]
    observables: Mapping[str, float]
    whole: bool

    def overlap_rate(self, first: str, second: str) -> Floats:
        """Return the rates of the overlaps of two vectors, one for each class."""
        one, other = (self.state.vectors[name] for name in (first, second))
        zero = np.zeros_like(one)
        by_one, by_other = (self.drift.get(name, zero) for name in (first, second))
        rate = (by_one * other + one * by_other + self.whole * by_one * by_other).sum(axis=1)
        return np.asarray(rate + self.noise.get((first, second), 0.0))


class Reading:
    """A statement as numerical functions of arrays."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        #: Coefficients of inputs as sums of independent inputs of the same names (tokens are
        # correlated).
        self.shares = _shares_of(statement)
        self.means = statement.symbols.of(Mean)
        loss = [each.loss for each in statement.lines if isinstance(each, Descent)]
        self._entries: dict[tuple[str, str, str], sp.Expr] = {
            ("mean", str(symbol), ""): mean.expression for symbol, mean in self.means.items()
        }
        step = statement.step()
        for vector, change in step.vectors.items():
            for atom, force in change.inputs.items():
                for name, share in self.shares[atom.name].items():
                    key = "input", vector.name, name
                    self._entries[key] = self._entries.get(key, sp.S.Zero) + share * force
            for other, rate in change.vectors.items():
                self._entries["vector", vector.name, other.name] = rate
        for symbol, change in step.scalars.items():
            self._entries["scalar", str(symbol), ""] = change.scalar
        for name, value in {**statement.observables, "loss": sp.Add(*loss)}.items():
            self._entries["observed", name, ""] = value

    @cached_property
    def forces(self) -> dict[str, list[str]]:
        """The independent inputs along which each vector moves, by vector."""
        forces: dict[str, list[str]] = {}
        for kind, name, other in self._entries:
            if kind == "input":
                forces.setdefault(name, []).append(other)
        return forces

    @cached_property
    def symbols(self) -> list[sp.Symbol]:
        """All symbols that occur in increments."""
        symbols = set().union(*(each.free_symbols for each in self._entries.values()))
        return sorted(symbols, key=str)

    def _of(self, kind: type) -> dict[sp.Symbol, Any]:
        meaning = self.statement.symbols.meaning
        return {s: meaning[s] for s in self.symbols if isinstance(meaning.get(s), kind)}

    @cached_property
    def fields(self) -> dict[sp.Symbol, Field]:
        """The fields that increments depend on."""
        return self._of(Field)

    @cached_property
    def gaussian_latents(self) -> list[sp.Symbol]:
        """Latents that are Gaussian."""
        return [s for s, latent in self._of(Latent).items() if not latent.values]

    @cached_property
    def finite_latents(self) -> dict[sp.Symbol, Latent]:
        """Latents with finitely many values."""
        return {s: latent for s, latent in self._of(Latent).items() if latent.values}

    @cached_property
    def overlaps(self) -> dict[sp.Symbol, Overlap]:
        """Overlaps that increments depend on."""
        return self._of(Overlap)

    @cached_property
    def combinations(self) -> tuple[Floats, Floats]:
        """Values (latent, combination) and probabilities of all finite latents together."""
        sets = [latent.values for latent in self.finite_latents.values()]
        grids = np.meshgrid(*([float(v) for v, _ in each] for each in sets), indexing="ij")
        chance = np.meshgrid(*([float(p) for _, p in each] for each in sets), indexing="ij")
        size = int(np.prod([len(each) for each in sets], initial=1))
        values = np.array([grid.ravel() for grid in grids]).reshape(len(sets), size)
        return values, np.prod([each.ravel() for each in chance], axis=0) * np.ones(size)

    @cached_property
    def functions(self) -> Mapping[bool, tuple[list[tuple[str, str, str]], Any]]:
        """For averages in coefficients (True) and all else (False): keys, and the function that
        computes them.
        """
        functions = {}
        for first in (True, False):
            keys = [key for key in self._entries if (key[0] == "mean") is first]
            values = [self._entries[key] for key in keys]
            function = as_function([self.symbols], values) if keys else None
            functions[first] = keys, function
        return functions

    @cached_property
    def kinks(self) -> set[sp.Expr]:
        """Expressions without kinks at whose zeros increments are not smooth."""
        kinks: set[sp.Expr] = set()
        for value in self._entries.values():
            for each in value.atoms(*ROUGH):
                kinks |= set().union(*map(_without_kinks, gaps_of(each)))
        return kinks


def _shares_of(statement: Statement) -> dict[str, dict[str, float]]:
    """Return every input as a sum of independent inputs, by name, by a root of the correlations."""
    shares: dict[str, dict[str, float]] = {}
    for inputs in statement.inputs:
        names = [atom.name for atom in inputs.atoms]
        if inputs.correlation is None:
            shares |= {name: {name: 1.0} for name in names}
            continue
        values, turn = np.linalg.eigh(np.array(inputs.correlation, dtype=float))
        root = (turn * np.sqrt(np.maximum(values, 0.0))) @ turn.T
        for name, row in zip(names, root, strict=True):
            shares[name] = {n: float(v) for n, v in zip(names, row, strict=True) if abs(v) > _RANK}
    return shares


def _without_kinks(place: sp.Expr) -> set[sp.Expr]:
    """Return an expression with every kink and jump in it resolved to each of its values."""
    inner = next(iter(place.atoms(*ROUGH)), None)
    if inner is None:
        return {place}
    if isinstance(inner, sp.sign):
        values = [sp.S.One, sp.S.NegativeOne]
    elif isinstance(inner, sp.Heaviside):
        values = [sp.S.One, sp.S.Zero]
    elif isinstance(inner, sp.Abs):
        values = [inner.args[0], -inner.args[0]]
    else:
        values = list(inner.args)
    return set().union(*(_without_kinks(place.xreplace({inner: each})) for each in values))


class StateFrame:
    """A statement at a state: increments as functions of independent standard normal
    variables z.
    """

    def __init__(self, reading: Reading, state: SlowState) -> None:
        self.reading, self.state = reading, state
        self._numbers: dict[sp.Symbol, float] = {}
        parameters = reading.statement.symbols.parameters
        for symbol in reading.symbols:
            if symbol in reading.overlaps:
                pair = reading.overlaps[symbol]
                overlap = state.overlap(pair.first.name, pair.second.name)
                self._numbers[symbol] = float(state.weight @ overlap)
            elif str(symbol) in state.numbers:
                self._numbers[symbol] = state.numbers[str(symbol)]
            elif symbol in parameters:
                self._numbers[symbol] = float(parameters[symbol])
        #: Rows of coefficients of z for the fields of an input, and the vectors of these fields, by
        # input.
        self.rows: dict[str, tuple[Floats, list[str]]] = {}
        #: Directions of z in the coordinates of an input, shape (rank, L, n), by input.
        self.axes: dict[str, Floats] = {}
        #: The index of the first variable z of each input.
        self.places: dict[str, int] = {}
        self.dimension = 0
        names: dict[tuple[str, str], dict[str, None]] = {}
        for each in reading.fields.values():
            for atom in reading.shares[each.input.name]:
                names.setdefault((atom, each.input.source), {})[each.vector.name] = None
        for (atom, source), own in names.items():
            self._turned(atom, source, list(own))
        self.first_latent = self.dimension
        self.dimension += len(reading.gaussian_latents)

    def _turned(self, atom: str, source: str, names: list[str]) -> None:
        """Express the fields of an independent input by standard normal variables."""
        size = np.sqrt(self.state.weight * self.state.of_inputs(source))[:, None]
        whole = np.array([(size * self.state.vectors[name]).ravel() for name in names])
        left, values, right = np.linalg.svd(whole, full_matrices=False)
        # signs must not flip between states, as lattice points are not symmetric
        sign = np.sign(np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], 0))
        left, right = left * sign, right * sign.T
        rank = int((values > _RANK * values[0]).sum())
        self.rows[atom] = left[:, :rank] * values[:rank], names
        shape = self.state.vectors[names[0]].shape
        self.axes[atom] = right[:rank].reshape(rank, *shape)
        self.places[atom] = self.dimension
        self.dimension += rank

    def row(self, symbol: sp.Symbol) -> Floats:
        """Return a field or a Gaussian latent as a row of coefficients of z."""
        row = np.zeros(self.dimension)
        if symbol in self.reading.fields:
            of = self.reading.fields[symbol]
            for atom, share in self.reading.shares[of.input.name].items():
                rows, names = self.rows[atom]
                place = self.places[atom]
                row[place : place + rows.shape[1]] = share * rows[names.index(of.vector.name)]
        else:
            row[self.first_latent + self.reading.gaussian_latents.index(symbol)] = 1.0
        return row

    def polynomial(self, first: int = 0) -> list[bool]:
        """Return for each z from ``first`` on whether increments are quadratic
        polynomials in it.
        """
        points = np.random.default_rng(3).normal(size=(5, self.dimension))
        averages = dict.fromkeys(self.reading.means, 1.0)
        flat = []
        for n in range(first, self.dimension):
            there = []
            for place in (-1.0, 0.0, 1.0, 2.0):
                points[:, n] = place
                values = self.values(points, False, averages).values()
                there.append(np.concatenate([each.ravel() for each in values]))
            bent = there[3] - 3 * there[2] + 3 * there[1] - there[0]
            flat.append(bool((np.abs(bent) <= 1e-10 * (1 + np.abs(there).max(axis=0))).all()))
        return flat

    def kinks(self) -> Floats | None:
        """Return rows (a, c) of the planes a·z + c = 0 where increments are not smooth.

        None if they are not smooth on surfaces that are not planes.
        """
        random = {*self.reading.fields, *self.reading.gaussian_latents}
        values, _ = self.reading.combinations
        planes = []
        for place in sorted(self.reading.kinks, key=str):
            used = [s for s in self.reading.finite_latents if place.has(s)]
            at = [list(self.reading.finite_latents).index(s) for s in used]
            for given in {tuple(each) for each in values[at].T} if used else {()}:
                known = place.xreplace({**self._numbers, **dict(zip(used, given, strict=True))})
                own = self._planes(known, sorted(known.free_symbols & random, key=str))
                if own is None:
                    return None
                planes += own
        return np.array(planes).reshape(len(planes), self.dimension + 1)

    def _planes(self, place: sp.Expr, symbols: Sequence[sp.Symbol]) -> list[Floats] | None:
        """Return the planes on which an expression vanishes; None if it vanishes on other
        surfaces.
        """
        if not symbols:
            return []
        slopes = [sp.diff(place, each) for each in symbols]
        if not any(slope.free_symbols for slope in slopes):
            row = sum(float(s) * self.row(x) for s, x in zip(slopes, symbols, strict=True))
            return [np.append(row, float(place.subs(dict.fromkeys(symbols, 0))))]
        if len(symbols) > 1:
            return None
        x = np.linspace(-12, 12, 4801)
        values = as_function(symbols, place)
        y = values(x) * np.ones_like(x)
        planes = []
        for n in np.flatnonzero(np.sign(y[:-1]) != np.sign(y[1:])):
            low, high = x[n], x[n + 1]
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if values(middle) * values(low) > 0 else (low, middle)
            planes.append(np.append(self.row(symbols[0]), -low))
        return planes

    def mean_steps(self, z: Floats, weights: Floats) -> tuple[MeanStep, MeanStep]:
        """Return the averaged increments, and those without the noise of random forces.

        Args:
            z: Points, shape (P, dimension).
            weights: The weights of the points, which sum to one.
        """
        chance = self.reading.combinations[1]
        both = (chance[:, None] * weights).ravel()
        averages = {
            symbol: float(each.ravel() @ both)
            for symbol, each in zip(
                self.reading.means, self.values(z, True, {}).values(), strict=True
            )
        }
        steps = {key: each.ravel() for key, each in self.values(z, False, averages).items()}
        means = {key: float(each @ both) for key, each in steps.items() if key[0] != "input"}
        forces = {key[1:]: each for key, each in steps.items() if key[0] == "input"}
        turned = np.tile(z, (len(chance), 1)) * both[:, None]
        along = {key: each @ turned for key, each in forces.items()}
        steady = {key for key, each in forces.items() if np.ptp(each) == 0}
        squares = {
            (one, other): float((forces[one] * both) @ forces[other])
            for one in forces
            for other in forces
            if one[1] == other[1]
        }
        known_only = {pair: mean for pair, mean in squares.items() if set(pair) <= steady}
        return self._assembled(means, along, squares), self._assembled(means, along, known_only)

    def values(
        self, z: Floats, first: bool, averages: Mapping[sp.Symbol, float]
    ) -> dict[tuple[str, str, str], Floats]:
        """Return the integrands, by combination of finite latents and point."""
        reading = self.reading
        values, chance = reading.combinations
        latents = dict(zip(reading.finite_latents, values[:, :, None], strict=True))
        random = [*reading.fields, *reading.gaussian_latents]
        fields = {s: (z @ self.row(s))[None] for s in random}
        known: dict[sp.Symbol, Any] = {**self._numbers, **latents, **fields, **averages}
        keys, function = reading.functions[first]
        results = (
            function([known.get(symbol, np.nan) for symbol in reading.symbols]) if keys else []
        )
        shape = len(chance), len(z)
        return {key: np.broadcast_to(each, shape) for key, each in zip(keys, results, strict=True)}

    def _assembled(
        self,
        means: Mapping[tuple[str, str, str], float],
        along: Mapping[tuple[str, str], Floats],
        squares: Mapping[tuple[tuple[str, str], tuple[str, str]], float],
    ) -> MeanStep:
        state, statement = self.state, self.reading.statement
        atoms = {atom.name: each for each in statement.inputs for atom in each.atoms}
        drift = {name: np.zeros_like(state.vectors[name]) for name, _ in along}
        noise: dict[tuple[str, str], Floats] = {}
        for (name, atom), mean in along.items():
            if atom in self.rows:
                rows, names = self.rows[atom]
                place = self.places[atom]
                shares = mean[place : place + rows.shape[1]] @ np.linalg.pinv(rows)
                moved = sum(s * state.vectors[v] for s, v in zip(shares, names, strict=True))
                drift[name] = drift[name] + state.of_inputs(atoms[atom].name)[:, None] * moved
        zero = np.zeros_like(state.weight)
        for (kind, name, source), rate in means.items():
            if kind == "vector":
                before = drift.get(name, np.zeros_like(state.vectors[name]))
                drift[name] = before + rate * state.vectors[source]
        for (one, other), square in squares.items():
            inputs, pair = atoms[one[1]], (one[0], other[0])
            share = state.of_inputs(inputs.name) / self._number(inputs.batch_ratio)
            noise[pair] = noise.get(pair, zero) + share * square
        step = MeanStep(
            state,
            drift,
            noise,
            {key[1]: mean for key, mean in means.items() if key[0] == "scalar"},
            {key[1]: mean for key, mean in means.items() if key[0] == "observed"},
            statement.batch_ratio is not None,
        )
        return _constrained(step, statement)

    def _number(self, ratio: sp.Expr | None) -> float:
        return 1.0 if ratio is None else float(ratio.xreplace(self._numbers))


def _constrained(step: MeanStep, statement: Statement) -> MeanStep:
    """Return the step after constraints, which remove half of the forbidden change."""
    state, drift = step.state, dict(step.drift)
    for constraint in statement.constraints:
        members = constraint.moved([v for v in constraint.vectors if v.name in step.drift])
        for a in members:
            for b in members if constraint.kind == "orthonormal" else [a]:
                weight = state.weight
                if constraint.inputs:
                    weight = weight * state.of_inputs(constraint.inputs)
                back = float(weight @ step.overlap_rate(a.name, b.name)) / 2
                if constraint.kind == "sphere":
                    back /= float(weight @ state.overlap(a.name, a.name))
                before = drift.get(a.name, np.zeros_like(state.vectors[a.name]))
                drift[a.name] = before - back * state.vectors[b.name]
    return replace(step, drift=drift)
