"""One run of a statement at finite N: its state, and the random numbers of its next steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from symderiv.experiment.steps.step_program import StepProgram
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.problem.initial import stream

# The number of normals in a block: it fits into the cache, and entering compiled code costs as much
# as drawing ten thousand.
BLOCK_NUMBERS = 128 * 1024

# Costs in units of one normal number: the residual length of an input; bringing vectors back, times
# their number squared; inner products and updates per coordinate, times the number of vectors.
_REST, _REFLECTIONS, _PRODUCTS = 2.0, 0.4, 0.09

# With more inputs in a step, the span is not faster.
_MOST_INPUTS = 64


# Random streams of a run: inputs, Gaussian latents, residual lengths in the span, discrete latents.
_PURPOSES: tuple[tuple[int, ...], ...] = ((), (1,), (2,), (3,))


@dataclass(frozen=True)
class Space:
    """The coordinates in which runs take place.

    Args:
        counts: The numbers of coordinates of the eigenspaces, shape (L,).
        order: The indices of the vectors, fixed ones first.
        inputs: The number of inputs of an example.
        together: The number of examples after which vectors are rotated back into V coordinates; 0
            if all coordinates are kept.
        batch: The number of examples in a step, within which they are not rotated back.
        silent: The number of further coordinates, in which inputs vanish.
    """

    counts: np.ndarray
    order: tuple[int, ...]
    inputs: int
    together: int = 0
    batch: int = 1
    silent: int = 0

    @property
    def span(self) -> bool:
        """True if only coordinates in the span of the vectors are kept."""
        return self.together > 0

    @property
    def vectors(self) -> int:
        """The number V of vectors."""
        return len(self.order)

    @property
    def dimension(self) -> int:
        """The input dimension N."""
        return int(self.counts.sum()) + self.silent

    @property
    def drawn(self) -> int:
        """The number of inputs that are drawn before vectors are rotated back."""
        return self.inputs * max(1, self.together)

    @cached_property
    def open(self) -> np.ndarray:
        """True for each eigenspace in which inputs have residuals outside of the span,
        shape (L,).
        """
        return self.span & (self.counts > self.vectors + self.drawn)

    @cached_property
    def bounds(self) -> list[int]:
        """The first coordinate of each eigenspace, and the end, shape (L + 1,)."""
        widths = np.where(self.open, self.vectors + self.drawn, self.counts)
        return [0, *(int(end) for end in np.cumsum(widths))]

    @cached_property
    def table(self) -> np.ndarray:
        """First coordinates and ends of the eigenspaces in which inputs have residuals."""
        ends = np.array([*pairwise(self.bounds)], dtype=np.int64)
        return np.ascontiguousarray(ends[self.open])

    @cached_property
    def _rests(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the lengths of residuals, shape (open, drawn), and their degrees of
        freedom.
        """
        place = np.arange(self.drawn)
        columns = self.table[:, :1] + self.vectors + place
        return columns, self.counts[self.open][:, None] - self.vectors - place

    @cached_property
    def _beyond(self) -> np.ndarray | None:
        """A mask of the coordinates that inputs have in the span, shape (drawn, …); None if not
        needed.
        """
        if self.drawn == 1 or not self.table.size:
            return None
        mask = np.ones((self.drawn, self.bounds[-1]))
        for first, end in self.table:
            mask[:, first:end] = np.tri(self.drawn, end - first, self.vectors)
        return mask

    def draw(self, out: np.ndarray, normal: np.random.Generator, rest: np.random.Generator) -> None:
        """Draw independent inputs for whole groups of steps, shape (steps · inputs, …)."""
        from symderiv.experiment.steps.step_normals import draw_normals

        draw_normals(normal, out)
        if not self.table.size:
            return
        groups = out.reshape(-1, self.drawn, out.shape[1])
        if self._beyond is not None:
            groups *= self._beyond
        columns, freedom = self._rests
        # a chi-squared number is twice a gamma number with half the degrees of freedom
        half = rest.standard_gamma(0.5 * freedom, size=(len(groups), *freedom.shape))
        groups[:, np.arange(self.drawn), columns] = np.sqrt(2.0 * half)

    def overlaps(self, vectors: np.ndarray) -> np.ndarray:
        """Return the mean products of the coordinates of vectors (V, …), shape (L, V, V)."""
        overlaps = np.empty((self.counts.size, len(vectors), len(vectors)))
        for k, (begin, end) in enumerate(pairwise(self.bounds)):
            part = vectors[:, begin:end]
            overlaps[k] = part @ part.T / self.counts[k]
        return overlaps

    def drawn_vectors(self, gram: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Return vectors with exactly the given mean products, shape (V, …).

        Args:
            gram: The mean products, shape (L, V, V), or smaller: missing vectors are zero.
            random: The generator for directions if all coordinates are kept.

        Raises:
            InputError: No vectors of so many coordinates have such products.
        """
        result = np.zeros((self.vectors, self.bounds[-1]))
        order, left = np.array(self.order, dtype=np.int64), self.vectors - gram.shape[1]
        gram = np.pad(gram, ((0, 0), (0, left), (0, left)))
        for k, (begin, end) in enumerate(pairwise(self.bounds)):
            n = int(self.counts[k])
            rows = _rows(gram[k], n) * np.sqrt(n)
            if not self.span:
                frame = np.linalg.qr(random.standard_normal((n, rows.shape[1])))[0]
                result[:, begin:end] = rows @ frame.T
            elif self.open[k]:
                lower = np.asarray(np.linalg.qr(rows[order].T, mode="r")).T
                result[order, begin : begin + lower.shape[1]] = lower
            else:
                result[:, begin : begin + rows.shape[1]] = rows
        return result

    @property
    def cost(self) -> float:
        """The cost of an example, in units of one normal number."""
        each = 1.0 + _PRODUCTS * self.vectors
        width = self.vectors + self.drawn
        rests = _REST * self.inputs + _REFLECTIONS * self.vectors**2
        costs = np.where(self.open, width * self.inputs + rests, self.counts * each * self.inputs)
        return float(np.sum(costs))

    def chosen(self, method: str) -> Space:
        """Return this space or the span of the vectors; ``"auto"`` chooses the cheaper one.

        Raises:
            InputError: The method is unknown, or a step has too many inputs for the span.
        """
        if method not in ("auto", "vectors", "gram"):
            raise InputError(
                f'{method!r} is unknown; choose "auto", "vectors" or "gram"', argument="method"
            )
        drawn = self.inputs * self.batch
        if not drawn:
            return self
        if method == "gram" and drawn > _MOST_INPUTS:
            raise NotYetError(
                f'"gram" cannot take {drawn} vectors in a step; use "vectors"', argument="method"
            )
        many = max(1, self.vectors // (3 * drawn))
        roomy = self.counts[self.counts > self.vectors + drawn]
        if np.any(roomy <= self.vectors + many * drawn):
            many = 1
        span = replace(self, together=many * self.batch)
        cheaper = drawn <= _MOST_INPUTS and span.cost < 0.9 * self.cost
        return span if method == "gram" or (method == "auto" and cheaper) else self


def space_of(program: StepProgram, counts: np.ndarray, batch: int = 1) -> Space:
    """Return the space of all coordinates, with these numbers in the eigenspaces."""
    moving = set(program.moving.tolist())
    order = sorted(range(program.rows), key=lambda n: n in moving)
    return Space(counts, tuple(order), len(program.atoms), batch=batch)


def _rows(gram: np.ndarray, n: int) -> np.ndarray:
    """Return rows with these inner products, with as many columns as vectors or coordinates."""
    if not gram.size:
        return gram
    length = np.sqrt(np.diag(gram))
    safe = np.where(length > 0, length, 1.0)
    # scaling to a unit diagonal keeps small vectors as accurate as large ones
    values, turn = np.linalg.eigh(gram / safe[:, None] / safe)
    values, turn = values[::-1], turn[:, ::-1]
    if values[-1] < -1e-9 * max(values[0], 1e-300):
        raise InputError(
            "no vectors have these overlaps: their matrix has the eigenvalue "
            f"{np.linalg.eigvalsh(gram)[0]:.3g}; give overlaps of all vectors, including those "
            "that the equations do not need",
            argument="initial",
        )
    if np.any(values[n:] > 1e-7 * len(gram)):
        raise InputError(
            f"an eigenvalue has only {n} coordinates, in which there are no vectors with the given "
            f"overlaps; {len(gram)}, the number of the vectors, are always enough",
            argument="dimension",
        )
    rows: np.ndarray = length[:, None] * turn[:, :n] * np.sqrt(np.clip(values[:n], 0.0, None))
    return rows


@dataclass(frozen=True)
class Pace:
    """Units of the terms of a step.

    Args:
        batch: The number of examples in a step, over which its changes are averaged.
        force, once, drift, scalar: The values for 1/√N of forces, of forces that act once in a
            step, and for 1/N of drifts and of scalars.
        clock: The time per example.
        memory: The factor by which velocities decay in a step, if there are any.
    """

    force: float
    once: float
    drift: float
    scalar: float
    clock: float
    batch: int = 1
    memory: float = 0.0

    @classmethod
    def usual(cls, N: int) -> Pace:
        """Return the units of statements."""
        return cls(N**-0.5, N**-0.5, 1 / N, 1 / N, 1 / N)

    @classmethod
    def of_batches(cls, N: int, ratio: float) -> Pace:
        """Return the units of batches of cN examples, which move weights by amounts of
        order one.
        """
        batch = max(1, round(ratio * N))
        return cls(N**0.5, 1.0, 1.0, 1.0, 1 / batch, batch)


class MarkovChain:
    """One run: vectors, scalars and a block of random numbers.

    Args:
        program: The program of a step.
        space: The coordinates.
        start: Vectors, shape (V, …), and scalars, shape (U,), without velocities; copied.
        roots: Roots of the eigenvalues of every input by eigenspace, shape (A, L), or (0, 0) if all
            are 1.
        parameters: The parameters by name.
        source: The source of its random numbers, such as seed, purpose and index of the run.
        most: The largest number of examples that is needed.
        pace: The units of the terms of a step.
    """

    def __init__(
        self,
        program: StepProgram,
        space: Space,
        start: tuple[np.ndarray, np.ndarray],
        roots: np.ndarray,
        parameters: Mapping[str, float],
        source: tuple[int, ...],
        most: int,
        pace: Pace | None = None,
    ) -> None:
        self.program, self.space = program, space
        self.pace = pace or Pace.usual(space.dimension)
        width = space.bounds[-1]
        self.vectors, self.scalars = np.zeros((program.rows, width)), np.zeros(program.numbers)
        self.vectors[: len(start[0])], self.scalars[: len(start[1])] = start
        whole = self.pace.batch > 1
        self._gathered = np.zeros((program.rows, width) if whole else (0, 0))
        self._sums = np.zeros(program.results if whole else 0)
        self.generators = tuple(stream(*source, *p) for p in _PURPOSES)
        # results do not depend on the size of blocks: short runs need not draw a whole one
        many = max(1, min(BLOCK_NUMBERS // max(1, space.inputs * width), most))
        self.block = space.together * -(-many // space.together) if space.span else many
        self.made = 0
        self._inputs = np.empty((self.block * space.inputs, width))
        self._latents = np.zeros((self.block, len(program.drawn)))
        self._steps: Callable[[], int] | None = None
        sizes = [self.pace.force, self.pace.drift, self.pace.scalar, self.pace.clock]
        numbers = [space.dimension, *sizes, self.pace.memory, self.pace.once]
        self._counts, self._units = np.zeros(6, dtype=np.int64), np.array(numbers, dtype=float)
        self._law = (program.mixing, np.zeros((0, 0)), np.ones((1, width)))
        if roots.size:
            self.weigh(roots)
        values = np.zeros(program.slots + len(program.parameters) + 1)
        values[program.slots : -1] = [parameters[name] for name in program.parameters]
        self._tables = (*program.tables, space.table)
        self._lists = (program.constraints, program.moving, np.array(program.lengths))
        self._room = (
            *(values, np.zeros(program.results), np.zeros_like(self.vectors)),
            *(np.zeros(len(program.tables[2])), np.zeros(program.rows)),
            *(np.zeros((program.rows, program.rows)), np.zeros(program.rows, dtype=np.int64)),
        )

    def weigh(self, roots: np.ndarray) -> None:
        """Give inputs eigenvalues with these roots, shape (A, L), from now on."""
        widths = np.diff(self.space.bounds)
        wide = np.ascontiguousarray(np.repeat(roots, widths, axis=1))
        self._law, self._steps = (self._law[0], wide, self._law[2]), None

    def measure_spheres(self, eigenvalues: np.ndarray) -> None:
        """Make spheres keep variances of fields with these eigenvalues, shape (L,), in place of
        norms.
        """
        wide = np.repeat(eigenvalues, np.diff(self.space.bounds))[None]
        self._law = (*self._law[:2], np.ascontiguousarray(wide, dtype=np.float64))
        self._steps = None

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The arrays that steps change."""
        sums = {"gathered": self._gathered, "sums": self._sums}
        return {
            "vectors": self.vectors,
            "scalars": self.scalars,
            **(sums if self._sums.size else {}),
        }

    def draw(self) -> None:
        """Draw the random numbers of a block of steps."""
        self.space.draw(self._inputs, self.generators[0], self.generators[2])
        self.draw_latents()

    def use(self, inputs: np.ndarray, given: np.ndarray | None = None) -> None:
        """Use these inputs, and these last given values, for the block in place of drawn ones.

        Args:
            inputs: Independent inputs, shape (examples · A, …), at most a block of them.
            given: Values that come with every example, shape (examples, …).
        """
        self._inputs[: len(inputs)] = inputs
        if given is not None:
            self._latents[: len(given), self._latents.shape[1] - given.shape[1] :] = given

    def draw_latents(self) -> None:
        """Draw the latents of a block."""
        normal, uniform = self.generators[1], self.generators[3]
        gaussian, others = self._laws
        # step by step, so that results do not depend on the size of blocks
        if gaussian:
            self._latents[:, gaussian] = normal.standard_normal((self.block, len(gaussian)))
        if others:
            chances = uniform.random((self.block, len(others)))
            for column, (n, values, upto) in enumerate(others):
                places = np.searchsorted(upto, chances[:, column], side="right")
                self._latents[:, n] = values[places]

    @cached_property
    def _laws(self) -> tuple[list[int], list[tuple[int, np.ndarray, np.ndarray]]]:
        """Columns of Gaussian latents; for others columns, values and cumulative probabilities."""
        gaussian: list[int] = []
        others: list[tuple[int, np.ndarray, np.ndarray]] = []
        for n, law in enumerate(self.program.laws):
            if not law:
                gaussian.append(n)
                continue
            values, chances = np.array(law).T
            others.append((n, values, np.cumsum(chances)[:-1]))
        return gaussian, others

    def learn(self, begin: int, end: int) -> int:
        """Learn the examples ``begin`` to ``end`` of the block; return the first that diverged, or
        −1.
        """
        program, pace = self.program, self.pace
        together = max(1, self.space.together)
        self._counts[:] = begin, end, self.made, together, pace.batch, len(program.scalars)
        if self._steps is None:
            self._steps = program.loop.bound(
                (self._counts, self._units),
                (self.vectors, self.scalars, self._gathered, self._sums),
                (self._inputs, self._latents),
                self._law,
                self._tables,
                self._lists,
                self._room,
            )
        bad = int(self._steps())
        self.made += (end if bad < 0 else bad) - begin
        return bad

    def reach(self, wanted: int) -> bool:
        """Learn up to a number of examples; return whether all numbers stayed finite."""
        while self.made < wanted:
            if self.made % self.block == 0:
                self.draw()
            begin = self.made % self.block
            if self.learn(begin, min(self.block, begin + wanted - self.made)) >= 0:
                return False
        return True
