"""Many runs, maps and forgetting draw into given axes, and save what the ending says."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from support.examples import importing

import symderiv as sd
from symderiv.foundation.errors import RunWarning
from symderiv.show.plots.analysis_plots.run_plots import fit_axes
from symderiv.show.plots.axes import cell_edges, draw_cells
from symderiv.show.plots.features import Curve, StudyCase
from symderiv.show.plots.plots import error_figure, exponent_figure, overlap_figure

PROBLEM = sd.Problem("linear", students=1, teachers=1, inputs=sd.Isotropic(100))
TASKS = [{"until": 2, "teachers": [0]}, {"until": 4, "teachers": [1]}]


@pytest.fixture(scope="module")
def runs() -> xarray.Dataset:
    # rates are neither in order nor evenly spread
    return PROBLEM.ensemble(learning_rate=[1.0, 0.1, 0.5], seed=[0, 1], end=20, points=30)


@pytest.fixture(scope="module")
def results(runs: xarray.Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("kept")
    timed = PROBLEM.replace(time={"end": 20.0, "points": 30})
    tasks = PROBLEM.replace(teachers=2, tasks=TASKS)
    over = {"learning_rate": (0.1, 1.8, "log"), "student_std": (0.01, 1.0)}
    return {
        "run": PROBLEM.solve(alpha=[0, 1, 5, 20]),
        "simulation": PROBLEM.simulate(alpha=[0, 1, 5, 20], runs=3),
        "ensemble": runs.symderiv,
        "sweep": timed.sweep({"learning_rate": [0.5, 0.1]}, output=folder / "s.zarr"),
        "map": timed.map("final_error", over=over, resolution=4, coarse=2),
        "forgetting": tasks.solve(alpha=[0, 1, 2, 3, 4]).forgetting(),
    }


DRAWN = ("ensemble", "sweep", "map", "forgetting")
KINDS = ("run", "simulation", *DRAWN)


def axes(count: int = 1, layout: Any = None) -> Any:
    figure = Figure(layout=layout)
    FigureCanvasAgg(figure)
    return figure.subplots(1, count)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_result_is_replaced_only_by_force(
    kind: str, results: dict[str, Any], tmp_path: Path
) -> None:
    own = results[kind]
    other = results[KINDS[KINDS.index(kind) - 1]]
    path = tmp_path / "r.nc"
    own.save(path)
    own.save(path)
    with pytest.raises(sd.InputError, match="holds another run"):
        other.save(path)
    other.save(path, force=True)
    assert data(sd.open(path)).equals(other.to_xarray().load())
    with pytest.raises(sd.InputError, match=r"must end in \.nc"):
        own.save(tmp_path / "r.txt")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.nc"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_zarr_group_is_opened_as_it_was(
    kind: str, results: dict[str, Any], tmp_path: Path
) -> None:
    results[kind].save(tmp_path / "r.zarr")
    assert data(sd.open(tmp_path / "r.zarr")).equals(results[kind].to_xarray().load())
    with pytest.raises(sd.InputError, match="exists"):
        results[kind].save(tmp_path / "r.zarr")
    results[kind].save(tmp_path / "r.zarr", force=True)
    results[kind].save(tmp_path / "r.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv", "r.zarr"]


def data(kept: Any) -> Any:
    """A dataset as ensembles, sweeps and maps are opened, or that of a run."""
    return kept if hasattr(kept, "equals") else kept.to_xarray().load()


def test_other_values_are_another_run_and_another_end_is_not(
    runs: xarray.Dataset, results: dict[str, Any], tmp_path: Path
) -> None:
    others = {
        "e.nc": (runs.symderiv, runs.isel(seed=[1]).symderiv),
        "r.nc": (results["run"], PROBLEM.replace(learning_rate=0.4).solve(end=1)),
    }
    for name, (own, other) in others.items():
        own.save(tmp_path / name)
        before = (tmp_path / name).read_bytes()
        with pytest.raises(sd.InputError, match="holds another run"):
            other.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    PROBLEM.solve(end=2).save(tmp_path / "r.nc")


def test_rows_of_a_table_are_runs_and_times(runs: xarray.Dataset, tmp_path: Path) -> None:
    text = runs.symderiv.to_csv(tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text() == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 3 * 2 * 30
    row = next(
        each
        for each in rows
        if (each["learning_rate"], each["seed"]) == ("0.1", "1") and float(each["alpha"]) > 1
    )
    at = {"learning_rate": 0.1, "seed": 1, "alpha": float(row["alpha"])}
    here = runs.sel(at)
    assert float(row["R[1,1]"]) == here["R"].values[0, 0]
    assert float(row["T[1,1]"]) == here["T"].values[0, 0]
    assert row["status"] == "done"


def test_curves_go_into_given_axes_with_the_names_given(runs: xarray.Dataset) -> None:
    given = axes(2)
    assert runs.symderiv.plot("R[1,1]", ax=given, label=["slow", "middle", "fast"]) is given
    lines = given[1].lines
    expected = runs["R"].sel(seed=1).isel(student=0, teacher=0).sortby("learning_rate")
    for line, one in zip(lines, expected, strict=True):
        assert np.array_equal(line.get_ydata(), one.values[runs.alpha.values > 0])
    legend = [text.get_text() for text in given[1].get_legend().get_texts()]
    assert legend == ["slow", "middle", "fast"]
    with pytest.raises(sd.InputError, match="1 given, and seed needs 2"):
        runs.symderiv.plot(ax=given[0])
    with pytest.raises(sd.InputError, match="has no place in Q"):
        runs.symderiv.plot("Q[2,1]")


def test_an_ensemble_draws_itself_also_after_a_selection(runs: xarray.Dataset) -> None:
    given = axes()
    assert runs.sel(seed=0).plot("R[1,1]", ax=given) is given
    assert len(given.lines) == runs.sizes["learning_rate"]
    assert type(runs["Q"].plot) is type(xarray.DataArray(0).plot)
    with pytest.raises(sd.InputError, match="'Z' is not one of"):
        runs.plot("Z")
    assert callable(runs.plot.scatter)


def test_numbers_of_runs_are_features_of_each(runs: xarray.Dataset) -> None:
    found = runs.symderiv.features()
    run = PROBLEM.replace(learning_rate=0.5, seed=1).solve(alpha=runs.alpha.values)
    for name, value in run.features.to_dict().items():
        of_ensemble = float(found[name].sel(learning_rate=0.5, seed=1))
        assert of_ensemble == pytest.approx(value, rel=1e-6, nan_ok=True), name


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("quantity", ["generalization_error", "status"])
def test_a_legend_is_inside_the_figure_and_over_no_axes(
    runs: xarray.Dataset, quantity: str, layout: Any
) -> None:
    given = axes(2, layout)
    data = runs if quantity == "generalization_error" else runs.expand_dims(x=[0, 1])
    data.symderiv.plot(quantity, ax=given)
    apart(given[0].figure)


@pytest.mark.parametrize("kind", DRAWN)
def test_legends_of_figures_are_over_no_axes(kind: str, results: dict[str, Any]) -> None:
    drawn = results[kind].plot()
    figure = drawn if isinstance(drawn, Figure) else drawn.figure
    FigureCanvasAgg(figure)
    apart(figure)


def apart(figure: Figure) -> None:
    """No legend covers axes or leaves the figure."""
    figure.draw_without_rendering()
    legends = [*figure.legends, *(a.get_legend() for a in figure.axes if a.get_legend())]
    for legend in legends:
        box = legend.get_window_extent()
        assert -1 <= box.x0 < box.x1 <= figure.bbox.x1 + 1, (box, figure.bbox)
        for each in figure.axes:
            inner = each.get_window_extent()
            width = min(box.x1, inner.x1) - max(box.x0, inner.x0)
            height = min(box.y1, inner.y1) - max(box.y0, inner.y0)
            assert min(width, height) <= 1.0, (box, inner)


def test_cells_of_a_map_are_around_their_places() -> None:
    drawn = axes()
    drawn.set(xscale="log")
    x, y = np.array([1.0, 0.01, 100.0, 0.01]), np.array([3.0])
    values = np.array([[10.0, 20.0, 30.0, 40.0]])
    mesh = draw_cells(drawn, x, y, values)
    corners = np.asarray(mesh.get_coordinates())
    assert corners[0, :, 0] == pytest.approx([1e-3, 0.1, 10.0, 1e3])
    assert np.asarray(mesh.get_array()).ravel().tolist() == [20.0, 10.0, 30.0]
    assert corners[0, 0, 1] < 3.0 < corners[1, 0, 1]
    assert cell_edges(np.array([0.0, 1.0, 5.0]), "linear").tolist() == [-0.5, 0.5, 3.0, 7.0]


def test_bars_of_tasks_are_their_numbers(results: dict[str, Any]) -> None:
    found = results["forgetting"]
    drawn = found.plot("forgetting", "transfer", label="lost", ax=axes())
    heights = [[bar.get_height() for bar in group] for group in drawn.containers]
    assert heights == [found.forgetting.tolist(), found.transfer.tolist()]
    assert drawn.get_legend().get_texts()[0].get_text() == "lost"
    with pytest.raises(sd.InputError, match="is not one of untaught"):
        found.plot("forgeting")


def test_other_datasets_have_no_pictures_of_runs() -> None:
    with pytest.raises(sd.InputError, match="has no status and alpha"):
        _ = xarray.Dataset({"x": 1}).symderiv


def test_runs_that_diverge_say_so_aloud(tmp_path: Path) -> None:
    rates = [0.5, 2.5]
    with pytest.warns(RunWarning, match="1 of 2 runs did not reach their end") as told:
        runs = PROBLEM.ensemble(learning_rate=rates, end=2000, points=5)
    assert Path(told[0].filename) == Path(__file__)
    assert runs.symderiv.failure() == str(told[0].message)
    timed = PROBLEM.replace(time={"end": 2000.0, "points": 5})
    with pytest.warns(RunWarning, match="1 of 2 points did not reach their end") as told:
        timed.sweep({"learning_rate": rates}, output=tmp_path / "s.zarr")
    assert Path(told[0].filename) == Path(__file__)


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("draw", [overlap_figure, error_figure, exponent_figure])
def test_legends_of_reports_are_over_no_axes(draw: Any, count: int) -> None:
    alpha = np.geomspace(0.01, 100, 50)
    growing = np.ones((50, 3, 3)) * alpha[:, None, None]
    curve = Curve(alpha, np.exp(-alpha) + 0.01, growing, growing, np.eye(3), v=growing[:, 0])
    apart(draw([StudyCase(f"η = {n}", {}, curve) for n in range(count)]))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_legends_of_panels_are_below_their_axes(count: int) -> None:
    with importing("worschech-rosenow") as load:
        panels_of = load("figure_panels")
    x = np.geomspace(0.01, 100, 20)
    lines = [panels_of.Line(x, np.exp(-x / n), rf"$\eta = 0.{n}$, as printed") for n in range(1, 6)]
    panels = [
        panels_of.Panel(lines[: n + 2], xscale="log", names=[("--", "limit")]) for n in range(count)
    ]
    figure = panels_of.panel_figure(panels)
    apart(figure)
    for each in figure.axes:
        if each.get_legend() is not None:
            label = each.xaxis.label.get_window_extent()
            assert each.get_legend().get_window_extent().y1 <= label.y0 + 1.0


def test_the_legend_of_a_fit_is_beside_its_axes() -> None:
    curve = {"alpha": [1.0, 2.0], "data": [0.5, 0.2], "fit": [0.5, 0.2]}
    drawn = fit_axes({"generalization_error": curve, "Q[1,1]": curve})
    FigureCanvasAgg(drawn.figure)
    apart(drawn.figure)


def test_error_bars_reach_below_zero_where_the_axis_does() -> None:
    """Overlaps with the teacher grow from zero, and are smaller than their standard errors."""
    sgd = PROBLEM.replace(student_std=0.0, label_noise=5.0).simulate(alpha=[0.01, 0.02], runs=3)
    drawn = sgd.plot("R", ax=axes())
    assert drawn.get_yscale() == "linear"
    (bars,) = drawn.collections
    middle, error = (sgd.arrays()[name].ravel() for name in ("R", "R_standard_error"))
    assert np.any(error > abs(middle))
    for segment, m, e in zip(bars.get_segments(), middle, error, strict=True):
        np.testing.assert_allclose(segment[:, 1], [m - e, m + e], rtol=1e-12)


@pytest.mark.parametrize("alpha", [[0.0], [0.0, 2.0]])
def test_one_point_is_drawn_as_a_point(alpha: list[float]) -> None:
    run = PROBLEM.solve(alpha=alpha)
    (line,) = run.plot(ax=axes()).lines
    assert line.get_marker() == "o"
    np.testing.assert_array_equal(line.get_xydata(), [[alpha[-1], run.generalization_error[-1]]])
