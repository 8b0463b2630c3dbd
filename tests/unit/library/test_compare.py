"""What differs between two results, by numbers that are computed here."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import symderiv as sd

PROBLEM = sd.Problem("erf", students=2, teachers=2, seed=1, inputs=sd.Isotropic(80))
TIMES = [0, 1, 5, 20]


def test_keys_and_largest_differences_of_two_runs() -> None:
    run = PROBLEM.solve(alpha=TIMES)
    other = PROBLEM.replace(learning_rate=0.3, label_noise=0.1).solve(alpha=TIMES)
    found = sd.compare(run, other)
    keys = {each["key"]: (each["first"], each["second"]) for each in found.keys}
    assert keys == {"training.learning_rate": (0.5, 0.3), "training.label_noise": (0.0, 0.1)}
    by_name = {each["name"]: each for each in found.curves}
    apart = other.R[:, 0, 1] - run.R[:, 0, 1]
    worst = np.argmax(np.abs(apart))
    assert by_name["R[1,2]"]["difference"] == apart[worst]
    assert by_name["R[1,2]"]["alpha"] == TIMES[worst]
    assert "standard_errors" not in by_name["R[1,2]"]
    assert not found.interpolated
    assert "training.learning_rate" in found.to_text()
    axes = found.plot("R[1,2]", ax=Figure().subplots())
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), other.R[1:, 0, 1])


def test_a_simulation_is_compared_in_its_standard_errors() -> None:
    run, sgd = PROBLEM.solve(alpha=TIMES), PROBLEM.simulate(alpha=TIMES, runs=5)
    for first, second, sign in ((run, sgd, 1), (sgd, run, -1)):
        (error,) = sd.compare(first, second, ["generalization_error"]).curves
        runs = sgd.generalization_error
        apart = runs.mean(axis=0) - run.generalization_error
        deviation = apart[1:] / (runs.std(axis=0, ddof=1)[1:] / np.sqrt(5))
        worst = np.argmax(np.abs(deviation))
        assert error["standard_errors"] == pytest.approx(sign * deviation[worst])
        assert error["standard_errors_alpha"] == TIMES[1 + worst]
        assert error["root_mean_square"] == pytest.approx(np.sqrt(np.mean(deviation**2)))


def test_a_common_start_has_no_standard_errors() -> None:
    """Runs that start from one state differ there by rounding: hundreds of its standard errors."""
    problem = PROBLEM.replace(students=3, inputs=sd.Isotropic(1000), seed=2, student_std=0.5)
    run, sgd = problem.solve(alpha=TIMES[:2]), problem.simulate(alpha=TIMES[:2], runs=8)
    start = sgd.Q[:, 0].std(axis=0, ddof=1)
    assert 0 < start.max() < 1e-15
    for each in sd.compare(run, sgd, ["Q", "R"]).curves:
        assert each["standard_errors_alpha"] == 1
        assert abs(each["standard_errors"]) < 12


def test_runs_at_other_times_are_interpolated() -> None:
    run, other = PROBLEM.solve(end=20), PROBLEM.solve(alpha=np.geomspace(0.013, 17.0, 30))
    found = sd.compare(run, other)
    assert found.interpolated
    assert found.times == 30
    # the same curve: what is left is the interpolation
    assert all(abs(each["difference"]) < 2e-4 * each["scale"] for each in found.curves)
    assert all(each["key"].startswith("time.") for each in found.keys)


def test_problems_are_compared_and_others_refused() -> None:
    found = sd.compare(PROBLEM, PROBLEM.replace(students=3))
    assert {each["key"] for each in found.keys} >= {"network.students"}
    with pytest.raises(sd.InputError, match="have no curves"):
        found.plot()
    with pytest.raises(sd.InputError, match="int is neither a result with curves nor a Problem"):
        sd.compare(PROBLEM, 3)
    late = PROBLEM.solve(alpha=[30, 40])
    with pytest.raises(sd.InputError, match="no time in common"):
        sd.compare(PROBLEM.solve(alpha=TIMES), late)
