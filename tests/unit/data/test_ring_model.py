"""Inputs on a ring as inputs of a study: spectrum, components, samples, what is said of them."""

import math
from pathlib import Path

import numpy as np
import pytest

import symderiv as sd
from symderiv.inputs.model import DataModel
from symderiv.problem.study import parse_study

_STUDY = """
[network]
activation = "erf"
students = 2
teachers = 2
[data]
model = "{model}"
{keys}
[training]
learning_rate = 0.1
[initial]
teacher = "{teacher}"
[time]
end = 1
"""


def _built(inputs: sd.NLGP | sd.SinglePulse) -> DataModel:
    return inputs.built(Path())


@pytest.mark.parametrize(
    "inputs",
    [
        sd.NLGP(gain=2.0, lengths=(2.0, 1.0), sites=11),
        sd.NLGP(gain=math.inf, lengths=1.5, sites=10),
        sd.SinglePulse(lengths=((3, 4), 2), sites=12),
    ],
    ids=["two lengths", "signs", "pulses"],
)
def test_components_have_the_spectra_of_the_covariances_and_samples(
    inputs: sd.NLGP | sd.SinglePulse,
) -> None:
    model = _built(inputs)
    counts = model.multiplicities()
    assert counts.sum() == inputs.sites
    matrices = [inputs.covariance(label) for label in (1, 0)]
    if len(model.components) == 1:
        np.testing.assert_array_equal(*matrices)
    for component, matrix in zip(model.components, matrices, strict=False):
        found = np.sort(np.repeat(component.eigenvalue, counts))
        np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix), atol=1e-12)
        assert component.probability == 1.0 / len(model.components)
    x, seen = model.latent.sampler(np.random.default_rng(1), 40000)
    assert seen is x
    mean = np.diag(np.repeat(model.average().eigenvalue, counts))
    # entries of a sample covariance: variance below 3 (ρ_a ρ_b) for these inputs
    scale = np.sqrt(np.outer(np.diag(mean), np.diag(mean)) + 0.1)
    assert np.max(np.abs(x.T @ x / len(x) - mean) / scale) < 5.0 * math.sqrt(3.0 / 40000)


def test_a_site_is_as_far_from_gaussian_as_its_samples() -> None:
    rng = np.random.default_rng(2)
    for inputs in (
        sd.NLGP(gain=2.0, lengths=1.0, sites=8),
        sd.SinglePulse(lengths=(2, 2), sites=12, complement=False),
    ):
        fourth = inputs.sample(1, (40000,), rng) ** 4
        error = 5.0 * np.std(fourth) / np.sqrt(fourth.size / 4)
        assert inputs.excess_kurtosis() + 3.0 == pytest.approx(np.mean(fourth), abs=error)
    assert sd.NLGP(gain=1e-3, lengths=1.0).excess_kurtosis() == pytest.approx(0.0, abs=1e-5)
    assert sd.NLGP(gain=1e6, lengths=1.0).excess_kurtosis() == pytest.approx(-2.0, abs=1e-3)


def test_a_study_says_that_its_equations_are_those_of_gaussian_inputs() -> None:
    text = _STUDY.format(model="nlgp", keys="gain = inf\nlengths = [2, 1]", teacher="random")
    study = parse_study(text)
    assert "excess kurtosis -2" in study.data_model.remarks[0]
    # waves come in pairs: too few for the limit of large N
    assert "an eigenvalue has only 1 of 40" in study.data_model.warnings()[0]
    problem = sd.Problem.from_toml(problem_text := sd.Problem.from_toml(text).to_toml())
    assert "gain = inf" in problem_text
    assert problem.inputs == sd.NLGP(gain=math.inf, lengths=[2, 1])


@pytest.mark.parametrize(
    ("model", "keys", "argument"),
    [
        ("nlgp", "gain = 0.0\nlengths = 2", "data.gain"),
        ("nlgp", "gain = 1.0\nlengths = 30", "data.lengths"),
        ("nlgp", "gain = 1.0\nlengths = [2, 1]\nsites = 3\n", "initial.teacher"),
        ("nlgp", "gain = 1.0\nlengths = 2\ncomplement = true", "data.complement"),
        ("single-pulse", "lengths = [50, 2]", "data.lengths"),
        ("single-pulse", "lengths = 2", "data.lengths"),
        ("single-pulse", "lengths = [2.5, 2]", "data.lengths"),
        ("single-pulse", "lengths = [[2, 3, 4], 2]", "data.lengths"),
        ("nlgp", 'gain = 1.0\nlengths = ["a", 2]', "data.lengths"),
    ],
)
def test_a_ring_that_is_none_is_refused(model: str, keys: str, argument: str) -> None:
    text = _STUDY.format(model=model, keys=keys, teacher="orthogonal")
    text = text.replace("teachers = 2", "teachers = 4")
    with pytest.raises(sd.InputError) as raised:
        parse_study(text)
    assert raised.value.argument == argument
