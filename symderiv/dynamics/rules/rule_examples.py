"""The random numbers of runs: inputs, targets, masks, drawn in blocks and dealt in pieces.

Every run has a generator of its own for each purpose and draws whole blocks, so that its numbers
depend on its index alone: not on the other runs, nor on the times or the pieces asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from symderiv.dynamics.rules.rule_functions import Values
from symderiv.dynamics.rules.rule_tasks import Tasks
from symderiv.dynamics.sgd.run_memory import set_generator, words_of
from symderiv.dynamics.studies.initial import RUNS, Vectors, stream

# Streams beside those of inputs and label noise; 2 is that of lengths where there are no vectors.
INPUTS, _NOISE = range(2)
LENGTHS, _FLIPS, _MASKS, _INPUT_NOISE, _TASKS, _UPDATES = range(2, 8)
_PURPOSES = (INPUTS, _NOISE, LENGTHS, _FLIPS, _MASKS, _INPUT_NOISE, _TASKS, _UPDATES)

# Per run: the blocks of some runs together should stay in the cache.
BLOCK_NUMBERS = 32 * 1024


@dataclass(frozen=True)
class Teaching:
    """How targets are made.

    Args:
        vectors: teachers and variances of the coordinates of the inputs; N of them, or those in
            which the teachers, the students and what is drawn for a step lie.
        dimension: N.
        activation: g̃ of arrays.
        biases: c, shape (M,).
        tasks: the tasks.
        sign: t is the sign of the teacher's sum.
        flip, noise, input_noise: label_flip, σ and σ_x.
        keep: probability with which a unit of the student is kept.
        noisy_updates: whether noise is added to the weights.
        scale: standard deviations of the inputs' coordinates in each phase, shape (phases, N).
    """

    vectors: Vectors
    dimension: int
    activation: Values
    biases: np.ndarray
    tasks: Tasks
    sign: bool
    flip: float
    noise: float
    input_noise: float
    keep: float
    noisy_updates: bool
    scale: np.ndarray

    def sums(self, y: np.ndarray) -> np.ndarray:
        """The clean targets of all tasks at the teachers' fields y (..., M), (..., tasks)."""
        outputs = self.activation(y + self.biases) @ self.tasks.teachers.T
        found: np.ndarray = np.sign(outputs) if self.sign else outputs
        return found


@dataclass(frozen=True)
class Examples:
    """Examples of G runs.

    Args:
        seen: what the student sees of the inputs, shape (G, n, N).
        target: what it is taught, shape (G, n).
        mask: 1 for units that are kept, else 0, shape (G, n, K); None without dropout.
        task: the task of each, shape (G, n).
        update: standard normal numbers for the update that each begins, shape (G, n, K, N); None
            without noise on updates.
    """

    seen: np.ndarray
    target: np.ndarray
    mask: np.ndarray | None
    task: np.ndarray
    update: np.ndarray | None = None


class Source:
    """The examples of some runs, in order.

    Args:
        teaching: how targets are made.
        K: number of units of the student.
        seed: of the study.
        runs: indices of the runs.
        most: no run needs more examples.
    """

    def __init__(self, teaching: Teaching, K: int, seed: int, runs: range, most: int) -> None:
        self.teaching, self.K = teaching, K
        self.N, self.width = teaching.dimension, teaching.vectors.variance.size
        self.block = max(1, min(BLOCK_NUMBERS // self.width, most))
        self.drawn = 0
        self._used = self.block
        self._before = np.empty(0)
        self.generators = [
            {p: stream(seed, RUNS, run, *((p,) if p else ())) for p in _PURPOSES} for run in runs
        ]

    @property
    def left(self) -> int:
        """Examples of the current block that were not taken; those of a new one if none are."""
        return self.block - self._used or self.block

    def take(self, count: int) -> Examples:
        """The next ``count`` examples, at most ``left``."""
        if self._used == self.block:
            self._draw()
        piece = slice(self._used, self._used + count)
        self._used += count
        now = self._now
        mask = None if now.mask is None else now.mask[:, piece]
        update = None if now.update is None else now.update[:, piece]
        return Examples(now.seen[:, piece], now.target[:, piece], mask, now.task[:, piece], update)

    def memory(self) -> dict[str, np.ndarray]:
        """What :meth:`restore` needs; the block itself is drawn again."""
        return {"used": np.array([self._used, self.drawn]), "generators": self._before}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        """Go on where :meth:`memory` was asked."""
        used, drawn = (int(count) for count in kept["used"])
        if drawn == 0:
            return
        for generators, words in zip(self.generators, kept["generators"], strict=True):
            for generator, each in zip(generators.values(), words, strict=True):
                set_generator(generator, each)
        self.drawn = drawn - self.block
        self._draw()
        self._used = used

    def _draw(self) -> None:
        self._before = np.stack([words_of(tuple(g.values())) for g in self.generators])
        told = self.teaching
        inputs, added, update = self._vectors()
        inputs *= told.scale[told.tasks.phase_of(self.drawn + np.arange(self.block), self.N)]
        y = inputs @ told.vectors.teacher.T / np.sqrt(self.N)
        task = self._tasks()
        target = np.take_along_axis(told.sums(y), task[..., None], axis=2)[..., 0]
        if told.flip > 0.0:
            target = np.where(self._uniform(_FLIPS, 1)[..., 0] < told.flip, -target, target)
        if told.noise > 0.0:
            target = target + told.noise * self._normal(_NOISE, 1)[..., 0]
        if added is not None:
            inputs += told.input_noise * added
        mask = None
        if told.keep < 1.0:
            mask = (self._uniform(_MASKS, self.K) < told.keep).astype(np.float64)
        self._now = Examples(inputs, target, mask, task, update)
        self.drawn += self.block
        self._used = 0

    def _vectors(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Standard normal vectors of a block, for inputs, noise on them and noise of updates.

        Shapes (G, n, N), (G, n, N), (G, n, K, N); None for what the rule has not.
        """
        told = self.teaching
        inputs, added, update = self._normal(INPUTS, self.width), None, None
        if told.input_noise > 0.0:
            added = self._normal(_INPUT_NOISE, self.width)
        if told.noisy_updates:
            shape = (*inputs.shape[:2], self.K, self.width)
            update = self._normal(_UPDATES, self.K * self.width).reshape(shape)
        return inputs, added, update

    def _tasks(self) -> np.ndarray:
        tasks = self.teaching.tasks
        phase = tasks.phase_of(self.drawn + np.arange(self.block), self.N)
        if tasks.count == 1:
            return np.zeros((len(self.generators), self.block), dtype=np.int64)
        u = self._uniform(_TASKS, 1)
        found: np.ndarray = np.sum(u >= tasks.cumulative[phase], axis=2)
        return found

    def _normal(self, purpose: int, width: int) -> np.ndarray:
        values = np.empty((len(self.generators), self.block, width))
        for run, generators in enumerate(self.generators):
            generators[purpose].standard_normal(out=values[run])
        return values

    def _uniform(self, purpose: int, width: int) -> np.ndarray:
        values = np.empty((len(self.generators), self.block, width))
        for run, generators in enumerate(self.generators):
            generators[purpose].random(out=values[run])
        return values
