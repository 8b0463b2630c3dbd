"""The moment form in arbitrary precision against the compiled spectral solver."""

import math
from typing import Any

import numpy as np
import pytest

from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.integrate.flows.trajectory import Trajectory
from symderiv.integrate.rules.solving import solve
from symderiv.precision.balls.contexts import numbers
from symderiv.precision.moments.extrapolation import trajectory
from symderiv.precision.moments.moment_system import MomentSystem, RuleParameters, moment_module
from symderiv.precision.moments.moment_trajectory import moment_trajectory
from symderiv.problem.initial import initial
from symderiv.problem.state import State
from symderiv.problem.study import parse_study

pytestmark = pytest.mark.turns(9)


def study_of(students: int, teachers: int, L: int, exponent: float, end: float) -> Any:
    return parse_study(
        f"""
        [network]
        activation = "erf"
        students = {students}
        teachers = {teachers}
        [data]
        model = "power-law"
        dimension = {20 * L}
        distinct_eigenvalues = {L}
        exponent = {exponent}
        [training]
        learning_rate = 0.5
        [initial]
        student_std = 0.4
        seed = 2
        [time]
        values = [{end / 20}, {end / 4}, {end}]
        relative_tolerance = 1e-12
        absolute_tolerance = 1e-16
        """
    )


def largest_difference(moments: Any, spectral: Trajectory) -> float:
    worst = 0.0
    for name in ("generalization_error", "Q", "R", "v"):
        found = getattr(moments, name).astype(float)
        expected = getattr(spectral, name)
        worst = max(worst, float(np.max(np.abs(found - expected)) / np.max(np.abs(expected))))
    return worst


def test_the_small_learning_rate_limit_and_mpmath() -> None:
    study = study_of(2, 1, 3, 0.7, 1.0)
    start = initial(study).state
    first_order = RuleParameters(0.5, full_order=False)
    reference = moment_trajectory(start, first_order, study.alpha, digits=8, backend="mpmath")
    balls = moment_trajectory(start, first_order, study.alpha, digits=8)
    full = moment_trajectory(start, RuleParameters(0.5), study.alpha, digits=8)
    apart = abs(reference.generalization_error - balls.generalization_error)
    assert max(apart / balls.generalization_error) < 1e-8
    assert max(abs(full.generalization_error - balls.generalization_error)) > 1e-3
    small = study.model_copy(
        update={"training": study.training.model_copy(update={"order": "small-learning-rate"})}
    )
    assert largest_difference(reference, solve(small)) < 1e-8


def test_doubles_lose_what_the_plan_says_and_are_refused() -> None:
    study = study_of(2, 2, 12, 1.0, 30.0)
    start, rates = initial(study).state, RuleParameters(0.5)
    with pytest.raises(ToleranceError, match=r"moments in double precision leave \d+ of the"):
        moment_trajectory(start, rates, study.alpha, digits=8, backend="float64")
    spectral = solve(study)
    module = moment_module("erf")
    found = {}
    # the same integration with the 16 digits of doubles and with enough digits
    for backend, digits in (("float64", 16), ("arb", 40)):
        with numbers(digits, backend) as c:
            system = MomentSystem(module, start, rates, c)
            states = trajectory(
                system.right_hand_side,
                system.start,
                study.alpha.tolist(),
                1e-8,
                size=system.size,
                point=c.point,
                max_evaluations=20_000,
            )
            found[backend] = [float(system.observables(y)[3]) for y in states]
    exact = spectral.generalization_error
    assert np.max(np.abs(np.array(found["arb"]) / exact - 1)) < 1e-6
    assert np.max(np.abs(np.array(found["float64"]) / exact - 1)) > 1e-3


def test_an_eigenvalue_of_zero_has_no_moments() -> None:
    dead = State(
        eigenvalue=np.array([0.0, 2.0]),
        weight=np.array([0.5, 0.5]),
        student_overlap=np.tile(np.eye(1), (2, 1, 1)),
        cross_overlap=np.zeros((2, 1, 1)),
        teacher_overlap=np.array([0.0, 4.0]).reshape(2, 1, 1),
        teacher_covariance=np.eye(1),
        student_weights=np.ones(1),
        teacher_weights=np.ones(1),
    )
    with pytest.raises(InputError, match="positive eigenvalues"):
        moment_trajectory(dead, RuleParameters(0.5), [1.0])
    assert math.isfinite(dead.T[0, 0])
