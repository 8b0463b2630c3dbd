"""Studies of hidden manifolds and generators: equations against SGD, keys, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symderiv.experiment.studies.simulating import simulate
from symderiv.foundation.errors import InputError
from symderiv.integrate.rules.solving import solve
from symderiv.problem.study import parse_study

# every form of a step is compiled once: a part of them a day
pytestmark = pytest.mark.turns(6)

CURVES = ("Q", "R", "v", "generalization_error")
STUDY = """
[network]
activation = "{activation}"
students = 2
teachers = 3
student_weights = 0.5
teacher_weights = 1
train_second_layer = {both}
[data]
{data}
[training]
learning_rate = 0.3
[initial]
student_std = 1.0
{initial}
[simulation]
runs = 8
[time]
values = [0.0, 0.5, 2.0, 6.0, 15.0]
"""
MANIFOLD = (
    'model = "hidden-manifold"\nnonlinearity = "{f}"\ndimension = {N}\nlatent_dimension = {D}\n'
)


def _study(data: str, activation: str = "erf", both: str = "true", initial: str = "") -> str:
    return STUDY.format(data=data, activation=activation, both=both, initial=initial)


def _assert_near(runs: Any, theory: Any, N: int, names: tuple[str, ...] = CURVES) -> None:
    """Within 3.5 standard errors and 2/√N of the size of the quantity (finite N, leading order)."""
    for name in names:
        exact = np.asarray(getattr(theory, name))
        allowed = 3.5 * runs.standard_error(name) + 2.0 / np.sqrt(N) * np.max(np.abs(exact))
        assert np.all(np.abs(runs.mean(name) - exact) <= allowed), name


@pytest.mark.parametrize(
    ("activation", "f", "both"), [("erf", "sign", "true"), ("relu", "x+x**2/4", "false")]
)
def test_equations_agree_with_sgd(activation: str, f: str, both: str) -> None:
    study = parse_study(_study(MANIFOLD.format(f=f, N=160, D=100), activation, both))
    theory, runs = solve(study), simulate(study)
    assert theory.alpha == pytest.approx(runs.alpha)
    _assert_near(runs, theory, 160)
    change = abs(theory.generalization_error[-1] / theory.generalization_error[0] - 1.0)
    assert change > 0.1


def test_a_generator_is_simulated_with_its_gaussian_equivalent(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    N, D = 120, 50
    mixing = rng.standard_normal((N, D)) / np.sqrt(D)
    np.savez(tmp_path / "g.npz", omega=mixing @ mixing.T + 0.2 * np.eye(N), phi=mixing)
    study = parse_study(_study('model = "generator"\nfile = "g.npz"'), tmp_path)
    theory, runs = solve(study), simulate(study)
    _assert_near(runs, theory, N, ("R",))
    assert study.input_files == (tmp_path / "g.npz",)


def test_the_limit_has_no_vectors() -> None:
    limit = 'model = "hidden-manifold"\nnonlinearity = "erf"\nlatent_ratio = 0.5\nnodes = 20'
    with pytest.raises(InputError, match=r"data\.latent_ratio: .*initial\.draw"):
        parse_study(_study(limit))
    study = parse_study(_study(limit, initial='draw = "mean"'))
    result = solve(study)
    assert result.Q.shape == (5, 2, 2)
    assert np.all(np.isfinite(result.generalization_error))
    with pytest.raises(InputError, match="drawn vectors"):
        simulate(study)


_SMALL = MANIFOLD.format(f="sign", N=10, D=5)
_FORTY = 'model = "gaussian-mixture"\ndimension = 40\n'


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ('model = "hidden-manifold"\nnonlinearity = "sign"\ndimension = 10', "latent_dimension"),
        (_SMALL + "latent_ratio = 0.5", "latent_ratio"),
        (_SMALL + "nodes = 5", "nodes"),
        (MANIFOLD.format(f="3", N=10, D=5), "constant"),
        (MANIFOLD.format(f="import os", N=10, D=5), "data.nonlinearity"),
        ('model = "generator"', "data.file"),
        ('model = "generator"\nfile = "no.npz"', "no.npz"),
        (_SMALL + 'features = "no.npy"', "no.npy"),
        (_FORTY + "probabilities = [0.5, 0.5]", "eigenvalues"),
        (_FORTY + "probabilities = [0.5, 0.4]\neigenvalues = [[1.0], [2.0]]", "sum to 0.9"),
        (_FORTY + "eigenvalues = [[1.0], [2.0]]", "probabilities: is missing"),
        (_FORTY + "probabilities = [0.5, 0.5]\neigenvalues = [[1.0], [2.0, 3.0]]", "eigenspaces"),
        (_FORTY + "probabilities = [1.0]\neigenvalues = [[1.0]]\nseed = 3", "together with seed"),
    ],
)
def test_bad_keys_are_refused_by_name(data: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_study(_study(data))


def test_gram_matrices_are_refused() -> None:
    text = _study(MANIFOLD.format(f="sign", N=20, D=10)).replace(
        "runs = 8", 'runs = 2\nmethod = "gram"'
    )
    with pytest.raises(InputError, match=r"simulation\.method"):
        simulate(parse_study(text))


MIXTURE = """
model = "gaussian-mixture"
nonlinearity = "sign"
dimension = 160
latent_dimension = 100
components = 2
separation = 9
assignment = "{assignment}"
"""


def test_mixtures_per_coordinate_learn_like_normal_inputs_and_per_sample_do_not() -> None:
    theory = solve(parse_study(_study(MANIFOLD.format(f="sign", N=160, D=100))))
    exact = theory.generalization_error
    distance = {}
    for assignment in ("coordinate", "sample"):
        study = parse_study(_study(MIXTURE.format(assignment=assignment)))
        runs = simulate(study)
        error = runs.standard_error("generalization_error")
        difference = np.abs(runs.mean("generalization_error") - exact)
        distance[assignment] = float(np.max(difference / exact))
        if assignment == "coordinate":
            assert np.all(difference <= 3.5 * error + 2.0 / np.sqrt(160) * exact)
        with pytest.raises(InputError, match=f'data.assignment = "{assignment}"'):
            solve(study)
    assert distance["sample"] > 3.0 * distance["coordinate"]
    assert distance["sample"] > 0.1


COMPONENTS = """
model = "gaussian-mixture"
dimension = {N}
probabilities = {p}
eigenvalues = {rho}
"""


@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_components_with_their_own_spectra(activation: str) -> None:
    """The averaged equations against SGD, and against one Gaussian of the same covariance."""
    N = 200
    data = COMPONENTS.format(N=N, p=[0.3, 0.7], rho=[[4.0, 0.2], [0.1, 0.6]])
    study = parse_study(_study(data, activation).replace("student_std = 1.0", "student_std = 0.7"))
    theory, runs = solve(study), simulate(study)
    _assert_near(runs, theory, N)
    # the mean of the components' errors; of the averaged overlaps it would be another number
    start = theory.generalization_error[0]
    assert runs.generalization_error[:, 0] == pytest.approx(np.full(8, start), rel=1e-9)
    assert theory.tolerance_reached < 1e-8
    one = 'model = "spectrum"\neigenvalues = [1.27, 0.48]\n' + f"dimension = {N}"
    single = solve(parse_study(_study(one, activation).replace("std = 1.0", "std = 0.7")))
    assert np.max(np.abs(single.Q[-1] - theory.Q[-1])) > 0.02


RATES = """learning_rate = 0.3
second_layer_learning_rate = 0.2
weight_decay = 0.05
second_layer_weight_decay = 0.09
label_noise = 0.4
order = "{order}"
"""


@pytest.mark.parametrize("order", ["full", "small-learning-rate"])
def test_equal_components_are_one(order: str) -> None:
    """Every rate is in use: both layers decay, and the noise of the labels acts."""

    def study(data: str) -> str:
        return _study(data).replace("learning_rate = 0.3\n", RATES.format(order=order))

    rho = [1.5, 0.5, 0.0]
    mixed = solve(parse_study(study(COMPONENTS.format(N=42, p=[0.3, 0.7], rho=[rho, rho]))))
    spectrum = f'model = "spectrum"\neigenvalues = {rho}\ndimension = 42'
    one = solve(parse_study(study(spectrum)))
    for name in ("Q", "R", "T", "v", "generalization_error", "student_overlap", "cross_overlap"):
        found, wanted = np.asarray(getattr(mixed, name)), np.asarray(getattr(one, name))
        assert found == pytest.approx(wanted, rel=1e-7, abs=1e-9), name
    for name in ("student_overlap", "cross_overlap", "student_weights", "teacher_overlap"):
        found, wanted = getattr(mixed.final, name), getattr(one.final, name)
        assert found == pytest.approx(wanted, rel=1e-7, abs=1e-9), name
    np.testing.assert_allclose(mixed.final.Q, mixed.Q[-1], rtol=1e-12)


def test_components_in_too_many_dimensions_are_not_simulated_as_their_average() -> None:
    data = COMPONENTS.format(N=5000, p=[0.3, 0.7], rho=[[1.5, 0.5], [0.5, 1.5]])
    study = parse_study(_study(data).replace("[0.0, 0.5, 2.0, 6.0, 15.0]", "[0.0, 0.01]"))
    with pytest.raises(InputError, match=r"data\.dimension: .* up to 4096"):
        simulate(study)
