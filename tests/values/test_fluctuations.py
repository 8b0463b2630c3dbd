"""Fluctuations at finite N: changes of one step, their covariance along runs, laws of times."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov
from scipy.special import erf

import symderiv as sd
from symderiv.foundation.errors import NotYetError, RunWarning
from symderiv.integrate.fluctuations.gaussian_run import (
    GaussianMotion,
    distance_of_widths,
    gaussian_run,
    normal_points,
)
from symderiv.integrate.fluctuations.step_points import PointRule
from symderiv.statement.averaged_step import Reading, SlowState
from symderiv.statement.step_covariance import StepMoments, StepVariation

ETA, NOISE, T = 0.4, 0.3, 1.3


def varied(problem: sd.Problem, vectors: dict[str, np.ndarray], **numbers: Any) -> StepVariation:
    """Return a step of a problem at given vectors, all coordinates their own."""
    state = SlowState(vectors, numbers.pop("weight"), {"x": numbers.pop("rho")}, numbers)
    return StepVariation(Reading(problem.system.statement), state)


def linear_step(Q: float, R: float) -> StepMoments:
    """Return the moments of a linear unit with one linear teacher, by hand.

    d_R = F y and d_Q = 2 F x + F² with F = η (y - x + σζ); Gaussian moments of fourth order.
    """
    C = np.array([[Q, R, 0], [R, T, 0], [0, 0, NOISE**2]])
    f, x, y = ETA * np.array([-1.0, 1.0, 1.0]), np.array([1.0, 0, 0]), np.array([0, 1.0, 0])
    ff, fx, fy, xx, xy, yy = f @ C @ f, f @ C @ x, f @ C @ y, Q, R, T
    cov_RR = ff * yy + fy * fy
    cov_RQ = 2 * (ff * xy + fx * fy) + 2 * ff * fy
    cov_QQ = 4 * (ff * xx + fx * fx) + 8 * ff * fx + 2 * ff * ff
    # ξ·ξ/N - 1 given the fields: E[F² (z·z - 2)] = 2 ETA² e, e = Var(y - x)
    e = T - 2 * R + Q
    mean = np.array([2 * fx + ff, fy])
    covariance = np.array([[cov_QQ, cov_RQ], [cov_RQ, cov_RR]])
    # two examples of a batch: the square of the mean step, η (B - J)
    together = np.array([ETA**2 * e, 0.0])
    return StepMoments(mean, np.array([2 * ETA**2 * e, 0.0]), covariance, together)


def test_moments_of_a_linear_unit_are_those_by_hand() -> None:
    problem = sd.Problem(
        "linear",
        students=1,
        teachers=1,
        learning_rate=ETA,
        label_noise=NOISE,
        inputs=sd.Isotropic(100),
    )
    Q, R = 0.9, 0.5
    vectors = {
        "J1": np.array([[Q**0.5, 0.0]]),
        "B1": np.array([[R / Q**0.5, (T - R**2 / Q) ** 0.5]]),
    }
    step = varied(problem, vectors, weight=np.ones(1), rho=np.ones(1))
    found, expected = PointRule(step.reading).moments([(1.0, step)]), linear_step(Q, R)
    for name in ("mean", "further", "covariance", "together"):
        assert np.allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-14)


def linear_motion(Q: float, R: float, examples: int = 1) -> GaussianMotion:
    """Return the flow of a linear unit by hand."""

    def noise(s: np.ndarray, coarse: bool) -> StepMoments:
        step = linear_step(*s)
        return replace(step, further=step.further + (examples - 1) * step.together)

    A = np.array([[-2 * ETA + ETA**2, 2 * ETA - 2 * ETA**2], [0.0, -ETA]])
    return GaussianMotion(
        np.array([Q, R]),
        lambda s: linear_step(*s).mean,
        lambda s, direction: A @ direction,
        noise,
        [0, 1],
        np.eye(2),
        examples,
    )


@pytest.mark.parametrize("examples", [1, 5])
def test_means_at_finite_n_are_those_of_the_exact_map_of_a_linear_unit(examples: int) -> None:
    alpha = np.array([0.0, 0.5, 2.0, 6.0])
    run = gaussian_run(linear_motion(0.2, 0.1, examples), alpha, np.zeros((2, 2)))
    for N, tolerance in ((100, 0.05 * examples), (1000, 0.005 * examples)):
        s, found = np.array([0.2, 0.1]), []
        for number in range(0, int(6 * N) + 1, examples):
            if number / N in alpha:
                found.append(N * (s - run.states[list(alpha).index(number / N)]))
            step = linear_step(*s)
            further = step.further + (examples - 1) * step.together
            s = s + examples * (step.mean + further / N) / N
        assert np.allclose(found, run.shift, rtol=0, atol=tolerance * np.abs(run.shift).max())


def test_late_fluctuations_of_a_linear_unit_solve_lyapunovs_equation() -> None:
    motion = linear_motion(0.2, 0.1)
    run = gaussian_run(motion, np.array([0.0, 60.0]), np.eye(2))
    end = run.states[-1]
    expected = solve_continuous_lyapunov(motion.jacobian(end), -linear_step(*end).covariance)
    assert np.allclose(run.covariance[-1], expected, rtol=1e-4, atol=1e-6 * expected.max())
    assert run.error < 0.02


@pytest.mark.turns(2)
def test_the_covariance_follows_its_equation_in_order_parameters() -> None:
    problem = sd.Problem(
        "erf", students=2, teachers=1, learning_rate=0.5, label_noise=0.2, student_std=0.4
    )
    step = 1e-3
    found = problem.fluctuations(alpha=[1.0 - step, 1.0, 1.0 + step], dimension=1000)
    A, D, Sigma = (getattr(found, name)[1] for name in ("A", "D", "Sigma"))
    assert found.linear_names == ["Q[1,1]", "Q[1,2]", "Q[2,2]", "R[1,1]", "R[2,1]"]
    change = (found.Sigma[2] - found.Sigma[0]) / (2 * step)
    np.testing.assert_allclose(change, A @ Sigma + Sigma @ A.T + D, atol=1e-4 * np.abs(D).max())
    # the Jacobian by differences of the rates
    run = problem.solve(alpha=[1.0])
    Q, R, T = run.Q[0], run.R[0], run.T
    rows, columns = np.triu_indices(2)

    def rates(values: np.ndarray) -> np.ndarray:
        q = np.zeros((2, 2))
        q[rows, columns] = q[columns, rows] = values[:3]
        rate = problem.rates(Q=q, R=values[3:].reshape(2, 1), T=T)
        return np.concatenate([rate.dQ[rows, columns], rate.dR.ravel()])

    at = np.concatenate([Q[rows, columns], R.ravel()])
    expected = [(rates(at + e) - rates(at - e)) / 2e-5 for e in 1e-5 * np.eye(5)]
    np.testing.assert_allclose(A, np.array(expected).T, atol=1e-6)


def test_points_of_a_normal_law_have_its_moments() -> None:
    covariance = np.array([[1.0, 0.4, 0], [0.4, 0.5, 0], [0, 0, 0]])
    points = normal_points(np.array([1.0, 2.0, 3.0]), covariance, 512)
    assert np.allclose(points.mean(axis=0), [1, 2, 3], atol=0.02)
    assert np.allclose(np.cov(points.T), covariance, atol=0.03)
    assert np.all(points[:, 2] == 3.0)


def escaping(N: int, **others: Any) -> tuple[sd.Problem, dict[str, Any]]:
    """Return a quadratic unit that leaves R = 0, and where it starts."""
    problem = sd.Problem(
        "x**2",
        students=1,
        teachers=1,
        student_weights=1.0,
        teacher_weights=1.0,
        learning_rate=0.1,
        inputs=sd.Isotropic(N),
        **others,
    )
    return problem, {"Q": [[0.34]], "R": [[0.02]], "T": [[1.0]]}


@pytest.mark.turns(5)
def test_simulated_runs_have_the_spread_and_the_times_of_the_law() -> None:
    N, runs, times = 1000, 200, np.linspace(0.5, 25.0, 50)
    problem, start = escaping(N)
    event = "abs(R[1,1]) > 0.5"
    with pytest.warns(RunWarning, match="not Gaussian"):
        found = problem.fluctuations(alpha=times, initial=start, events=[event])
    simulated = problem.simulate(
        alpha=times, initial=start, runs=runs, method="gram", progress=False
    )
    for name, values in (("Q[1,1]", simulated.Q[:, :, 0, 0]), ("R[1,1]", simulated.R[:, :, 0, 0])):
        early = times < 4.0
        ratio = (values.std(axis=0, ddof=1) / found.deviation_of(name))[early]
        assert np.all(np.abs(ratio - 1) < 4 / (2 * runs) ** 0.5)
    held = np.abs(simulated.R[:, :, 0, 0]) > 0.5
    first = np.where(held.any(axis=1), times[held.argmax(axis=1)], np.inf)
    law = found.law(event)
    # runs are seen at some times only, so the law is compared there
    seen = np.array([np.mean(first <= t) for t in times])
    assert np.abs(seen - law.distribution(times)).max() < 0.12
    assert law.matched < law.quantile(0.1) < law.quantile(0.5) < law.quantile(0.9)
    assert law.density([law.quantile(0.5)])[0] > 0.02
    assert law.distance < 0.06
    assert not law.warnings


@pytest.mark.turns(5)
def test_runs_in_batches_have_the_predicted_means_and_spread() -> None:
    N, runs, times = 60, 6000, [1.0, 3.0]
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=1,
        train_second_layer=True,
        batch=5,
        learning_rate=2.0,
        second_layer_learning_rate=1.0,
        weight_decay=0.05,
        label_noise=0.3,
        student_std=0.4,
        inputs=sd.Isotropic(N),
    )
    found = problem.fluctuations(alpha=times)
    single = problem.replace(
        batch=None, learning_rate=0.4, second_layer_learning_rate=0.2, weight_decay=0.01
    ).fluctuations(alpha=times)
    data = problem.simulate(alpha=times, runs=runs, method="gram", progress=False).to_xarray()
    entries = {
        "Q[1,2]": data.Q_run[..., 0, 1],
        "R[2,1]": data.R_run[..., 1, 0],
        "v[1]": data.v_run[..., 0],
    }
    for name, each in entries.items():
        values = each.transpose("alpha", "run").values
        error = values.std(axis=1) / runs**0.5
        assert np.all(np.abs(values.mean(axis=1) - found.mean_of(name)) < 4 * error)
        # single examples at a fifth of the rates have the same limit, but other means
        assert np.allclose(single.mean, found.mean, rtol=1e-9)
        assert np.all(np.abs(values.mean(axis=1) - single.mean_of(name)) > 6 * error)
        ratio = values.std(axis=1) / found.deviation_of(name)
        assert np.all(np.abs(ratio - 1) < 4 / (2 * runs) ** 0.5 + 2 / N)


def test_laws_that_leave_out_much_noise_warn() -> None:
    problem, start = escaping(100)
    event = "abs(R[1,1]) > 0.5"
    with pytest.warns(RunWarning, match="leaves out the noise after it"):
        found = problem.fluctuations(end=20, points=2, initial=start, events=[event])
    law = found.law(event)
    assert 0.1 < law.distance < 0.3
    assert law.warnings[0] in found.warnings


@pytest.mark.parametrize("share", [0.02, 0.4, 0.999])
def test_laws_of_sizes_are_furthest_apart_where_densities_are_the_same(share: float) -> None:
    sizes = np.linspace(0.0, 12.0, 200_001)
    # the wider law has the unit variance
    differences = erf(sizes / (2 * share) ** 0.5) - erf(sizes / 2**0.5)
    assert distance_of_widths(share) == pytest.approx(differences.max(), abs=1e-8)
    assert distance_of_widths(0.0) == 1.0
    assert distance_of_widths(1.0) == 0.0


def test_students_drawn_for_every_run_have_the_derived_spread() -> None:
    problem, _ = escaping(500, student_std=0.4, teacher="orthogonal")
    found = problem.fluctuations(alpha=[0.0], independent_starts=True)
    assert np.isclose(found.mean[0, 0], 0.16)
    assert np.allclose(np.diag(found.covariance[0])[:2], [2 * 0.4**4, 0.4**2])


@pytest.mark.parametrize(
    ("others", "argument"),
    [
        ({"momentum": 0.5}, "momentum"),
        ({"batch": 4, "normalise": "sphere"}, "normalise"),
        ({"batch": 4, "momentum_rate": 1.0}, "momentum_rate"),
        ({"order": "small-learning-rate"}, "order"),
    ],
)
def test_rules_whose_fluctuations_are_unknown_are_refused_by_name(
    others: dict[str, Any], argument: str
) -> None:
    problem = sd.Problem("erf", students=1, teachers=1, inputs=sd.Isotropic(100), **others)
    with pytest.raises(NotYetError) as caught:
        problem.fluctuations(end=1)
    assert caught.value.argument == argument


def test_a_dimension_and_known_names_are_asked_for() -> None:
    problem, start = escaping(500)
    with pytest.raises(sd.InputError, match="below 2"):
        problem.fluctuations(end=1, initial=start, dimension=1)
    with pytest.raises(sd.InputError, match="leave one out"):
        problem.fluctuations(end=1, initial=start, independent_starts=True)
    found = problem.fluctuations(alpha=[0.0, 0.1], initial=start)
    with pytest.raises(sd.InputError, match="is not one of"):
        found.deviation_of("S[1,1]")
    with pytest.raises(sd.InputError, match="is not one of the events of this result"):
        found.law("Q[1,1] > 3")
