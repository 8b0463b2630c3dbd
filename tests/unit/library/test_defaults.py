"""What a problem takes where nothing is said, and who says that it did."""

from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import symderiv as sd


def test_a_problem_of_activation_and_units_solves_and_its_run_names_the_defaults(
    tmp_path: Path,
) -> None:
    problem = sd.Problem("erf", students=2, teachers=2)
    run = problem.solve(end=20, points=5, progress=False, output=tmp_path / "run.nc")
    stated = sd.Problem(
        "erf",
        students=2,
        teachers=2,
        learning_rate=0.5,
        inputs=sd.Isotropic(1000),
        student_std=0.01,
        teacher="random",
        seed=0,
    )
    assert stated.by_default == "end = 1000"
    same = stated.solve(end=20, points=5, progress=False)
    assert np.array_equal(run.Q, same.Q)
    assert np.array_equal(run.T, same.T)
    # overlaps of the start are of relative size 1/sqrt(N)
    relative = run.R[0] / np.sqrt(np.outer(np.diag(run.Q[0]), np.diag(run.T)))
    assert 0.1 < np.sqrt(1000) * np.abs(relative).max() < 4.0
    for name in ("learning_rate = 0.5", "dimension = 1000", "seed = 0"):
        assert name in problem.by_default
        assert name in repr(problem)
        assert name in repr(run)
        assert name in repr(sd.open(tmp_path / "run.nc"))
    assert not same.by_default
    assert "default" not in repr(same)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"learning_rate": 0.5}, "dimension = 1000, student_std"),
        ({"inputs": sd.Isotropic(50)}, "learning_rate = 0.5, student_std"),
        ({"seed": 3}, "student_std = 0.01"),
    ],
)
def test_what_is_given_is_no_default(given: dict[str, object], left: str) -> None:
    problem = sd.Problem("erf", students=2, teachers=2).replace(**given)
    assert left in problem.by_default
    assert next(iter(given)) not in problem.by_default.replace("inputs", "dimension")


def test_a_start_that_is_given_is_not_called_a_default() -> None:
    problem = sd.Problem("linear", students=1, teachers=1)
    start = {"Q": [[0.1]], "R": [[0.0]], "T": [[1.0]]}
    run = problem.solve(end=1, points=2, initial=start, progress=False)
    assert run.by_default == "learning_rate = 0.5, dimension = 1000"
    weights = {"J": [[0.1] * 30], "B": [[1.0] * 30]}
    sized = problem.solve(end=1, points=2, initial=weights, progress=False)
    assert sized.by_default == "learning_rate = 0.5"


def test_a_state_brings_its_own_spectrum_to_a_problem_of_default_inputs(tmp_path: Path) -> None:
    law = sd.Problem("linear", students=1, teachers=1, inputs=sd.Spectrum([2.0, 0.5], dimension=40))
    law.solve(end=1, points=2, progress=False).initial.save(tmp_path / "s.npz")
    problem = sd.Problem("linear", students=1, teachers=1).replace(state=tmp_path / "s.npz")
    assert problem.solve(end=1, points=2, progress=False).initial.L == 2


def test_a_run_without_end_leaves_the_plateau_and_names_its_end(tmp_path: Path) -> None:
    problem = sd.Problem("erf", students=2, teachers=2)
    run = problem.solve(progress=False, output=tmp_path / "run.nc")
    assert run.alpha[-1] == 1000.0 == problem.time.end
    assert run.features.ends < 1000.0
    assert run.generalization_error[-1] < 1e-4 * run.generalization_error[0]
    for shown in (run.by_default, repr(run), run.to_text(), repr(sd.open(tmp_path / "run.nc"))):
        assert "end = 1000" in shown
    # a given end is no default, and one that follows the rate is not kept for another rate
    assert "end" not in problem.solve(end=3, points=3, progress=False).by_default
    slow = problem.replace(learning_rate=0.3, time={"points": 4})
    assert slow.solve(progress=False).alpha[-1] == pytest.approx(500 / 0.3)
    assert problem.replace(learning_rate=0.2).simulate(runs=1, end=0.2, progress=False).alpha[
        -1
    ] == pytest.approx(0.2)


def test_the_default_end_follows_the_last_task_and_the_layer_that_learns() -> None:
    taught = [{"until": 30.0, "teachers": [0]}, {"teachers": [1]}]
    problem = sd.Problem("erf", students=2, teachers=2, tasks=taught)
    assert problem.time.end == 30.0 + 500.0 / 0.5
    fixed = sd.Problem(
        "erf",
        students=2,
        teachers=2,
        learning_rate=0.0,
        train_second_layer=True,
        second_layer_learning_rate=0.25,
    )
    assert fixed.time.end == 2000.0
    with pytest.raises(sd.InputError, match=r"give time\.end"):
        fixed.replace(second_layer_learning_rate=0.0).solve()


def test_runs_of_a_grid_share_the_default_end(tmp_path: Path) -> None:
    problem = sd.Problem("linear", students=1, teachers=1, time={"points": 5})
    runs = problem.ensemble(learning_rate=[0.4, 0.1], progress=False)
    assert runs.alpha[-1] == 1000.0
    swept = problem.sweep(learning_rate=[0.4, 0.1], output=tmp_path / "s.zarr", progress=False)
    np.testing.assert_allclose(swept.to_xarray().alpha, runs.alpha)
    # E = E(0) exp(-(2η - η²) α) for one linear student: a list by its name is that of the key
    rates = -np.diff(np.log(swept.to_xarray().generalization_error[:, 1:3]), axis=1)[:, 0]
    assert rates[0] / rates[1] == pytest.approx((0.8 - 0.16) / (0.2 - 0.01), rel=1e-6)
    for call in (problem.sweep, lambda *a, **k: problem.map("final_error", **k)):
        with pytest.raises(sd.InputError, match="given twice"):
            call(over={"training.learning_rate": [0.1]}, learning_rate=[0.2])
        with pytest.raises(sd.InputError, match="did you mean learning_rate"):
            call(learning_rat=[0.2])
        with pytest.raises(sd.InputError, match=r"give learning_rate=\["):
            call(learning_rate=0.2)
    with pytest.raises(sd.InputError, match="must be two keys"):
        problem.map("final_error", learning_rate=(0.1, 0.2))


@pytest.mark.parametrize("name", ["x", "z"])
def test_an_activation_may_be_an_expression_of_sympy(name: str) -> None:
    z = sp.Symbol(name, real=True)
    runs = [
        sd.Problem(each, students=2, teachers=2, teacher_activation=each).solve(
            end=5, points=3, progress=False
        )
        for each in (sp.erf(z / sp.sqrt(2)), "erf(x/sqrt(2))", "erf")
    ]
    for run in runs[:2]:
        np.testing.assert_allclose(run.R, runs[2].R, rtol=1e-8, atol=1e-12)


def test_calls_have_the_names_of_their_commands() -> None:
    assert sd.expect("x*y", [["1", "1/3"], ["1/3", "2"]]).closed_form == sp.Rational(1, 3)
    problem = sd.Problem("erf", students=2, teachers=2, inputs=sd.PowerLaw(4, exponent=1.0))
    assert np.array_equal(problem.asymptotics().rates, problem.late().rates)
    assert sd.asymptotics is sd.late


def test_inputs_may_be_the_matrix_of_their_covariance() -> None:
    matrix = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 0.7]])
    stated = sd.Problem("linear", students=1, teachers=1, inputs=sd.Covariance(matrix))
    for given in (matrix, matrix.tolist()):
        assert sd.Problem("linear", students=1, teachers=1, inputs=given) == stated
    assert sd.Problem("linear", students=1, teachers=1).replace(inputs=matrix) == stated
