"""Symmetries of a free energy: exchanges of units, and signs of units with even activations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import sympy as sp
from scipy.linalg import null_space

from symderiv.equilibrium.free_energy import FreeEnergy
from symderiv.gaussian.distributions import variable_of

_EQUAL = 1e-7


class Symmetries:
    """Exchanges of two students, of two teachers or of both, and signs, as signed permutations."""

    def __init__(self, energy: FreeEnergy) -> None:
        self._energy = energy
        self._even = all(_even(g) for g in (energy.student, energy.teacher))
        still = np.eye(energy.size)
        self._all = [each for each in self._generators() if not np.array_equal(each, still)]

    def frame(self, x: np.ndarray) -> np.ndarray:
        """Return an orthonormal frame of the states with the symmetry of a state, shape (n, m)."""
        unchanged = [g for g in self._all if np.abs(g @ x - x).max() < _EQUAL]
        if not unchanged:
            return np.eye(x.size)
        frame: np.ndarray = null_space(
            np.vstack(unchanged) - np.tile(np.eye(x.size), (len(unchanged), 1))
        )
        return frame

    def _generators(self) -> Iterator[np.ndarray]:
        energy = self._energy
        K, M = energy.K, energy.M
        students = [p for p in _exchanges(K) if np.array_equal(energy.v[p], energy.v)]
        teachers = [
            p
            for p in _exchanges(M)
            if np.array_equal(energy.w[p], energy.w)
            and np.array_equal(energy.T[np.ix_(p, p)], energy.T)
        ]
        for one, other in itertools.product(students, teachers):
            yield self._matrix(one, other, np.ones(K), np.ones(M))
        if not self._even:
            return
        still = np.arange(K), np.arange(M)
        diagonal = np.count_nonzero(energy.T - np.diag(np.diag(energy.T))) == 0
        own = [1 - 2 * np.eye(K)[i] for i in range(K)] + [np.ones(K)]
        others = [1 - 2 * np.eye(M)[n] for n in range(M) if diagonal] + [np.ones(M), -np.ones(M)]
        for signs, teacher_signs in itertools.product(own, others):
            yield self._matrix(*still, signs, teacher_signs)

    def _matrix(
        self, students: np.ndarray, teachers: np.ndarray, own: np.ndarray, other: np.ndarray
    ) -> np.ndarray:
        """Return what an exchange with signs makes of free order parameters."""
        energy = self._energy
        columns = []
        for each in np.eye(energy.size):
            Q, R = energy.overlaps(each)
            Q = Q[np.ix_(students, students)] * np.outer(own, own)
            R = R[np.ix_(students, teachers)] * np.outer(own, other)
            columns.append(energy.free(Q, R))
        return np.array(columns).T


def _even(g: sp.Expr) -> bool:
    x = variable_of(g)
    return bool(sp.simplify(g.subs(x, -x) - g) == 0)


def _exchanges(count: int) -> Iterator[np.ndarray]:
    yield np.arange(count)
    for i, j in itertools.combinations(range(count), 2):
        order = np.arange(count)
        order[[i, j]] = order[[j, i]]
        yield order
