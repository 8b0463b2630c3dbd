"""Results with curves draw quantities by name, write tables, and keep files of other runs."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import symderiv as sd

PROBLEM = sd.Problem("erf", students=2, teachers=3, seed=1, inputs=sd.Isotropic(60))


@pytest.fixture(scope="module")
def run() -> Any:
    return PROBLEM.solve(alpha=[0, 1, 5, 20])


@pytest.fixture(scope="module")
def sgd() -> Any:
    return PROBLEM.simulate(alpha=[0, 1, 5, 20], runs=3)


def test_every_entry_of_a_quantity_is_a_curve(run: Any) -> None:
    axes = Figure(layout="constrained").subplots()
    assert run.plot("R", ax=axes) is axes
    drawn = [line.get_ydata() for line in axes.lines]
    expected = [run.R[1:, i, n] for i in range(2) for n in range(3)]
    np.testing.assert_array_equal(drawn, expected)
    assert axes.get_legend().get_texts()[4].get_text() == "$R_{22}$"
    # what the symmetry of Q repeats is drawn once, and if it is asked for
    assert len(run.plot("Q", ax=Figure().subplots()).lines) == 3
    one = run.plot("Q[2,1]", ax=Figure().subplots())
    np.testing.assert_array_equal(one.lines[0].get_ydata(), run.Q[1:, 1, 0])


def test_points_have_the_standard_errors_of_the_runs(run: Any, sgd: Any) -> None:
    axes = run.plot("R[1,2]", sgd, ax=Figure().subplots(), label=["theory", "SGD"])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["theory", "SGD"]
    bars = axes.containers[0].lines[2][0].get_segments()
    values = sgd.R[:, 1:, 0, 1]
    error = values.std(axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose([bar[1, 1] - bar[0, 1] for bar in bars], 2 * error)


@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_a_legend_covers_no_curve(run: Any, ratio: float) -> None:
    figure = Figure(figsize=(2.5 * ratio, 3.0), layout="constrained")
    axes = run.plot("R", ax=figure.subplots())
    figure.canvas.draw()
    covered = axes.get_legend().get_window_extent()
    assert not covered.overlaps(axes.get_window_extent())


def test_names_that_are_none_are_answered(run: Any) -> None:
    with pytest.raises(sd.InputError, match=r"did you mean generalization_error\?$"):
        run.plot("generalisation_error")
    with pytest.raises(sd.InputError, match=r"'R\[3,1\]' has no place in R of shape \(2, 3\)"):
        run.plot("R[3,1]")


def test_a_table_has_the_numbers_of_the_arrays(run: Any, sgd: Any, tmp_path: Path) -> None:
    assert run.to_csv(tmp_path / "run.csv") == (tmp_path / "run.csv").read_text()
    with open(tmp_path / "run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["alpha"]) for row in rows] == run.alpha.tolist()
    assert [float(row["R[2,3]"]) for row in rows] == run.R[:, 1, 2].tolist()
    heads = sgd.to_csv().partition("\n")[0]
    assert '"Q_standard_error[1,2]"' in heads
    with pytest.raises(sd.InputError, match="exists"):
        run.to_csv(tmp_path / "run.csv")


def test_features_are_those_of_a_known_curve() -> None:
    """A linear unit learns as ε_g = c exp(−2ηα) at small rates: no plateau, rate 2η."""
    law = sd.Problem(
        "linear", students=1, teachers=1, learning_rate=0.2, order="small-learning-rate"
    )
    run = law.solve(end=20)
    found = run.features
    assert not found.exists
    assert found.length == 0.0
    # the begin of the last fifth lies between two times
    assert found.rate == pytest.approx(0.4, rel=1e-3)
    # the local exponent of it is 2ηα
    inner = slice(60, -1)
    np.testing.assert_allclose(found.local_exponent[inner], 0.4 * found.alpha[inner], rtol=0.01)
    assert found.to_dict()["final_error"] == run.generalization_error[-1]


def test_a_sweep_has_the_features_of_its_runs(tmp_path: Path) -> None:
    problem = sd.Problem("erf", students=2, teachers=2, time={"end": 300})
    sweep = problem.sweep({"learning_rate": [0.5, 1.0], "seed": [0, 1]}, output=tmp_path / "s.zarr")
    lengths = sweep["plateau_length"]
    assert lengths.dims == ("learning_rate", "seed")
    one = problem.replace(learning_rate=1.0, seed=1).solve().features
    assert one.exists
    assert one.ends - one.begins == one.length
    here = sweep.features().sel(learning_rate=1.0, seed=1)
    for name, value in one.to_dict().items():
        assert float(here[name]) == pytest.approx(value, rel=1e-5), name
    figure = sweep.plot()
    figure.canvas.draw()
    legend = figure.legends[0].get_window_extent()
    assert not any(legend.overlaps(axes.get_tightbbox()) for axes in figure.axes)
    below = figure._supxlabel
    assert below is not None
    assert not legend.overlaps(below.get_window_extent())
