"""A short run of stochastic gradient descent on explicit vectors against the equations."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from pairs.activations import Activation
from pairs.engine import packed
from pairs.states import Rates, State

Array = NDArray[np.float64]

DIMENSION = 600
RUNS = 24
TIMES = (0.5, 1.0, 1.5)


@dataclass(frozen=True)
class Comparison:
    """Largest deviation of Q_k, r_k and v over what is allowed, and over the standard error."""

    over_allowed: float
    over_error: float


def start(seed: int) -> State:
    """Two students, two teachers, two eigenvalues, on ``DIMENSION`` coordinates."""
    rng = np.random.default_rng([seed, 7])
    mode = np.arange(DIMENSION) % 2
    eigenvalue = np.array([1.4, 0.6])
    B = rng.normal(size=(2, DIMENSION))
    B[1] += 0.4 * B[0]
    J = 0.5 * rng.normal(size=(2, DIMENSION)) + np.array([[0.5], [0.0]]) * B
    v, v_teacher = np.array([0.8, -0.6]), np.array([1.0, -0.7])
    return State("sgd", J, B, np.zeros((2, 0)), mode, eigenvalue, v, v_teacher)


def compare(m: SimpleNamespace, student: Activation, teacher: Activation, seed: int) -> Comparison:
    """Equations against the mean of runs, at ``TIMES``.

    Allowed are five standard errors and 5/N: the runs are at finite N.
    """
    rates = Rates(learning_rate=0.15 if student.growing else 0.5)
    state = start(seed)
    expected = _integrated(m, state, rates)
    runs = _descended(state, rates, student, teacher, seed)
    mean = runs.mean(axis=0)
    error = runs.std(axis=0, ddof=1) / np.sqrt(RUNS)
    off = np.abs(mean - expected)
    allowed = 5 * error + 5 / DIMENSION * np.maximum(1, np.abs(expected))
    return Comparison(float(np.max(off / allowed)), float(np.max(off / error)))


def _integrated(m: SimpleNamespace, state: State, rates: Rates) -> Array:
    vector, sizes, parameters = packed(state, rates)
    rate = m.specialised(int(sizes[0]), int(sizes[1]))

    def derivative(alpha: float, y: Array) -> Array:
        found = np.full_like(y, np.nan)
        rate(alpha, y, sizes, parameters, found)
        return found

    solution = solve_ivp(
        derivative, (0, TIMES[-1]), vector, t_eval=TIMES, rtol=1e-4, atol=1e-6, method="RK23"
    )
    assert solution.success, solution.message
    return np.asarray(solution.y.T)


def _descended(
    state: State, rates: Rates, student: Activation, teacher: Activation, seed: int
) -> Array:
    """The update of the documentation, word for word, all runs at once: (runs, times, order)."""
    rng = np.random.default_rng([seed, 8])
    N = DIMENSION
    root = np.sqrt(state.eigenvalue[state.mode])
    J = np.tile(state.J, (RUNS, 1, 1))
    v = np.tile(state.v, (RUNS, 1))
    marks = {round(time * N): at for at, time in enumerate(TIMES)}
    found = np.empty((RUNS, len(TIMES), len(packed(state, rates)[0])))
    for step in range(1, max(marks) + 1):
        xi = root * rng.standard_normal((RUNS, N))
        x = np.einsum("rka,ra->rk", J, xi) / np.sqrt(N)
        target = teacher.value(xi @ state.B.T / np.sqrt(N)) @ state.v_teacher
        target += rates.label_noise * rng.standard_normal(RUNS)
        g = student.value(x)
        delta = np.sum(v * g, axis=1) - target
        force = v * student.slope(x) * delta[:, None]
        J -= rates.learning_rate / np.sqrt(N) * force[:, :, None] * xi[:, None, :]
        J *= 1 - rates.weight_decay / N
        v *= 1 - rates.second_layer_weight_decay / N
        v -= rates.second_layer_learning_rate / N * g * delta[:, None]
        if step in marks:
            for run in range(RUNS):
                Q = state.overlap(J[run], J[run])
                r = state.overlap(J[run], state.phi)
                found[run, marks[step]] = np.concatenate([Q.ravel(), r.ravel(), v[run]])
    return found
