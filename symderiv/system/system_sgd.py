"""Stochastic gradient descent, or whatever a statement says, on explicit vectors at finite N."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from symderiv_codegen import Array, Assignment, Procedure, Program, Vector, print_fast

from symderiv.dynamics.storage.kernels import kept_module
from symderiv.errors import InputError
from symderiv.numerics import GAUSSIAN
from symderiv.showing import Shown, Summary
from symderiv.statement.register import Field, Latent, Overlap
from symderiv.statement.stated_problem import Statement
from symderiv.system.closed_motion import overlap_name, scalar_name
from symderiv.system.system_runs import Solver

__all__ = ["Simulator", "SystemSimulation"]

_BLOCK_NUMBERS = 128 * 1024  # normals that are drawn at a time, which stay in the cache


@dataclass(frozen=True, repr=False)
class SystemSimulation(Shown):
    """Runs of a system at finite N.

    Attributes:
        alpha: Times at which runs reported, steps over N, shape (P,).
        runs: Order parameters and observables by name, shape (runs, P, …).
        dimension: N.
        cause: ``"done"``, or ``"not-a-number"`` if a run diverged; times are those that all
            reached.
    """

    alpha: np.ndarray
    runs: Mapping[str, np.ndarray]
    dimension: int
    cause: str = "done"

    @cached_property
    def mean(self) -> dict[str, np.ndarray]:
        """Means over the runs by name, α first."""
        return {name: np.mean(value, axis=0) for name, value in self.runs.items()}

    @cached_property
    def standard_error(self) -> dict[str, np.ndarray]:
        """Standard errors of the means; not a number for a single run."""
        number = len(next(iter(self.runs.values())))
        if number == 1:
            return {name: np.full(v.shape[1:], np.nan) for name, v in self.runs.items()}
        return {
            name: np.std(value, axis=0, ddof=1) / math.sqrt(number)
            for name, value in self.runs.items()
        }

    def __getitem__(self, name: str) -> np.ndarray:
        return self.mean[name]

    def _summary(self) -> Summary:
        number = len(next(iter(self.runs.values())))
        rows: list[tuple[str, object]] = [
            ("runs", f"{number} at N = {self.dimension}"),
            ("alpha", self.alpha),
        ]
        rows += [(f"{name} at the end", value[-1]) for name, value in self.mean.items()]
        return Summary("simulation of a system", rows)

    def to_dict(self) -> dict[str, Any]:
        """Return means and standard errors as lists."""
        return {
            "alpha": self.alpha.tolist(),
            "mean": {k: v.tolist() for k, v in self.mean.items()},
            "standard_error": {k: v.tolist() for k, v in self.standard_error.items()},
            "dimension": self.dimension,
            "cause": self.cause,
        }


class Simulator:
    """The compiled step of a statement.

    Args:
        statement: What a step does; nothing derived is read.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.step = statement.step()
        self.vectors = {v: n for n, v in enumerate(statement.vectors)}
        atoms = [atom for inputs in statement.inputs for atom in inputs.atoms]
        self.atoms = {atom: n for n, atom in enumerate(atoms)}
        self._forces = [
            (v, atom, force)
            for v, change in self.step.vectors.items()
            for atom, force in change.inputs.items()
            if force != 0
        ]
        self._drifts = [
            (v, other, rate)
            for v, change in self.step.vectors.items()
            for other, rate in change.vectors.items()
            if rate != 0
        ]
        self._scalars = [(u, change.scalar) for u, change in self.step.scalars.items()]
        self._expressions = [
            *(f for _, _, f in self._forces),
            *(g for _, _, g in self._drifts),
            *(g for _, g in self._scalars),
        ]
        used = set().union(*(e.free_symbols for e in self._expressions))
        meaning = statement.symbols.meaning
        ordered = sorted(used, key=str)
        self._fields = [s for s in ordered if isinstance(meaning.get(s), Field)]
        self._overlaps = [s for s in ordered if isinstance(meaning.get(s), Overlap)]
        self._slow = list(statement.symbols.scalars)
        self._latents = [s for s in ordered if isinstance(meaning.get(s), Latent)]
        self._parameters = list(statement.symbols.parameters)

    @cached_property
    def program(self) -> Program:
        """The coefficients of all changes as a program of one vector of values."""
        order = [*self._fields, *self._overlaps, *self._slow, *self._latents, *self._parameters]
        values = sp.IndexedBase("values")
        places = {symbol: values[n] for n, symbol in enumerate(order)}
        one = sp.Idx("one", sp.Symbol("I", integer=True))
        count = len(self._expressions)
        state = tuple(Array(f"c{n}", ("I",), "coefficient") for n in range(count))
        outputs = tuple(Array(f"d{n}", ("I",), "coefficient") for n in range(count))
        inputs = (Array("values", ("S",), "fields, overlaps, scalars, latents, parameters"),)
        body = tuple(
            Assignment(sp.IndexedBase(f"d{n}")[one], value.xreplace(places))
            for n, value in enumerate(self._expressions)
        )
        return Program(
            name="changes",
            title="The changes of one step.",
            recipe={},
            equations=(),
            ranges=("S", "I"),
            small=("I",),
            functions=(),
            procedures=(Procedure("right_hand_side", "The changes.", inputs, outputs, (), body),),
            state=Vector("state", state),
            parameters=Vector("parameters", inputs),
            extension=GAUSSIAN,
        )

    @cached_property
    def _changes(self) -> Any:
        from symderiv.code_cache import kept_code
        from symderiv.compiled import as_argument

        module = kept_module(print_fast(self.program))
        with kept_code():
            return as_argument(module.specialised(1))

    def mixing(self) -> np.ndarray:
        """Return the triangular matrix by which independent inputs become correlated tokens."""
        result = np.eye(len(self.atoms))
        start = 0
        for inputs in self.statement.inputs:
            size = len(inputs.atoms)
            if inputs.correlation is not None:
                matrix = np.array(inputs.correlation, dtype=float)
                values, vectors = np.linalg.eigh(matrix)
                # triangular, also for a singular correlation
                root = np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0.0))).T)[1].T
                result[start : start + size, start : start + size] = root
            start += size
        return result

    def run(
        self,
        vectors: np.ndarray,
        scalars: np.ndarray,
        roots: np.ndarray,
        parameters: Mapping[str, float],
        steps: np.ndarray,
        random: np.random.Generator,
        report: Callable[[int, np.ndarray, np.ndarray], None],
    ) -> str:
        """Make steps and report vectors and scalars after those that are asked for.

        Args:
            vectors: Shape (V, N); changed.
            scalars: Shape (U,); changed.
            roots: Roots of eigenvalues by input and coordinate, shape (A, N); (0, 0) for ones.
            parameters: By name.
            steps: Ascending numbers of steps at which to report.
            random: Draws inputs and latents.
            report: Called with the number of the report, the vectors and the scalars.

        Returns:
            ``"done"`` or ``"not-a-number"``.
        """
        from symderiv.system.step_kernel import learn

        N, A = vectors.shape[1], len(self.atoms)
        block = max(1, _BLOCK_NUMBERS // (A * N))
        count = len(self._fields) + len(self._overlaps) + len(self._slow) + len(self._latents)
        values = np.zeros(count + len(self._parameters))
        values[count:] = [parameters[str(p)] for p in self._parameters]
        pairs = {
            "fields": [self._meant(s, Field) for s in self._fields],
            "overlaps": [self._meant(s, Overlap) for s in self._overlaps],
            "forces": [(self.vectors[v], self.atoms[a]) for v, a, _ in self._forces],
            "drifts": [(self.vectors[v], self.vectors[w]) for v, w, _ in self._drifts],
        }
        rows = {k: np.array(v, dtype=np.int64).reshape(-1, 2) for k, v in pairs.items()}
        moving = np.array([self._slow.index(u) for u, _ in self._scalars], dtype=np.int64)
        sizes = np.array([values.size, 1], dtype=np.int64)
        results, room = np.zeros(len(self._expressions)), np.zeros_like(vectors)
        mixing, constraints = self.mixing(), self._constraints()
        room_for_normals = np.empty((block * A, N))
        done = 0
        for number, wanted in enumerate(steps):
            while done < wanted:
                many = int(min(block, wanted - done))
                z = room_for_normals[: many * A]
                random.standard_normal(out=z)
                latents = self._drawn(many, random)
                bad = learn(
                    self._changes,
                    sizes,
                    vectors,
                    z,
                    mixing,
                    roots,
                    latents,
                    scalars,
                    values,
                    results,
                    rows["fields"],
                    rows["overlaps"],
                    rows["forces"],
                    rows["drifts"],
                    moving,
                    constraints,
                    room,
                )
                if bad >= 0:
                    return "not-a-number"
                done += many
            report(number, vectors, scalars)
        return "done"

    def _meant(self, symbol: sp.Symbol, kind: type) -> tuple[int, int]:
        meaning = self.statement.symbols.meaning[symbol]
        if isinstance(meaning, Field):
            return self.vectors[meaning.vector], self.atoms[meaning.input]
        assert isinstance(meaning, Overlap)
        return self.vectors[meaning.first], self.vectors[meaning.second]

    def _constraints(self) -> np.ndarray:
        result = np.zeros(len(self.vectors), dtype=np.int64)
        for number, constraint in enumerate(self.statement.constraints, start=1):
            for v in constraint.vectors:
                result[self.vectors[v]] = -1 if constraint.kind == "sphere" else number
        return result

    def _drawn(self, many: int, random: np.random.Generator) -> np.ndarray:
        found = np.empty((many, len(self._latents)))
        for n, symbol in enumerate(self._latents):
            latent = self.statement.symbols.meaning[symbol]
            assert isinstance(latent, Latent)
            if isinstance(latent.law, str):
                found[:, n] = random.standard_normal(many)
            else:
                values = np.array([float(v) for v, _ in latent.values])
                chances = np.array([float(p) for _, p in latent.values])
                found[:, n] = random.choice(values, size=many, p=chances)
        return found


def simulated(
    statement: Statement,
    solver: Solver,
    given: Mapping[str, Any],
    parameters: Mapping[str, Any],
    *,
    dimension: int,
    runs: int,
    alpha: np.ndarray,
    seed: int,
) -> SystemSimulation:
    """Return runs of a statement at finite N, measured by overlaps.

    Vectors of every run are drawn anew with exactly the given overlaps. Observables are the
    equations' averages at the measured overlaps.
    """
    layout = solver.layout
    if runs < 1 or dimension < len(statement.vectors):
        raise InputError(
            f"must be at least {len(statement.vectors)}, the number of vectors",
            argument="dimension",
        )
    bounds = layout.class_bounds(dimension)
    state, constants = layout.packed(given, parameters)
    values = layout.parameter_values(parameters)
    gram = gram_of(solver, state, constants)
    steps = np.rint(np.asarray(alpha) * dimension).astype(np.int64)
    simulator = Simulator(statement)
    roots = _roots(simulator, solver, bounds, dimension)
    start = _scalars_of(solver, state)
    found: list[dict[str, np.ndarray]] = []
    cause, reached = "done", steps.size
    for run in range(runs):
        random = np.random.Generator(np.random.SFC64([seed, run]))
        vectors = drawn_vectors(gram, bounds, random)
        scalars = start.copy()
        states = np.empty((steps.size, state.size))
        count = 0

        def report(number: int, vectors: np.ndarray, scalars: np.ndarray) -> None:
            nonlocal count
            states[number] = measured(solver, vectors, scalars, bounds)  # noqa: B023
            count = number + 1

        ended = simulator.run(vectors, scalars, roots, values, steps, random, report)
        if ended != "done":
            cause, reached = ended, min(reached, count)
        found.append({"states": states})
    stacked = np.array([each["states"] for each in found])[:, :reached]
    by_name = layout.unpacked(stacked, constants, layout.shown(given))
    for name in solver.closed.observables:
        by_name[name] = np.array([solver.observed(each, constants)[name] for each in stacked])
    return SystemSimulation(steps[:reached] / dimension, by_name, dimension, cause)


def gram_of(solver: Solver, state: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Return the overlaps of all vectors in every eigenspace, shape (L, V, V)."""
    layout = solver.layout
    fields = {
        **layout.packing("parameters").views(constants),
        **layout.packing("state").views(state),
    }
    vectors = layout.statement.vectors
    result = np.zeros((layout.classes, len(vectors), len(vectors)))
    for i, a in enumerate(vectors):
        for j in range(i, len(vectors)):
            result[:, i, j] = result[:, j, i] = fields[overlap_name((a, vectors[j]))]
    return result


def drawn_vectors(gram: np.ndarray, bounds: list[int], random: np.random.Generator) -> np.ndarray:
    """Return vectors with exactly the given overlaps in every eigenspace, shape (V, N).

    Raises:
        InputError: No vectors have such overlaps.
    """
    V = gram.shape[1]
    result = np.empty((V, bounds[-1]))
    for k, (begin, end) in enumerate(pairwise(bounds)):
        values, turn = np.linalg.eigh(gram[k])
        if values[0] < -1e-9 * max(values[-1], 1e-300):
            raise InputError(
                "no vectors have these overlaps: their matrix has the eigenvalue "
                f"{values[0]:.3g}; give overlaps of all vectors, also those that the equations do "
                "not need",
                argument="initial",
            )
        n = end - begin
        if n < V:
            raise InputError(
                f"an eigenspace of {n} coordinates is too small for {V} vectors",
                argument="dimension",
            )
        rows = np.linalg.qr(random.standard_normal((n, V)))[0].T * math.sqrt(n)
        result[:, begin:end] = (turn * np.sqrt(np.maximum(values, 0.0))) @ turn.T @ rows
    return result


def measured(
    solver: Solver, vectors: np.ndarray, scalars: np.ndarray, bounds: list[int]
) -> np.ndarray:
    """Return the state of vectors and scalars as a flat vector."""
    layout = solver.layout
    names = {v: n for n, v in enumerate(layout.statement.vectors)}
    packing = layout.packing("state")
    flat = np.empty(packing.size)
    views = packing.views(flat)
    for k, (begin, end) in enumerate(pairwise(bounds)):
        part = vectors[:, begin:end]
        gram = part @ part.T / (end - begin)
        for a, b in solver.closed.moving:
            views[overlap_name((a, b))][k] = gram[names[a], names[b]]
    for n, symbol in enumerate(layout.symbols.scalars):
        views[scalar_name(symbol)][0] = scalars[n]
    return flat


def _scalars_of(solver: Solver, state: np.ndarray) -> np.ndarray:
    views = solver.layout.packing("state").views(state)
    return np.array([float(views[scalar_name(u)][0]) for u in solver.layout.symbols.scalars])


def _roots(simulator: Simulator, solver: Solver, bounds: list[int], N: int) -> np.ndarray:
    """Return the roots of eigenvalues of every input and coordinate."""
    _, eigenvalues = solver.layout.spectrum
    if not eigenvalues:
        return np.zeros((0, 0))
    result = np.ones((len(simulator.atoms), N))
    for atom, place in simulator.atoms.items():
        if atom.source in eigenvalues:
            counts = np.diff(bounds)
            result[place] = np.repeat(np.sqrt(eigenvalues[atom.source]), counts)
    return result
