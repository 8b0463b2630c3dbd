"""States at which rates are compared: explicit weights of students and teachers.

Inputs have independent coordinates with the eigenvalues of their covariance; a teacher may also
depend on something that the inputs do not show (``hidden``), so that T is more than what its
correlation with the inputs explains. Everything the engine calls overlaps is a scalar product of
these vectors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """Students and teachers on N coordinates.

    Attributes:
        name: In tables.
        J: Students (K, N).
        B: Teachers (M, N), y = B ξ/√N + hidden ζ.
        hidden: (M, H).
        mode: (N,) which eigenvalue a coordinate has.
        eigenvalue: (L,).
        v, v_teacher: Output weights (K,), (M,).
    """

    name: str
    J: Array
    B: Array
    hidden: Array
    mode: NDArray[np.int64]
    eigenvalue: Array
    v: Array
    v_teacher: Array

    @property
    def phi(self) -> Array:
        """√N E[ξ y], shape (M, N)."""
        return self.B * self.eigenvalue[self.mode]

    @property
    def factor(self) -> Array:
        """Fields (K + M) as rows over independent standard normal numbers (N + H)."""
        root = np.sqrt(self.eigenvalue[self.mode] / len(self.mode))
        students = np.hstack([self.J * root, np.zeros((len(self.J), self.hidden.shape[1]))])
        return np.vstack([students, np.hstack([self.B * root, self.hidden])])

    @property
    def weight(self) -> Array:
        return np.bincount(self.mode) / len(self.mode)

    @property
    def T(self) -> Array:
        teachers = self.factor[len(self.J) :]
        return teachers @ teachers.T

    def overlap(self, first: Array, second: Array) -> Array:
        """Per eigenvalue, the eigenvalue last: (a, b, L)."""
        counts = np.bincount(self.mode)
        blocks = [
            first[:, self.mode == k] @ second[:, self.mode == k].T / counts[k]
            for k in range(len(counts))
        ]
        return np.stack(blocks, axis=-1)


@dataclass(frozen=True)
class Rates:
    """What multiplies the terms of the update; all of them on."""

    learning_rate: float = 0.7
    second_layer_learning_rate: float = 0.4
    weight_decay: float = 0.13
    second_layer_weight_decay: float = 0.21
    label_noise: float = 0.3
    full_order: float = 1.0


def random_state(name: str, seed: int, K: int, M: int, L: int, hidden: int = 0) -> State:
    """Several units in general position, with variances of the fields of order one."""
    rng = np.random.default_rng(seed)
    mode = np.repeat(np.arange(L), 3 + np.arange(L))
    N = len(mode)
    eigenvalue = np.array([1.0]) if L == 1 else np.linspace(1.9, 0.4, L)
    J = rng.normal(size=(K, N))
    # teachers share a direction: off-diagonal T, of either sign
    B = rng.normal(size=(M, N)) + np.outer(rng.uniform(-0.8, 0.8, size=M), rng.normal(size=N))
    extra = 0.4 * rng.normal(size=(M, hidden))
    v = rng.uniform(0.4, 1.1, size=K) * np.where(np.arange(K) % 2, -1, 1)
    v_teacher = rng.uniform(0.4, 1.1, size=M) * np.where(np.arange(M) % 2, -1, 1)
    state = State(name, J, B, extra, mode, eigenvalue, v, v_teacher)
    return _with_variances(state, rng.uniform(0.35, 1.3, size=K), rng.uniform(0.5, 1.5, size=M))


def _with_variances(state: State, students: Array, teachers: Array) -> State:
    """The same directions with these variances of the fields."""
    found = np.sum(state.factor**2, axis=1)
    K = len(state.J)
    J = state.J * np.sqrt(students / found[:K])[:, None]
    scale = np.sqrt(teachers / found[K:])[:, None]
    return State(
        state.name,
        J,
        state.B * scale,
        state.hidden * scale,
        state.mode,
        state.eigenvalue,
        state.v,
        state.v_teacher,
    )


def _near(state: State, row: Array, off: float, size: float) -> Array:
    """A vector whose field has correlation 1 - off with that of ``row``, times ``size``."""
    rng = np.random.default_rng(99)
    metric = state.eigenvalue[state.mode]
    other = rng.normal(size=len(row))
    other -= row * ((other * metric) @ row) / ((row * metric) @ row)
    other *= np.sqrt(((row * metric) @ row) / ((other * metric) @ other))
    rho = 1 - off
    return size * (rho * row + np.sqrt(off * (2 - off)) * other)


def _aligned(name: str, seed: int, K: int, M: int, L: int, off: float) -> State:
    """Student 0 near teacher 0, student 1 near opposite to teacher 1 or near student 0."""
    state = random_state(name, seed, K, M, L)
    J = state.J.copy()
    J[0] = _near(state, state.B[0], off, 1.05)
    if K > 1:
        J[1] = _near(state, state.B[1], off, -0.9) if M > 1 else _near(state, J[0], off, 0.8)
    return State(
        name, J, state.B, state.hidden, state.mode, state.eigenvalue, state.v, state.v_teacher
    )


def _coincident(name: str, seed: int) -> State:
    """Two equal students, a third opposite to a teacher, K = 3, M = 2."""
    state = random_state(name, seed, 3, 2, 1)
    J = state.J.copy()
    J[1] = J[0]
    J[2] = -state.B[0]
    return State(
        name, J, state.B, state.hidden, state.mode, state.eigenvalue, state.v, state.v_teacher
    )


PRECISE = (
    random_state("1,1 generic", 11, 1, 1, 1, hidden=1),
    _aligned("1,1 L=3 1-rho=1e-3", 12, 1, 1, 3, 1e-3),
    _aligned("1,1 1-rho=1e-8", 13, 1, 1, 1, 1e-8),
    _aligned("1,1 equal", 14, 1, 1, 1, 0.0),
)
"""One student and one teacher: nested quadrature."""

SAMPLED = (
    random_state("3,2 generic", 21, 3, 2, 1),
    random_state("2,3 L=3 hidden", 22, 2, 3, 3, hidden=2),
    _aligned("2,2 1-rho=1e-3", 23, 2, 2, 3, 1e-3),
    _aligned("3,2 1-rho=1e-8", 24, 3, 2, 1, 1e-8),
    _coincident("3,2 coincident", 25),
)
"""Several units: randomised quasi-Monte Carlo."""
