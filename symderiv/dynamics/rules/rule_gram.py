r"""Learning rules without vectors of N coordinates: all in the span of the vectors, exact in law.

Inputs are Gaussian and isotropic within an eigenspace, and so is every noise that is added to
vectors. What a step does to the Gram matrix of teachers, students and velocities depends on the
vectors drawn for it (inputs, noise on them, noise of the update) only through their coordinates in
the span of the D vectors that there are, and through their own Gram matrix in the rest of the
eigenspace. In an orthonormal basis that goes on through them one by one, the f-th vector of a step
has normal coordinates up to D + f, then the root of a chi-squared number with n_k - D - f degrees
of freedom, and nothing behind (Bartlett's decomposition). So a step takes place in D + F
coordinates per eigenspace, by the same :class:`~symderiv.dynamics.rules.rule_descent.Descent` as
that of whole vectors. After it a rotation brings students and velocities back into D; teachers come
first in the basis and do not move.

What is drawn for a step must fit: F is a few vectors, D + F at most n_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symderiv.data import DataModel
from symderiv.dynamics.rules.rule_descent import Descent
from symderiv.dynamics.rules.rule_examples import (
    BLOCK_NUMBERS,
    INPUTS,
    LENGTHS,
    Source,
    Teaching,
)
from symderiv.dynamics.sgd.gram import factors
from symderiv.dynamics.studies.initial import Vectors, coordinates_of
from symderiv.dynamics.studies.state import State
from symderiv.dynamics.studies.study import Study
from symderiv.errors import InputError, NotYetError

# Steps of more vectors have no gain left.
_MOST_VECTORS = 64


@dataclass(frozen=True)
class Span:
    """The coordinates in which a step takes place.

    Attributes:
        counts: n_k, shape (L,).
        teachers, students: M, and how many vectors move: K, with momentum 2 K.
        batch: examples of a step.
        units: K.
        noisy_inputs, noisy_updates: whether vectors are drawn for that.
    """

    counts: np.ndarray
    teachers: int
    students: int
    batch: int
    units: int
    noisy_inputs: bool
    noisy_updates: bool

    @property
    def kept(self) -> int:
        """D, coordinates per eigenspace between steps."""
        return self.teachers + self.students

    @property
    def drawn(self) -> int:
        """F, vectors drawn for a step."""
        return self.batch * (1 + self.noisy_inputs) + self.units * self.noisy_updates

    @property
    def each(self) -> int:
        """Coordinates per eigenspace within a step."""
        return self.kept + self.drawn

    @cached_property
    def mask(self) -> np.ndarray:
        """1 where a drawn vector has a normal coordinate, else 0, shape (F, D + F)."""
        found: np.ndarray = np.tri(self.drawn, self.each, self.kept - 1)
        return found

    @cached_property
    def freedom(self) -> np.ndarray:
        """Degrees of freedom of the rest of each drawn vector, shape (L, F)."""
        found: np.ndarray = self.counts[:, None] - self.kept - np.arange(self.drawn)
        return found


def span_of(study: Study, state: State, data: DataModel | None) -> Span:
    """The coordinates for a study.

    Raises:
        InputError: an eigenspace is too small, there is no dimension, or an eigenvalue is 0.
        NotYetError: the rule has no such form.
    """
    training = study.training
    if training.batch_ratio is not None:
        raise NotYetError(
            '"gram" does not know training.batch_ratio: a batch has as many examples as inputs '
            'have coordinates; use "vectors"',
            argument="simulation.method",
        )
    moving = training.momentum > 0.0 or training.momentum_rate is not None
    found = Span(
        coordinates_of(data),
        state.M,
        state.K * (1 + moving),
        training.batch or 1,
        state.K,
        training.input_noise > 0.0,
        training.update_noise > 0.0,
    )
    if found.drawn > _MOST_VECTORS:
        raise NotYetError(
            f'"gram" does not know {found.drawn} vectors in a step; use "vectors"',
            argument="simulation.method",
        )
    if np.any(state.eigenvalue <= 0.0):
        raise NotYetError(
            '"gram" does not know eigenvalues of 0 together with '
            f'{study.rule_keys[0]}; use "vectors"',
            argument="simulation.method",
        )
    if found.counts.min() < found.each:
        raise InputError(
            f'an eigenvalue has only {found.counts.min()} coordinates; "gram" needs {found.each} '
            'for teachers, students and a step; use "vectors"',
            argument="simulation.method",
        )
    return found


def vectors_in(span: Span, state: State, data: DataModel | None) -> Vectors:
    """Students and teachers with the overlaps of a state, in the coordinates of a step."""
    made = factors(state, data)
    M, L, known = state.M, state.eigenvalue.size, state.M + state.K
    rows = np.zeros((known, L, span.each))
    scale = np.sqrt(made.dimension / made.variance)[:, None, None]
    rows[:, :, :known] = np.moveaxis(made.rows[:, :, :known] * scale, 1, 0)
    flat = rows.reshape(known, -1)
    return Vectors(
        np.ascontiguousarray(flat[M:]),
        np.ascontiguousarray(flat[:M]),
        np.repeat(state.eigenvalue, span.each),
        span.each * np.arange(L + 1),
    )


class GramSource(Source):
    """Examples in the coordinates of a step.

    Args:
        span: the coordinates.
        teaching, K, seed, runs, most: see :class:`~symderiv.dynamics.rules.rule_examples.Source`.
    """

    def __init__(
        self, span: Span, teaching: Teaching, K: int, seed: int, runs: range, most: int
    ) -> None:
        super().__init__(teaching, K, seed, runs, most)
        self.span = span
        # whole steps, whose vectors are drawn together
        steps = max(1, min(BLOCK_NUMBERS // (self.width * span.drawn), most // span.batch))
        self.block = self._used = steps * span.batch

    def _vectors(self) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        span, steps = self.span, self.block // self.span.batch
        L, G = span.counts.size, len(self.generators)
        drawn = np.empty((G, steps, L, span.drawn, span.each))
        place = np.arange(span.drawn)
        for run, generators in enumerate(self.generators):
            generators[INPUTS].standard_normal(out=drawn[run])
            drawn[run] *= span.mask
            gamma = generators[LENGTHS].standard_gamma(0.5 * span.freedom, (steps, L, span.drawn))
            drawn[run][..., place, span.kept + place] = np.sqrt(2.0 * gamma)
        by_vector = np.moveaxis(drawn, 3, 2).reshape(G, steps, span.drawn, self.width)
        b, n = span.batch, self.block
        inputs = by_vector[:, :, :b].reshape(G, n, self.width)
        added = update = None
        if span.noisy_inputs:
            added = by_vector[:, :, b : 2 * b].reshape(G, n, self.width)
        if span.noisy_updates:
            update = np.repeat(by_vector[:, :, -self.K :], b, axis=1)
        return inputs.copy(), added, update


class GramDescent(Descent):
    """Descent in the coordinates of a step, which are rotated back into D after it."""

    def step(self) -> bool:
        """As that of vectors."""
        finite = super().step()
        assert isinstance(self.source, GramSource)
        span = self.source.span
        moving = [self.J]
        if self.updates.memory is not None:
            moving.append(self.velocity[0])
        G, K = self.J.shape[:2]
        spaces = (G, K, span.counts.size, span.each)
        rows = np.concatenate([each.reshape(spaces) for each in moving], axis=1).swapaxes(1, 2)
        M, count = span.teachers, rows.shape[2]
        # the basis goes on from the teachers through these rows, one by one
        upper = np.asarray(np.linalg.qr(rows[..., M:].swapaxes(-1, -2), mode="r"))
        rows[..., M : M + count] = upper.swapaxes(-1, -2)
        rows[..., M + count :] = 0.0
        for number, each in enumerate(moving):
            own = rows[:, :, number * K : (number + 1) * K]
            each[...] = own.swapaxes(1, 2).reshape(each.shape)
        return finite
