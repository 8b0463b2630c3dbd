"""Problems: one statement of what is learned, spelled in Python or in TOML."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.problem.study import load_study

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.toml"))


def problem(**changes: Any) -> sd.Problem:
    given: dict[str, Any] = {
        "students": 2,
        "teachers": 2,
        "learning_rate": 0.5,
        "inputs": sd.Isotropic(300),
    }
    return sd.Problem(changes.pop("activation", "erf"), **{**given, **changes})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_problem_that_its_text_gives_back(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stated = sd.Problem.from_toml(path)
    monkeypatch.chdir(tmp_path)  # files are found from anywhere
    again = sd.Problem.from_toml(stated.to_toml())
    assert again == stated
    assert hash(again) == hash(stated)
    assert stated.grid()
    assert pickle.loads(pickle.dumps(stated)) == stated
    assert len(repr(stated).splitlines()) <= 10


def test_python_and_a_file_state_the_same_problem(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        '[network]\nactivation = "tanh"\nstudents = 3\nteachers = 2\n[data]\nmodel = "power-law"\n'
        "distinct_eigenvalues = 64\nexponent = 1\ndimension = 1024\n"
        "[training]\nlearning_rate = 0.3\n"
    )
    inputs = sd.PowerLaw(64, exponent=1, dimension=1024)
    stated = sd.Problem("tanh", students=3, teachers=2, learning_rate=0.3, inputs=inputs)
    assert sd.Problem.from_toml(path) == stated
    assert stated != stated.replace(seed=1)


def test_no_copy_of_a_checked_study_skips_its_checks() -> None:
    study = load_study(EXAMPLES[-1])
    bad = {"learning_rate": -0.5}
    for change in (
        lambda: study.training.model_copy(update=bad),
        lambda: study.training.copy(update=bad),
        lambda: type(study.training).model_construct(**bad),
        lambda: study.changed({"training.learning_rate": -0.5}),
        lambda: study.model_copy(update={"training": bad}),
        lambda: study.model_copy(update={"network": {"activation": "?", "students": 1}}),
        lambda: sd.Problem.from_toml(EXAMPLES[-1]).replace(learning_rate=-0.5),
    ):
        with pytest.raises(sd.InputError):
            change()
    with pytest.raises(AttributeError):
        sd.Problem.from_toml(EXAMPLES[-1])._study = study
    assert copy.copy(study) == study
    # what belongs together is checked together: L has to divide N
    law = sd.PowerLaw(4, exponent=1, dimension=64)
    with pytest.raises(sd.InputError, match=r"^inputs\.distinct_eigenvalues: "):
        problem(inputs=law).replace(**{"inputs.distinct_eigenvalues": 3})


def test_a_grid_has_one_problem_per_combination() -> None:
    law = sd.PowerLaw(4, exponent=1, dimension=64)
    grid = problem(inputs=law).grid(
        learning_rate=[0.1, 0.2], **{"inputs.exponent": [0.5, 1.0, 2.0]}
    )
    assert [(p.learning_rate, p.inputs.exponent) for p in grid] == [
        (rate, exponent) for rate in (0.1, 0.2) for exponent in (0.5, 1.0, 2.0)
    ]
    with pytest.raises(sd.InputError, match="did you mean learning_rate"):
        problem().grid(learning_rat=[1])
    swept = sd.Problem.from_toml(next(p for p in EXAMPLES if p.stem == "power-law-plateau"))
    assert len(swept.grid()) == 4


def test_arrays_stand_in_place_of_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    samples = rng.standard_normal((200, 6))
    matrix = np.cov(samples.T)
    np.savez(tmp_path / "c.npz", covariance=matrix)
    np.savez(tmp_path / "s.npz", samples=samples)
    runs = [
        problem(inputs=inputs).solve(end=2, points=5).generalization_error
        for inputs in (
            sd.Covariance(matrix),
            sd.Covariance(tmp_path / "c.npz"),
            sd.Covariance(samples=samples),
            sd.Covariance(tmp_path / "s.npz"),
        )
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[2], runs[3])
    np.testing.assert_allclose(runs[0], runs[2], rtol=1e-10)
    omega = matrix[:4, :4]
    phi = 0.5 * np.linalg.cholesky(omega)
    np.savez(tmp_path / "g.npz", omega=omega, phi=phi)
    given, file = sd.Generator(omega=omega, phi=phi), sd.Generator(tmp_path / "g.npz")
    one, two = (problem(inputs=i).solve(end=1, points=3) for i in (given, file))
    np.testing.assert_array_equal(one.R, two.R)
    stated = problem(inputs=sd.Covariance(matrix))
    assert sd.Problem.from_toml(stated.to_toml()) == stated


def test_large_arrays_are_written_beside_the_text(tmp_path: Path) -> None:
    features = np.random.default_rng(1).standard_normal((60, 40))
    inputs = sd.HiddenManifold("relu", dimension=60, latent_dimension=40, features=features)
    stated = problem(inputs=inputs)
    assert sd.Problem.from_toml(stated.to_toml()) == stated
    stated.to_toml(tmp_path / "p.toml")
    assert (tmp_path / "p-features.npy").exists()
    again = sd.Problem.from_toml(tmp_path / "p.toml")
    one, two = (p.solve(end=1, points=3) for p in (stated, again))
    np.testing.assert_array_equal(one.Q, two.Q)
    # results carry the study without the numbers
    assert len(one.study_text) < 2000
    with pytest.raises(sd.InputError, match=r"^inputs\.features: "):
        problem(
            inputs=sd.HiddenManifold(
                "relu",
                dimension=2000,
                latent_dimension=600,
                features=np.ones((2000, 600)) + np.eye(2000, 600),
            )
        ).to_toml()
