"""Stochastic gradient descent, or any other stated dynamics, at finite N."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import sympy as sp

from symderiv.experiment.steps.fresh_means import EXAMPLES, FreshMeans
from symderiv.experiment.steps.step_chain import BLOCK_NUMBERS, MarkovChain, Pace, Space, space_of
from symderiv.experiment.steps.step_form import program_of
from symderiv.experiment.steps.step_program import StepProgram
from symderiv.experiment.studies.simulated_runs import SimulatedRuns, run_all
from symderiv.experiment.studies.simulation import standard_error
from symderiv.foundation.errors import InputError, NotYetError, check_whole
from symderiv.foundation.limits import check_memory
from symderiv.foundation.showing import Summary
from symderiv.inputs.blas_threads import one_blas_thread
from symderiv.problem.initial import FRAMES, RUNS, stream
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.register import Mean
from symderiv.statement.stated_problem import Statement
from symderiv.storage.curve_results import ERROR, CurveResult
from symderiv.system.closed_motion import overlap_name, scalar_name
from symderiv.system.named_states import ByName
from symderiv.system.system_runs import Solver

if TYPE_CHECKING:
    import xarray


PER_UNIT_OF_TIME = 50
"""How often per unit of time averages in coefficients are measured; they are constant between."""

_COMPONENTS = 4  # the random stream that assigns examples to components of mixtures


_Components = Sequence[tuple[list[int], np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class _Fresh:
    """Random numbers that the runs of a statement draw afresh, besides white inputs.

    Args:
        eigenvalues: The eigenvalues of inputs that are not white, by name, shape (L,).
        components: The components of every mixture: places of its tokens, cumulative probabilities,
            and roots of eigenvalues, shape (components, L).
        means: The averages in coefficients, or None if there are none.
    """

    eigenvalues: Mapping[str, np.ndarray]
    components: _Components
    means: FreshMeans | None


class SystemChain(MarkovChain):
    """A run of a statement, whose inputs may be mixtures and whose coefficients have averages.

    Args:
        fresh: The random numbers that it draws.
        program, space, start, parameters, source, most, pace: As in ``MarkovChain``.
    """

    def __init__(
        self,
        fresh: _Fresh,
        program: StepProgram,
        space: Space,
        start: tuple[np.ndarray, np.ndarray],
        parameters: Mapping[str, float],
        source: tuple[int, ...],
        most: int,
        pace: Pace,
    ) -> None:
        roots = roots_of(program, fresh.eigenvalues)
        super().__init__(program, space, start, roots, parameters, source, most, pace)
        self._components, self._means = fresh.components, fresh.means
        self.generators = (*self.generators, stream(*source, _COMPONENTS))
        self._average = np.zeros(0 if self._means is None else len(self._means.symbols))

    def draw(self) -> None:
        """Draw the random numbers of a block, and measure averages."""
        super().draw()
        chances = self.generators[-1].random((self.block, len(self._components)))
        widths = np.diff(self.space.bounds)
        for (places, upto, roots), chance in zip(self._components, chances.T, strict=True):
            scale = np.repeat(roots, widths, axis=1)[np.searchsorted(upto, chance, side="right")]
            for place in places:
                self._inputs[place :: self.space.inputs] *= scale
        if self._means is not None:
            # a step over a batch uses the averages at one state
            if self.made % self.pace.batch == 0:
                self._average = self._means(self)
            self._latents[:, self._latents.shape[1] - self._average.size :] = self._average


@dataclass(frozen=True, repr=False)
class SystemSimulation(ByName, CurveResult):
    """Runs of a system at finite N.

    Attributes:
        alpha: Times at which runs reported, steps over N, shape (P,).
        runs: Order parameters and observables by name, shape (runs, P, …).
        dimension: N.
        method: ``"vectors"`` of N coordinates, or ``"gram"``: their coordinates in their span.
        cause: ``"done"``, or ``"not-a-number"`` if a run diverged; times are those that all
            reached.
        averaged: Fresh examples that averages in coefficients are means over; 0 without averages.
    """

    alpha: np.ndarray
    runs: Mapping[str, np.ndarray]
    dimension: int
    method: str
    cause: str = "done"
    averaged: int = 0
    output: str | None = None

    _where: ClassVar[str] = "simulation"

    def arrays(self) -> dict[str, np.ndarray]:
        """Return means over the runs and, under names with ``_standard_error``, their errors."""
        errors = {f"{name}{ERROR}": value for name, value in self.standard_error.items()}
        return {**self.mean, **errors}

    def usual(self) -> tuple[str, ...]:
        """Return the names of quantities that are one number at each time, or all if there are
        none.
        """
        return tuple(n for n, v in self.mean.items() if v.ndim == 1) or tuple(self.mean)

    def to_xarray(self) -> xarray.Dataset:
        """Return means, their errors and single runs (``…_run``) with named dimensions."""
        import xarray

        data = {}
        for name, value in {**self.arrays(), **self._single}.items():
            lead = ("run", "alpha") if name.endswith("_run") else ("alpha",)
            field = name.removesuffix("_run").removesuffix(ERROR)
            axes = [f"{field}_{n + 1}" for n in range(value.ndim - len(lead))]
            data[name] = ((*lead, *axes), value)
        facts = {"dimension": self.dimension, "method": self.method, "end": self.cause}
        return xarray.Dataset(data, {"alpha": self.alpha}, facts)

    @property
    def _single(self) -> dict[str, np.ndarray]:
        return {f"{name}_run": value for name, value in self.runs.items()}

    def _check_same(self, path: Path, content: bytes) -> None:
        # this class does not know the statement
        raise InputError(
            f"{path}: may hold another run; choose another name, or replace it with --force "
            "(force=True)"
        )

    @cached_property
    def mean(self) -> dict[str, np.ndarray]:
        """Means over the runs by name, α first."""
        return {name: np.mean(value, axis=0) for name, value in self.runs.items()}

    @cached_property
    def standard_error(self) -> dict[str, np.ndarray]:
        """Standard errors of the means; not a number for a single run."""
        return {name: standard_error(value) for name, value in self.runs.items()}

    def _summary(self) -> Summary:
        number = len(next(iter(self.runs.values())))
        rows: list[tuple[str, object]] = [
            ("runs", f"{number} at N = {self.dimension} on {self.method}"),
            ("alpha", self.alpha),
        ]
        if self.averaged:
            rows.append(("averages in coefficients", f"over {self.averaged} fresh examples each"))
        rows += [(f"{name} at the end", value[-1]) for name, value in self.mean.items()]
        return Summary("simulation of a system", rows)

    def failure(self) -> str | None:
        """Return one line on runs that diverged; None if all reached their end."""
        if self.cause == "done":
            return None
        last = f" after alpha = {self.alpha[-1]:g}" if self.alpha.size else ""
        return f"a run diverged{last} ({self.cause}); what was computed before is kept"

    def to_dict(self) -> dict[str, Any]:
        """Return means and standard errors as lists."""
        return {
            "alpha": self.alpha.tolist(),
            "mean": {k: v.tolist() for k, v in self.mean.items()},
            "standard_error": {k: v.tolist() for k, v in self.standard_error.items()},
            "dimension": self.dimension,
            "method": self.method,
            "cause": self.cause,
        }


@dataclass(frozen=True)
class Experiment:
    """A request for runs of a statement at finite N.

    Args:
        solver: The equations, for names, laws and observables.
        dimension: N.
        runs: The number of runs.
        alpha: The times at which they report.
        seed: The seed of all random numbers.
        method: ``"vectors"``, ``"gram"`` or ``"auto"``.
    """

    solver: Solver
    dimension: int
    runs: int
    alpha: np.ndarray
    seed: int
    method: str

    def __post_init__(self) -> None:
        for name, least in (("dimension", 1), ("runs", 1), ("seed", 0)):
            check_whole(name, getattr(self, name), least)

    @property
    def statement(self) -> Statement:
        """The statement that is run."""
        return self.solver.layout.statement

    @cached_property
    def averages(self) -> tuple[sp.Symbol, ...]:
        """The averages in coefficients."""
        return tuple(sorted(_averages_of(self.statement), key=str))

    def pace(self, values: Mapping[str, float]) -> Pace:
        """Return the pace of the steps for given values of parameters."""
        ratio = self.statement.batch_ratio
        if ratio is None:
            return Pace.usual(self.dimension)
        numbers = {symbol: values[str(symbol)] for symbol in self.statement.symbols.parameters}
        return Pace.of_batches(self.dimension, float(ratio.xreplace(numbers)))

    def space(self, program: StepProgram, pace: Pace) -> Space:
        """Return the coordinates in which runs take place."""
        counts = np.diff(self.solver.layout.class_bounds(self.dimension))
        space = space_of(program, counts, pace.batch).chosen(self.method)
        if self.averages and space.span:
            space = replace(space, together=pace.batch)
        return space

    def fresh(self, program: StepProgram, values: Mapping[str, float]) -> _Fresh:
        """Return the random numbers that runs draw."""
        layout, law = self.solver.layout, self.solver.closed.equations.law
        spectra = layout.spectrum[1]
        means = FreshMeans(law, self.averages, spectra, values) if self.averages else None
        return _Fresh(spectra, _components_of(program, law, spectra, layout.classes), means)


def simulated(
    asked: Experiment, given: Mapping[str, Any], parameters: Mapping[str, Any]
) -> SystemSimulation:
    """Return runs of a statement at finite N, measured by their overlaps.

    Vectors of every run are drawn anew with exactly the given overlaps. Observables are the
    equations' averages at the measured overlaps; averages in coefficients are means over fresh
    examples.

    Args:
        asked: The request for runs.
        given: The initial state.
        parameters: Values that differ from the defaults.
    """
    solver, layout, seed = asked.solver, asked.solver.layout, asked.seed
    state, constants = layout.packed(given, parameters)
    values = layout.parameter_values(parameters)
    program, pace = program_of(asked.statement, asked.averages), asked.pace(values)
    space, fresh = asked.space(program, pace), asked.fresh(program, values)
    gram, scalars = gram_of(solver, state, constants), _scalars_of(solver, state)
    measure = _measure_of(asked.statement, fresh.eigenvalues, layout.classes)
    # a unit of time is N steps, or one step if steps take batches of cN examples
    each = asked.dimension if asked.statement.batch_ratio is None else pace.batch
    examples = np.rint(np.asarray(asked.alpha) * each / pace.batch).astype(np.int64) * pace.batch
    points = examples.size
    check_memory(
        8.0 * asked.runs * points * state.size,
        f"{asked.runs} runs of {points} points",
        argument="runs",
    )
    most = int(examples[-1])
    if asked.averages:
        most = min(most, _together(space, pace))

    def chain(run: int) -> SystemChain:
        start = space.drawn_vectors(gram, stream(seed, FRAMES, run)), scalars
        made = SystemChain(fresh, program, space, start, values, (seed, RUNS, run), most, pace)
        made.measure_spheres(measure)
        return made

    def recorded(chain: SystemChain) -> dict[str, np.ndarray]:
        return {"state": measured(solver, space, chain)}

    work = SimulatedRuns(chain, recorded, examples, asked.runs, asked.dimension)
    with one_blas_thread():
        if run_all(work, min(asked.runs, os.cpu_count() or 1), None):
            raise KeyboardInterrupt
    reached = min(run.recorded for run in work.runs)
    states = work.results["state"][:, :reached]
    by_name = layout.unpacked(states, constants, layout.shown(given))
    for name in solver.closed.observables:
        by_name[name] = np.array([solver.observed(each, constants)[name] for each in states])
    cause = "done" if reached == examples.size else "not-a-number"
    done, used = examples[:reached] / each, "gram" if space.span else "vectors"
    averaged = EXAMPLES if asked.averages else 0
    return SystemSimulation(done, by_name, asked.dimension, used, cause, averaged)


def _measure_of(
    statement: Statement, eigenvalues: Mapping[str, np.ndarray], classes: int
) -> np.ndarray:
    """Return the weights of squared coordinates in the constraint of a sphere, shape (L,).

    Raises:
        NotYetError: Spheres refer to several inputs.
    """
    names = {each.inputs for each in statement.constraints if each.kind == "sphere"}
    if len(names) > 1:
        raise NotYetError("spheres that are measured with several inputs cannot be simulated yet")
    return eigenvalues.get("".join(names), np.ones(classes))


def _averages_of(statement: Statement) -> set[sp.Symbol]:
    """Return the averages that occur in the changes of a step."""
    step, means = statement.step(), statement.symbols.of(Mean)
    changes = [*step.vectors.values(), *step.scalars.values()]
    used = [e for c in changes for e in (*c.inputs.values(), *c.vectors.values(), c.scalar)]
    return set().union(*(each.free_symbols for each in used)) & set(means)


def _together(space: Space, pace: Pace) -> int:
    """Return the largest number of examples between two measurements of averages."""
    if pace.batch == 1:
        return max(1, space.dimension // PER_UNIT_OF_TIME)
    # whole steps, or equal parts of one, so that each step begins with a measurement
    most = pace.batch if space.span else BLOCK_NUMBERS // (space.inputs * space.bounds[-1])
    return max(n for n in range(1, max(1, most) + 1) if pace.batch % n == 0)


def _components_of(
    program: StepProgram, law: FieldLaw, eigenvalues: Mapping[str, np.ndarray], classes: int
) -> _Components:
    """Return the components of mixtures in the form that ``SystemChain`` takes."""
    components = []
    for name, parts in law.mixtures.items():
        places = [n for atom, n in program.atoms.items() if program.sources[atom] == name]
        upto = np.cumsum([float(probability) for probability, _ in parts])[:-1]
        own = [eigenvalues.get(part.name, np.ones(classes)) for _, part in parts]
        components.append((places, upto, np.sqrt(np.array(own))))
    return components


def gram_of(solver: Solver, state: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Return the overlaps of all vectors in every eigenspace, shape (L, V, V)."""
    layout = solver.layout
    return layout.gram(layout.statement.vectors, layout.fields(state, constants))


def measured(solver: Solver, space: Space, chain: MarkovChain) -> np.ndarray:
    """Return the state of a run as a flat vector."""
    layout, names = solver.layout, chain.program.vectors
    packing = layout.packing("state")
    flat = np.empty(packing.size)
    views = packing.views(flat)
    gram = space.overlaps(chain.vectors)
    for a, b in solver.closed.moving:
        views[overlap_name((a, b))][:] = gram[:, names[a.name], names[b.name]]
    for n, symbol in enumerate(layout.symbols.scalars):
        views[scalar_name(symbol)][0] = chain.scalars[n]
    return flat


def _scalars_of(solver: Solver, state: np.ndarray) -> np.ndarray:
    views = solver.layout.packing("state").views(state)
    return np.array([float(views[scalar_name(u)][0]) for u in solver.layout.symbols.scalars])


def roots_of(program: StepProgram, eigenvalues: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the roots of the eigenvalues for every input and eigenspace; shape (0, 0) if all are
    1.
    """
    if not eigenvalues:
        return np.zeros((0, 0))
    classes = len(next(iter(eigenvalues.values())))
    result = np.ones((len(program.atoms), classes))
    for atom, place in program.atoms.items():
        if program.sources[atom] in eigenvalues:
            result[place] = np.sqrt(eigenvalues[program.sources[atom]])
    return result
