"""The papers' moment hierarchy with its closure, against the hand-written spectral equations.

Moments are linear in the overlaps per eigenvalue, so a Runge-Kutta step of one form is exactly the
step of the other: after the same few steps at 40 digits both must agree far beyond 20 digits, and
a wrong closure or a wrong power anywhere could not hide.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import flint
import mpmath
import numpy as np
import pytest
from support import reference_dynamics as reference
from symderiv_codegen import print_mpmath

from symderiv.dynamics import parse_study
from symderiv.dynamics.studies.initial import initial
from symderiv.learning import derive_equations, learning_problem, moment_program
from symderiv.learning.derivation.moment_hierarchy import closure_coefficients

pytestmark = pytest.mark.turns(9)

DIGITS = 40
STEPS, STEP = 4, 0.25

STUDY = """
[network]
activation = "erf"
students = 2
teachers = 2
train_second_layer = true
student_weights = [0.6, 0.9]
[data]
model = "power-law"
dimension = 100
distinct_eigenvalues = 5
exponent = 0.7
[training]
learning_rate = 0.6
second_layer_learning_rate = 0.3
weight_decay = 0.1
second_layer_weight_decay = 0.05
label_noise = 0.2
[initial]
student_std = 0.5
[time]
end = 1.0
"""


def runge_kutta(rhs: Any, y: list[Any], step: Any) -> list[Any]:
    for _ in range(STEPS):
        k1 = rhs(y)
        k2 = rhs([a + step / 2 * b for a, b in zip(y, k1, strict=True)])
        k3 = rhs([a + step / 2 * b for a, b in zip(y, k2, strict=True)])
        k4 = rhs([a + step * b for a, b in zip(y, k3, strict=True)])
        y = [
            a + step / 6 * (b + 2 * c + 2 * d + e)
            for a, b, c, d, e in zip(y, k1, k2, k3, k4, strict=True)
        ]
    return y


@pytest.fixture
def mp():
    before = flint.ctx.dps
    flint.ctx.dps = DIGITS + 10
    context = mpmath.MPContext()
    context.dps = DIGITS
    yield context
    flint.ctx.dps = before


def nested(flat: Any, *shape: int) -> Any:
    array = np.array(flat, dtype=object).reshape(shape)
    return array.tolist()


def test_the_moment_hierarchy_follows_the_hand_written_equations_to_twenty_digits(mp):
    study = parse_study(STUDY)
    state = initial(study).state
    training = study.training
    K, M, L = state.K, state.M, state.L
    rates = [
        training.learning_rate,
        study.second_layer_learning_rate,
        training.weight_decay,
        study.second_layer_weight_decay,
        training.label_noise,
    ]
    problem = reference.Problem(
        reference.exact(state.eigenvalue),
        reference.exact(state.weight),
        reference.exact(state.teacher_overlap),
        reference.exact(state.T),
        reference.exact(state.teacher_weights),
        K,
        *(flint.arb(rate) for rate in rates),
    )
    y = [state.student_overlap, state.cross_overlap, state.student_weights]
    flat = np.concatenate([part.ravel() for part in y])
    spectral = runge_kutta(problem.rhs, reference.exact(flat), flint.arb(STEP))
    spectral = [mp.mpf(x.str(DIGITS + 5, radius=False)) for x in spectral]

    namespace: dict[str, Any] = {}
    program = moment_program(derive_equations(learning_problem("erf", "erf")), "moments")
    exec(compile(print_mpmath(program), "moments", "exec"), namespace)
    module = SimpleNamespace(**namespace)
    rho = [mp.mpf(float(x)) for x in state.eigenvalue]
    weight = [mp.mpf(float(x)) for x in state.weight]

    def moments_of(values: list[Any], power: int) -> list[Any]:
        """Sum of w rho^(l + power) times the part of each eigenvalue, for l = 0 … L - 1."""
        size = len(values) // L
        return [
            mp.fsum(weight[k] * rho[k] ** (l + power) * values[k * size + c] for k in range(L))
            for l in range(L)
            for c in range(size)
        ]

    def all_moments(flat: list[Any]) -> list[Any]:
        q, r, v = flat[: L * K * K], flat[L * K * K : L * K * (K + M)], flat[L * K * (K + M) :]
        return [*moments_of(q, 0), *moments_of(r, -1), *v]

    teacher = nested(
        moments_of([mp.mpf(float(x)) for x in state.teacher_overlap.ravel()], -1), L, M, M
    )
    nu = [mp.fsum(weight[k] * rho[k] ** (l + 1) for k in range(L)) for l in range(L)]
    closure = closure_coefficients(rho)
    T = nested([mp.mpf(float(x)) for x in state.T.ravel()], M, M)
    v_teacher = [mp.mpf(float(x)) for x in state.teacher_weights]

    def rhs(y: list[Any]) -> list[Any]:
        at, end = L * K * K, L * K * (K + M)
        outputs = [
            nested([mp.zero] * n, *shape)
            for n, shape in (
                (at, (L, K, K)),
                (end - at, (L, K, M)),
                (K, (K,)),
            )
        ]
        module.right_hand_side(
            mp,
            nested(y[:at], L, K, K),
            nested(y[at:end], L, K, M),
            list(y[end:]),
            closure,
            nu,
            teacher,
            T,
            v_teacher,
            *(mp.mpf(rate) for rate in rates),
            mp.one,
            *outputs,
        )
        return [x for part in outputs for x in np.array(part, dtype=object).ravel()]

    start = all_moments([mp.mpf(float(x)) for x in flat])
    found = runge_kutta(rhs, start, mp.mpf(STEP))
    expected = all_moments(spectral)
    moved = max(abs(a - b) for a, b in zip(expected, start, strict=True))
    assert moved > 0.1
    for a, b in zip(found, expected, strict=True):
        assert abs(a - b) < mp.mpf(10) ** -20 * max(1, abs(b))
