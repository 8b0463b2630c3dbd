"""The simulator, on vectors and without: seeds, workers, starts, ways to end, refusals."""

import math

import numpy as np
import pytest

from symderiv.experiment.studies.simulating import simulate
from symderiv.foundation.errors import InputError
from symderiv.problem.initial import initial
from symderiv.problem.study import parse_study

# every form of a step is compiled once: a part of them a day
pytestmark = pytest.mark.turns(6)

# 20, 11 and 4 coordinates for the five vectors, and five without input
TEXT = """
[network]
activation = "erf"
students = 3
teachers = 2
train_second_layer = true
student_weights = [0.3, -0.5, 0.8]
[data]
model = "spectrum"
eigenvalues = [1.7, 0.3, 2.4, 0.0]
weights = [0.5, 0.275, 0.1, 0.125]
dimension = 40
[training]
learning_rate = 0.9
second_layer_learning_rate = 0.6
weight_decay = 0.3
second_layer_weight_decay = 0.2
label_noise = 0.4
[initial]
student_std = 0.5
seed = 8
[time]
values = [0, 0.1, 1, 2.5]
[simulation]
runs = 2
method = "{method}"
"""
STUDY = TEXT.format(method="vectors")
METHODS = pytest.mark.parametrize("method", ["vectors", "gram"])


@METHODS
def test_the_first_report_is_the_initial_state_of_the_integration(method):
    study = parse_study(TEXT.format(method=method))
    result = simulate(study)
    assert result.method == method
    assert result.examples.tolist() == [0, 4, 40, 100]
    assert result.alpha.tolist() == [0, 0.1, 1, 2.5]
    state = initial(study).state
    for run in range(2):
        np.testing.assert_allclose(result.Q[run, 0], state.Q, rtol=1e-13)
        np.testing.assert_allclose(result.R[run, 0], state.R, rtol=1e-12, atol=1e-15)


@METHODS
def test_a_run_depends_on_the_seed_alone(method, monkeypatch):
    text = TEXT.format(method=method)
    study = parse_study(text)
    plain = simulate(study, workers=1)
    assert np.max(np.abs(plain.Q[0, -1] - plain.Q[1, -1])) > 1e-3
    others = [
        simulate(study, workers=2),
        simulate(study, runs=3, workers=3),
        simulate(parse_study(text.replace("[0, 0.1, 1, 2.5]", "[0, 0.1, 0.7, 1, 1.3, 2.5]"))),
    ]
    # numbers are drawn in blocks, which must not show: many small blocks make the same run
    numbers = 40 * 7 if method == "vectors" else 15 * 7
    monkeypatch.setattr("symderiv.experiment.steps.step_chain.BLOCK_NUMBERS", numbers)
    others.append(simulate(study))
    for other in others:
        np.testing.assert_array_equal(other.Q[:2, -1], plain.Q[:, -1])
        np.testing.assert_array_equal(other.v[:2, -1], plain.v[:, -1])
    seeded = simulate(parse_study(text.replace("seed = 8", "seed = 9")))
    assert np.max(np.abs(seeded.Q[:, -1] - plain.Q[:, -1])) > 1e-3


def test_mean_and_standard_error_are_over_the_runs():
    result = simulate(parse_study(STUDY), runs=5)
    np.testing.assert_allclose(result.mean("v"), result.v.mean(axis=0), rtol=1e-15)
    expected = result.v.std(axis=0, ddof=1) / math.sqrt(5)
    np.testing.assert_allclose(result.standard_error("v"), expected, rtol=1e-14)
    single = simulate(parse_study(STUDY), runs=1)
    assert np.all(np.isnan(single.standard_error("generalization_error")))
    assert single.standard_error("Q").shape == (4, 3, 3)


@METHODS
def test_a_run_that_diverges_keeps_what_it_reported(method):
    text = TEXT.format(method=method).replace('"erf"', '"linear"').replace("= 0.9", "= 200.0")
    result = simulate(parse_study(text.replace("[0, 0.1, 1, 2.5]", "[0, 0.1, 50]")))
    assert result.cause == "not-a-number"
    assert not result.succeeded
    assert "diverged at alpha" in result.message
    assert 0.1 < result.alpha_end < 50
    assert result.alpha.tolist() == [0, 0.1]
    assert np.all(np.isfinite(result.Q))


def test_an_interrupt_stops_all_runs_and_keeps_what_they_have():
    seen = []

    def interrupt(made: int, total: int) -> None:
        seen.append((made, total))
        raise KeyboardInterrupt

    text = STUDY.replace("[0, 0.1, 1, 2.5]", "[0, 100000]")
    result = simulate(parse_study(text), progress=interrupt)
    assert result.cause == "interrupted"
    assert result.alpha.tolist() == [0]
    assert seen[0][1] == 2 * 40 * 100000
    assert result.alpha_end < 100000


def test_an_error_in_a_run_is_not_swallowed():
    def broken(*_):
        raise ZeroDivisionError

    class Module:
        student_activation = staticmethod(broken)
        student_activation_derivative = staticmethod(broken)
        teacher_activation = staticmethod(broken)

    class Kernel:
        module = Module
        generalization_error = staticmethod(broken)

    with pytest.raises(ZeroDivisionError):
        simulate(parse_study(STUDY), kernel=Kernel)


def test_what_cannot_be_simulated_is_refused():
    with pytest.raises(InputError, match=r"^simulation\.runs: 0"):
        simulate(parse_study(STUDY), runs=0)
    swept = parse_study(STUDY + '[sweep]\n"training.learning_rate" = [0.1, 0.2]\n')
    with pytest.raises(InputError, match=r"^sweep: "):
        simulate(swept)
    for method in ("vectors", "gram"):
        mean = TEXT.format(method=method).replace("seed = 8", 'draw = "mean"')
        with pytest.raises(InputError, match=r"^data\.dimension: is missing"):
            simulate(parse_study(mean.replace("dimension = 40", "")))
        # five orthogonal vectors do not fit into four coordinates
        with pytest.raises(InputError, match=r"^data\.dimension: an eigenvalue has only 4"):
            simulate(parse_study(mean))


def test_a_mean_start_is_simulated_with_vectors_of_exactly_these_overlaps():
    text = STUDY.replace("seed = 8", 'draw = "mean"').replace("dimension = 40", "dimension = 80")
    result = simulate(parse_study(text), runs=1)
    trace = 0.5 * 1.7 + 0.275 * 0.3 + 0.1 * 2.4
    np.testing.assert_allclose(result.Q[0, 0], 0.25 * trace * np.eye(3), atol=1e-14)
    np.testing.assert_allclose(result.R[0, 0], np.zeros((3, 2)), atol=1e-14)
