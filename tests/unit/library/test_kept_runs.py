"""Runs know their problem, go on, load as they were, and say aloud what went wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.foundation.errors import RunWarning

LAW = sd.PowerLaw(3, exponent=0.5, dimension=90)
PROBLEM = sd.Problem("erf", students=2, teachers=2, seed=2, inputs=LAW)
PROBLEMS = {
    "plain": PROBLEM,
    "second layer": PROBLEM.replace(train_second_layer=True, second_layer_learning_rate=0.2),
    "schedule": PROBLEM.replace(schedule="1/(1 + alpha/50)"),
    "biases": PROBLEM.replace(
        activation="linear", student_biases=0.2, train_biases=True, bias_learning_rate=0.1
    ),
}


@pytest.mark.days(2)
@pytest.mark.parametrize("which", PROBLEMS)
def test_a_run_that_goes_on_is_the_long_run(which: str) -> None:
    problem = PROBLEMS[which]
    longer = problem.solve(alpha=[0, 1, 10, 30]).extend(100, points=7)
    whole = problem.solve(alpha=longer.alpha)
    assert longer.alpha[[3, -1]].tolist() == [30, 100]
    assert longer.alpha.size == 11
    for name in ("Q", "R", "v", "generalization_error", "student_overlap"):
        np.testing.assert_allclose(getattr(longer, name), getattr(whole, name), rtol=1e-6)
    assert longer.problem == whole.problem
    assert list(longer.problem.time.values) == longer.alpha.tolist()
    with pytest.raises(sd.InputError, match="is not later than 100"):
        longer.extend(50)


def test_the_problem_of_a_file_solves_to_the_same_run(tmp_path: Path) -> None:
    run = PROBLEM.solve(alpha=[0, 2, 7])
    again = sd.open(run.save(tmp_path / "run.nc").output)
    assert again.problem.to_dict() == run.problem.to_dict()
    assert again.problem.solve().R.tolist() == run.R.tolist()
    further = again.extend(9)
    assert further.alpha[-1] == 9


@pytest.mark.parametrize("ending", ["nc", "zarr"])
@pytest.mark.parametrize("kind", ["solve", "simulate"])
def test_a_result_loads_as_it_was(kind: str, ending: str, tmp_path: Path) -> None:
    result = getattr(PROBLEM, kind)(alpha=[0, 2, 7])
    saved = result.save(tmp_path / f"result.{ending}")
    again = sd.open(saved.output)
    assert type(again) is type(saved)
    for name, value in vars(saved).items():
        if name != "origin":
            assert _equal(getattr(again, name), value), name


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, sd.State):
        fields = [name for name in vars(one) if isinstance(getattr(one, name), np.ndarray)]
        return bool(fields) and all(
            np.array_equal(getattr(one, name), getattr(other, name)) for name in fields
        )
    if isinstance(one, float) and one != one:
        return bool(other != other)
    return bool(np.all(one == other))


@pytest.mark.parametrize("extended", [False, True])
def test_a_run_that_diverges_warns(extended: bool) -> None:
    wild = sd.Problem("linear", students=2, teachers=2, learning_rate=50.0, seed=0)
    short = wild.solve(end=1e-3, points=3)
    with pytest.warns(RunWarning, match="what was computed before is kept") as told:
        run = short.extend(1000) if extended else wild.solve(end=1000, points=20)
    assert run.cause != "done"
    # it points to the line that asked
    assert {each.filename for each in told} == {__file__}
