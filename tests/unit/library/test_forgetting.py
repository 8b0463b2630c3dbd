"""Forgetting and transfer from the errors of a run."""

import numpy as np
import pytest

import symderiv as sd

BASE = {"students": 1, "teachers": 2, "learning_rate": 0.5, "inputs": sd.Isotropic(100)}
TASKS = [{"until": 2.0, "teachers": [0]}, {"until": 3.0, "teachers": [1]}, {"teachers": [0, 1]}]


def test_errors_are_those_around_the_switches() -> None:
    problem = sd.Problem("linear", **BASE, tasks=TASKS, train_second_layer=True)
    run = problem.solve(alpha=[0.0, 1.0, 2.0, 3.0, 5.0])
    errors = run.further["task_error"]
    found = run.forgetting()
    assert found.tasks == (0, 1, 2)
    assert np.array_equal(found.begun, [errors[0, 0], errors[2, 1], errors[3, 2]])
    assert np.array_equal(found.learned, [errors[2, 0], errors[3, 1], errors[4, 2]])
    assert np.allclose(found.forgetting, errors[-1] - found.learned)
    assert np.allclose(found.transfer, errors[0] - found.begun)
    assert found.forgetting[2] == 0.0


def test_tasks_that_were_not_reached_are_left_out() -> None:
    run = sd.Problem("linear", **BASE, tasks=TASKS).solve(alpha=[0.0, 2.0, 2.5])
    assert run.forgetting().tasks == (0, 1)


def test_runs_without_tasks_or_start_are_refused() -> None:
    with pytest.raises(sd.InputError, match="tasks"):
        sd.Problem("linear", **BASE).solve(alpha=[0.0, 1.0]).forgetting()
    with pytest.raises(sd.InputError, match="alpha"):
        sd.Problem("linear", **BASE, tasks=TASKS).solve(alpha=[1.0]).forgetting()
