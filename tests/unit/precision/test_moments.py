"""Learning curves by moments: against the spectral solver, and how their digits are found."""

import numpy as np
import pytest
from support.studies import toml

from symderiv.foundation.errors import InputError
from symderiv.integrate.rules.solving import solve
from symderiv.precision.moments import moment_trajectory as moments
from symderiv.precision.moments.moment_system import RuleParameters
from symderiv.precision.moments.moment_trajectory import moment_trajectory
from symderiv.problem.initial import initial
from symderiv.problem.study import parse_study

STUDY = toml(
    network={"activation": "erf", "students": 2, "teachers": 1, "train_second_layer": True},
    data={"model": "spectrum", "eigenvalues": [1.7, 0.4], "dimension": 20},
    training={
        "learning_rate": 0.5,
        "second_layer_learning_rate": 0.2,
        "weight_decay": 0.02,
        "second_layer_weight_decay": 0.01,
        "label_noise": 0.3,
    },
    initial={"student_std": 0.4, "seed": 2},
    time={"values": [0.0, 0.3, 1.5], "relative_tolerance": 1e-11},
)


@pytest.mark.turns(6)
def test_moments_give_the_curves_of_the_spectral_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, float]] = []
    original = moments._run

    def watched(*arguments: object) -> object:
        asked.append((arguments[4], arguments[5]))  # type: ignore[arg-type]
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(moments, "_run", watched)
    study = parse_study(STUDY)
    state = initial(study).state
    found = moment_trajectory(
        state, RuleParameters(0.5, 0.2, 0.02, 0.01, 0.3, True), study.alpha, digits=8
    )
    exact = solve(study)
    for name in ("Q", "R", "v", "generalization_error"):
        values, wanted = getattr(found, name).astype(float), np.asarray(getattr(exact, name))
        np.testing.assert_allclose(values, wanted, rtol=1e-8, atol=1e-9)
    # the second time with more digits and a smaller tolerance, and what is stated is that
    (first, loose), (second, tight) = asked
    assert first < second == found.working_digits
    assert tight <= 0.1 * loose
    assert tight == found.tolerance
    assert found.agreement <= 1e-8
    assert found.digits >= 8
    assert found.plan.wanted == 8
    assert found.evaluations > 20
    with pytest.raises(InputError, match="between 1 and 50"):
        moment_trajectory(state, RuleParameters(0.5), study.alpha, digits=51)
    with pytest.raises(InputError, match="at least one number"):
        moment_trajectory(state, RuleParameters(0.5), [])


def test_missing_digits_are_asked_for_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs whose difference is known: three digits too few, then enough."""
    asked: list[tuple[int, float]] = []
    values = iter([1.0, 1.0 + 1e-5, 1.0 + 1e-5 + 1e-12])

    def run(*arguments: object) -> object:
        asked.append((arguments[4], arguments[5]))  # type: ignore[arg-type]
        one = np.full((1, 1, 1), next(values))
        return one, one, one[0], one[0, 0]

    monkeypatch.setattr(moments, "_run", run)
    state = initial(parse_study(STUDY)).state
    found = moment_trajectory(state, RuleParameters(0.5), [1.0], digits=8)
    assert found.agreement == pytest.approx(1e-12, rel=1e-3)
    digits, tolerances = zip(*asked, strict=True)
    assert digits[1] >= digits[0] + 4
    # ceil(log10(1e-5) + 8) are missing
    assert digits[2] >= digits[1] + 4 + 3
    assert tolerances[1] == pytest.approx(tolerances[0] / 10)
    assert tolerances[2] == pytest.approx(tolerances[1] * 1e-4)
    assert (found.working_digits, found.compared_digits) == (digits[2], digits[1])


def test_curves_are_compared_relative_to_the_largest_entry_of_each_time() -> None:
    Q = np.array([[[4.0, 1e-6], [1e-6, 1.0]], [[2.0, 0.0], [0.0, 0.5]]])
    zero = np.zeros((2, 2, 1))
    v, error = np.ones((2, 2)), np.array([0.5, 0.25])
    base = Q, zero, v, error
    assert moments._difference(base, base) == 0.0
    # R may vanish, also at all times: then it is compared with Q
    assert moments._difference((Q, zero + 1e-3, v, error), base) == pytest.approx(5e-4)
    assert moments._difference((Q + 4e-4, zero, v, error), base) == pytest.approx(2e-4)
    assert moments._difference((Q, zero, v, error * (1 + 3e-5)), base) == pytest.approx(3e-5)
    # what vanishes has no relative difference
    gone = Q, zero, v, np.array([0.0, 0.25])
    assert moments._difference(gone, gone) == 0.0
    assert moments._difference((Q, zero, v, np.array([1e-5, 0.25])), gone) == pytest.approx(1e-5)


def test_digits_are_planned_for_the_last_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[float] = []
    original = moments.moment_digits

    def watched(*arguments: object) -> object:
        ends.append(arguments[3])  # type: ignore[arg-type]
        return original(*arguments)  # type: ignore[arg-type]

    one = np.ones((2, 1, 1))
    monkeypatch.setattr(moments, "moment_digits", watched)
    monkeypatch.setattr(moments, "_run", lambda *_: (one, one, one[0], one[:, 0, 0]))
    moment_trajectory(initial(parse_study(STUDY)).state, RuleParameters(0.5), [0.0, 1.5], digits=8)
    assert ends == [1.5]
