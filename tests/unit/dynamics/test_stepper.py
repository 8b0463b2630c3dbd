"""The time stepper: its table, its order, its results between steps, its ways to end."""

import numpy as np
import pytest
from scipy.integrate._ivp import dop853_coefficients as scipy_table
from support import small_systems as systems

from symderiv.integrate.flows.flat_run import FlatProblem, StepLimits, SteppedRun, integrate_flat
from symderiv.integrate.steppers import dop853_table as table
from symderiv.integrate.steppers.cone import outside_cone


def run(rhs, state, asked, rtol=1e-10, atol=1e-14, max_steps=10**8, **options):
    asked = np.array(asked, dtype=float)
    return integrate_flat(
        FlatProblem(rhs, np.array(state), systems.SIZES, systems.PARAMETERS, asked),
        StepLimits(rtol, atol, 1e-7, max_steps),
        **options,
    )


def is_outside(matrix: np.ndarray, tolerance: float) -> bool:
    return outside_cone(0.0, matrix.copy().ravel(), len(matrix), tolerance)


def test_the_table_is_scipys():
    np.testing.assert_array_equal(table.NODES, scipy_table.C[:12])
    np.testing.assert_array_equal(table.STAGES, scipy_table.A[:12, :12])
    np.testing.assert_array_equal(table.SOLUTION, scipy_table.B)
    np.testing.assert_array_equal(table.ERROR_5, scipy_table.E5[:12])
    np.testing.assert_array_equal(table.ERROR_3, scipy_table.E3[:12])


def test_the_third_estimate_is_of_order_six():
    A, c = table.STAGES, table.NODES
    # the divided difference of slopes sees nothing of a solution of order 6
    for tree in (c**0, c, c**2, A @ c, c**3, c * (A @ c), A @ c**2, A @ A @ c, c**5, A @ c**4):
        assert abs(table.ERROR_6 @ tree) < 1e-13
    assert abs(table.ERROR_6 @ c**6) > 1e-4


def test_the_estimate_is_not_blind_near_the_limit_of_stability():
    # one step for y' = z y: its error against the larger of the two estimates
    for z in np.linspace(-6.2, -0.2, 61):
        k = np.zeros(12)
        for s in range(12):
            k[s] = z * (1.0 + table.STAGES[s] @ k)
        fifth, third, sixth = (abs(w @ k) for w in (table.ERROR_5, table.ERROR_3, table.ERROR_6))
        estimate = max(fifth**2 / np.hypot(fifth, 0.1 * third), sixth)
        assert abs(1.0 + table.SOLUTION @ k - np.exp(z)) < 1.3 * estimate, z


@pytest.mark.parametrize("budget", [0, 30, 300])
def test_results_that_take_more_evaluations_than_they_may_are_left_out(budget):
    """The others stay as they are, and so do the steps."""
    asked, start = np.linspace(0, 20, 100), [2.0, 0.0, 1.0]
    problem = FlatProblem(
        systems.oscillation, np.array(start), systems.SIZES, systems.PARAMETERS, asked
    )
    whole = integrate_flat(problem, StepLimits(1e-3, 1e-14, 1e-7))
    assert whole.between > 300  # a step for each of many results
    part = integrate_flat(problem, StepLimits(1e-3, 1e-14, 1e-7, between=budget))
    left_out = np.isnan(part.results).all(axis=1)
    assert part.cause == "done"
    assert part.reached == asked.size
    assert budget <= part.between < budget + 12  # of a step there are eleven or twelve
    assert whole.rhs_evaluations - whole.between == part.rhs_evaluations - part.between
    assert 0 < left_out.sum() < asked.size
    np.testing.assert_array_equal(part.results[~left_out], whole.results[~left_out])
    np.testing.assert_array_equal(part.last_state, whole.last_state)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_results_meet_the_tolerance_also_between_steps(rtol):
    asked = np.linspace(0, 20, 333)
    result = run(systems.oscillation, [2.0, 0.0, 1.0], asked, rtol)
    assert result.cause == "done"
    assert result.reached == asked.size
    assert result.steps < 200
    exact = np.stack([2 + np.sin(asked), 0 * asked, np.cos(asked)], axis=1)
    # the error per step is kept; over 20 units of time it may add up
    assert np.max(np.abs(result.results - exact)) < 30 * rtol
    assert result.error_sum < 100 * rtol


def first_end(rhs, state, length: float) -> np.ndarray:
    """The end of a first step of a length."""
    problem = FlatProblem(
        rhs, np.array(state), systems.SIZES, systems.PARAMETERS, np.array([0.0, 100.0])
    )
    run = SteppedRun(problem, StepLimits(1e300, 1e300, 1e-7))
    run.advance(0)
    run.status["step"] = length
    run.advance(1)
    assert run.status["alpha"] == length
    return run.y.copy()


def test_halving_the_step_divides_the_error_by_two_to_the_eighth():
    errors = []
    for length in (0.8, 0.4):
        exact = np.array([2 + np.sin(length), 0.0, np.cos(length)])
        found = first_end(systems.oscillation, [2.0, 0.0, 1.0], length)
        errors.append(np.max(np.abs(found - exact)))
    # the local error is of order 9; pure ninth order would give 512
    assert 350 < errors[0] / errors[1] < 700


@pytest.mark.parametrize("rate", [1.0, 30.0, 1e3, 1e5])
def test_the_first_step_is_short_against_the_time_in_which_the_solution_changes(rate):
    parameters = np.full(11, rate)
    for end in (100.0, 1e-7 / rate):
        asked = np.array([end])
        state = np.array([0.7, 0.3, 2.0])
        problem = FlatProblem(systems.decay, state, systems.SIZES, parameters, asked)
        run = SteppedRun(problem, StepLimits(1e-10, 1e-14))
        run.advance(0)
        step = float(run.status["step"])
        assert run.taken == 0
        assert step <= end
        if end == 100.0:
            assert 1e-3 < step * rate <= 1.0


def test_counts_are_those_of_the_calls():
    few = run(systems.oscillation, [2.0, 0.0, 1.0], [20.0])
    tried = few.steps + few.rejected
    # slope at the start and for the first step, 11 per attempt, 1 per acceptance
    assert few.rhs_evaluations == 2 + 11 * tried + few.steps
    # steps grow as far as their errors allow, and not beyond
    assert few.rejected < 0.2 * few.steps
    # results between steps cost nothing but at the ends, where a step may be halved
    more = run(systems.oscillation, [2.0, 0.0, 1.0], np.linspace(0.0, 20.0, 1001))
    assert more.steps == few.steps
    further = more.rhs_evaluations - few.rhs_evaluations
    assert further % 12 == 0
    assert further <= 5 * 12


def test_a_result_does_not_depend_on_how_the_run_is_sliced_or_what_else_is_asked():
    plain = run(systems.oscillation, [2.0, 0.0, 1.0], [7.7, 20.0])
    seen: list[tuple[float, int]] = []
    watched = run(
        systems.oscillation,
        [2.0, 0.0, 1.0],
        [0.0, 1.0, 7.7, 20.0],
        progress=lambda alpha, steps: seen.append((alpha, steps)),
    )
    np.testing.assert_array_equal(plain.results, watched.results[2:])
    assert seen[-1] == (20.0, watched.steps)


def test_only_the_start_may_be_asked_for():
    result = run(systems.oscillation, [2.0, 0.0, 1.0], [0.0])
    assert (result.cause, result.steps, result.rhs_evaluations) == ("done", 0, 1)
    np.testing.assert_array_equal(result.results, [[2.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("rhs", "cause", "end"),
    [
        (systems.not_a_number_at_one, "not-a-number", 1.0),
        (systems.explosion, "step-underflow", 1.0),
        (systems.out_of_the_cone, "cone-left", 2.0),
        (systems.never_a_number, "not-a-number", 0.0),
    ],
)
def test_a_failure_ends_the_run_with_its_cause_and_keeps_what_was_computed(rhs, cause, end):
    asked = np.linspace(0, 4, 41)
    result = run(rhs, [1.0, 0.0, 1.0], asked)
    assert result.cause == cause
    assert result.last_alpha <= end + 1e-6
    assert result.last_alpha >= end - 1.0
    if rhs is systems.not_a_number_at_one:
        # steps that reach beyond the last number are made shorter
        assert result.last_alpha > end - 1e-9
    assert result.reached == np.searchsorted(asked, result.last_alpha, side="right")
    assert np.all(np.isfinite(result.results))
    assert np.all(np.isfinite(result.last_state))
    if rhs is systems.explosion:
        np.testing.assert_allclose(result.results[:9, 0], 1 / (1 - asked[:9]), rtol=1e-8)


def test_an_interrupt_keeps_what_was_computed():
    def interrupt(alpha: float, steps: int) -> None:
        raise KeyboardInterrupt

    result = run(systems.oscillation, [2.0, 0.0, 1.0], [0.0, 1e6], progress=interrupt)
    assert result.cause == "interrupted"
    assert result.reached == 1
    assert result.last_alpha > 0


def test_the_cone_test_agrees_with_eigenvalues():
    random = np.random.default_rng(11)
    for size in (1, 2, 5):
        for _ in range(200):
            axes, _ = np.linalg.qr(random.standard_normal((size, size)))
            values = random.exponential(size=size)
            values[0] = random.choice([-1.0, 1.0]) * 10.0 ** random.uniform(-6, 0)
            matrix = axes @ np.diag(values) @ axes.T
            matrix = 0.5 * (matrix + matrix.T)
            assert is_outside(matrix, 1e-9) == (values[0] < 0)


@pytest.mark.parametrize(
    ("matrix", "outside"),
    [
        ([[0.0, 0.0], [0.0, 1.0]], False),
        ([[0.0, 1e-3], [1e-3, 1.0]], True),
        ([[1.0, 1.0], [1.0, 1.0]], False),
        ([[1.0, 1.0 + 1e-12], [1.0 + 1e-12, 1.0]], False),
        ([[1.0, 1.0 + 1e-5], [1.0 + 1e-5, 1.0]], True),
        ([[-1e-3, 0.0], [0.0, 1.0]], True),
        ([[np.nan, 0.0], [0.0, 1.0]], True),
    ],
)
def test_the_edge_of_the_cone_belongs_to_it(matrix, outside):
    assert is_outside(np.array(matrix), 1e-9) == outside


@pytest.mark.parametrize("size", [1e-17, -1e-17, -1e-13])
def test_variances_below_the_absolute_tolerance_are_of_either_sign(size):
    """The cone is as wide there as where they are as large as the least one that counts."""
    matrix = np.diag([size, 1.0])
    for least, outside in ((0.0, size < 0.0), (1e-5, size < -1e-14)):
        assert outside_cone(0.0, matrix.copy().ravel(), 2, 1e-9, least) == outside


@pytest.mark.parametrize("tolerance", [1e-9, 1e-6, 1e-3])
def test_the_cone_is_widened_by_the_relative_tolerance_of_the_variances(tolerance):
    # the diagonal enlarged by the factor 1 + t admits correlations up to 1 + t, at any scale
    for lengths in ([1.0, 1.0], [2.0, 0.03], [1e-4, 50.0]):
        for correlation, outside in ((1 + 0.8 * tolerance, False), (1 + 1.2 * tolerance, True)):
            matrix = np.outer(lengths, lengths)
            matrix[0, 1] = matrix[1, 0] = correlation * matrix[0, 1]
            assert is_outside(matrix, tolerance) == outside
    # three fields: outside if the smallest eigenvalue of the correlations is below -t
    for least, outside in ((-0.8 * tolerance, False), (-1.2 * tolerance, True)):
        matrix = np.full((3, 3), 0.5 * (least - 1.0))
        np.fill_diagonal(matrix, 1.0)
        assert np.linalg.eigvalsh(matrix)[0] == pytest.approx(least, rel=1e-5)
        assert is_outside(matrix, tolerance) == outside
