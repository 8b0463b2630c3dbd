"""examples/digits_generator.py: its files belong together, its gradients are gradients."""

from typing import Any

import numpy as np
import pytest
from support.examples import importing

from symderiv.inputs import estimate_generator


@pytest.fixture(scope="module")
def example() -> Any:
    with importing() as load:
        yield load("digits_generator")


def test_the_statistics_are_those_of_the_weights(example: Any) -> None:
    """Other samples, in units of both standard errors."""
    decoder, scale = example.Decoder.load(), example.pixel_scale()
    found = estimate_generator(lambda c: scale * decoder(c), example.LATENT, samples=20_000, seed=5)
    with np.load(example.STATISTICS) as file:
        for name, values, error in (
            ("omega", found.omega, found.omega_error),
            ("phi", found.phi, found.phi_error),
            ("mean_x", found.mean_x, found.mean_error),
        ):
            stated = file[name.replace("_x", "") + "_error"].astype(np.float64)
            # pixels that are always black fluctuate by rounding only
            both = np.hypot(error, stated) + 1e-9
            score = (values - file[name]) / both
            assert np.abs(score).max() < 6.0, name
            assert np.sqrt(np.mean(score**2)) < 1.5, name
        assert np.trace(file["omega"]) == pytest.approx(64.0, rel=0.01)


def test_the_training_follows_the_gradient(example: Any) -> None:
    random = np.random.default_rng(0)
    parameters = [random.standard_normal(shape) for shape in ((10, 7), (7,), (7, 64), (64,))]
    c, pixels = random.standard_normal((5, 10)), random.random((5, 64))

    def loss() -> float:
        return float(0.5 * np.sum((example.Decoder(*parameters)(c) - pixels) ** 2) / len(c))

    found = example.gradients(example.Decoder(*parameters), c, pixels)
    for parameter, gradient in zip(parameters, found, strict=True):
        flat, index = parameter.reshape(-1), parameter.size // 2
        step = 1e-5
        flat[index] += step
        above = loss()
        flat[index] -= 2 * step
        slope = (above - loss()) / (2 * step)
        flat[index] += step
        assert gradient.reshape(-1)[index] == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_measured_errors_are_those_of_the_equations_for_gaussian_inputs(example: Any) -> None:
    from symderiv.integrate.rules.solving import solve
    from symderiv.problem.initial import initial
    from symderiv.problem.study import parse_study

    text = example.STUDY.read_text().replace(
        "values = [0, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]", "values = [0, 20]"
    )
    study = parse_study(text, example.STUDY.parent)
    start = initial(study)
    vectors = start.vectors
    errors = example.measured(
        vectors.student,
        vectors.teacher,
        start.state.student_weights,
        vectors.latent.sampler,  # type: ignore[union-attr]
        study.training.learning_rate,
        64 * 20,
        8,
    )
    exact = solve(study, start=start).generalization_error[-1]
    # the inputs tested on are shared by the runs: half the mean of 2e5 squares, within 4 errors
    spread = np.hypot(errors.std(ddof=1) / np.sqrt(8), exact * np.sqrt(2.0 / 200_000))
    assert errors.mean() == pytest.approx(exact, abs=4.0 * spread + 0.5 / 64 * exact)
