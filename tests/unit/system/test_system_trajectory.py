"""Runs of systems as files, figures and pages."""

import csv
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.foundation.errors import InputError, RunWarning

# SGD, compilation and quadrature: a part of them a day
pytestmark = pytest.mark.turns(16)

START = {"w.w": [[0.5, 0.1], [0.1, 0.4]], "w.B": [0.3, 0.1], "B.B": 1.0, "v": [1.0, 0.5]}
TIMES = [0.0, 0.5, 1.0, 3.0]


@pytest.fixture(scope="module")
def committee() -> sd.System:
    P = sd.System()
    x, eta = P.inputs("x"), P.parameter("eta", 0.5)
    w, B, v = P.vectors("w", 2), P.vectors("B", fixed=True), P.scalars("v", 2)
    loss = ((v * (w @ x)).sum() - B @ x) ** 2 / 2
    P.descend(loss, {w: eta, v: eta})
    P.observe(error=loss)
    return P


@pytest.fixture(scope="module")
def run(committee: sd.System) -> Any:
    return committee.solve(alpha=TIMES, initial=START, eta=0.3)


def test_a_run_is_read_back_from_its_file(run: Any, tmp_path: Path) -> None:
    saved = run.save(tmp_path / "run.nc")
    again = sd.open(saved.output)
    assert list(again.values) == list(run.values)
    for name, value in run.values.items():
        np.testing.assert_array_equal(again[name], value)
    assert (again.cause, again.steps, again.error) == (run.cause, run.steps, run.error)
    assert (again.parameters, again.dimensions) == ({"eta": 0.3}, run.dimensions)
    further = again.system.solve(alpha=TIMES, initial=START, eta=0.3)
    np.testing.assert_array_equal(further["w.w"], run["w.w"])


def test_a_run_is_a_table_with_a_column_per_entry(run: Any, tmp_path: Path) -> None:
    saved = run.save(tmp_path / "run.csv")
    rows = list(csv.reader(Path(saved.output).read_text().splitlines()))
    heads, last = rows[0], [float(cell) for cell in rows[-1]]
    assert heads[:3] == ["alpha", "w.w[1,1]", "w.w[1,2]"]
    assert last[0] == 3.0
    assert last[heads.index("w.B[2]")] == run["w.B"][-1, 1]
    assert last[heads.index("error")] == run["error"][-1]
    with pytest.raises(InputError, match=r"must end in \.nc, \.csv or \.zarr"):
        run.save(tmp_path / "run.txt")
    with pytest.raises(InputError, match="exists"):
        run.save(tmp_path / "run.csv")


def test_a_dataset_has_named_dimensions_and_the_statement(run: Any) -> None:
    data = run.to_xarray()
    assert data["w.w"].dims == ("alpha", "w_unit", "w_unit_2")
    assert data["w.B"].dims == ("alpha", "w_unit")
    assert json.loads(data.attrs["statement"])["format"] == "symderiv-system"
    np.testing.assert_array_equal(data["v"].sel(v_unit=2), run["v"][:, 1])


def test_figures_draw_the_numbers_of_runs_and_simulations(committee: Any, run: Any) -> None:
    sgd = committee.simulate(100, runs=3, alpha=TIMES, initial=START, eta=0.3)
    other = committee.solve(alpha=TIMES, initial=START, eta=0.6)
    axes = run.plot(other, sgd)
    lines = [line for line in axes.lines if line.get_linestyle() in ("-", "--")]
    np.testing.assert_array_equal(lines[0].get_ydata(), run["error"][1:])
    np.testing.assert_array_equal(lines[1].get_ydata(), other["error"][1:])
    points = axes.containers[0].lines[0]
    np.testing.assert_allclose(points.get_ydata(), sgd.mean["error"][1:])
    whole = run.plot(names=["w.w"])
    assert [text.get_text() for text in whole.get_legend().get_texts()][1] == "w.w[1,2]"
    assert len(run.plot("w.w", "error").lines) == 4  # the entry w.w[2,1] is w.w[1,2]
    with pytest.raises(InputError, match="is neither the name of a quantity nor a result"):
        run.plot(3)


def test_the_page_has_figures_numbers_derivation_and_statement(
    committee: Any, tmp_path: Path
) -> None:
    given = {"initial": START, "alpha": TIMES, "dimension": 100, "runs": 3, "eta": 0.3}
    path = committee.report(tmp_path / "run.html", **given)
    page = path.read_text()
    # the error, w.w, w.B and v move; B.B does not
    assert page.count("<figure>") == 4
    assert "Equations and SGD at α = 3, N = 100" in page
    deviations = re.findall(r"<td>error</td><td>[^<]*</td><td>[^<]*</td><td>([^<]*)</td>", page)
    assert len(deviations) == 1
    assert abs(float(deviations[0].replace("−", "-"))) < 8
    assert "What is stated" in page
    assert "&quot;symderiv-system&quot;" in page
    assert "<script" not in page
    other = committee.simulate(100, runs=2, alpha=[2.0], initial=START)
    run = committee.solve(alpha=TIMES, initial=START)
    with pytest.raises(InputError, match="no time in common"):
        run.report(tmp_path / "other.html", simulation=other)


def test_a_run_that_diverges_warns_where_it_was_asked_for() -> None:
    P = sd.System()
    x, eta = P.inputs("x"), P.parameter("eta", 9.0)
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    P.descend((w @ x - B @ x) ** 2 / 2, {w: eta})
    start = {"w.w": 1.0, "w.B": 0.5, "B.B": 1.0}
    with pytest.warns(RunWarning, match="ended early at alpha = .*; what was computed") as told:
        run = P.solve(100, initial=start)
    assert run.failure() == str(told[0].message)
    with pytest.warns(RunWarning, match="a run diverged") as of_sgd:
        P.simulate(50, end=100, initial=start, runs=1)
    with pytest.warns(RunWarning, match="1 of 2 runs did not reach their end") as of_many:
        P.ensemble(eta=[0.1, 9.0], end=100, initial=start)
    assert {each.filename for each in (*told, *of_sgd, *of_many)} == {__file__}


def test_numbers_travel_to_other_processes(run: Any) -> None:
    there = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(there["w.w"], run["w.w"])
    assert there.system is None
    assert run.system is not None


def test_an_unknown_name_is_refused_with_those_that_there_are():
    """Rates and simulations raised KeyError, also where they were asked whether they have one."""
    system = sd.System()
    x, w, B = system.inputs("x"), system.vectors("w"), system.vectors("B", fixed=True)
    gap = w @ x - B @ x
    system.descend(gap**2 / 2, {w: 0.5})
    system.observe(error=gap**2 / 2)
    start = {"w.w": 1.0, "w.B": 0.1, "B.B": 1.0}
    results = {
        "rates": system.rates(start),
        "run": system.solve(alpha=[0, 1], initial=start),
        "simulation": system.simulate(dimension=50, runs=2, alpha=[0, 1], initial=start, seed=0),
    }
    for word, result in results.items():
        assert "w.B" in result
        assert "w.C" not in result
        assert "w.B" in list(result)
        with pytest.raises(sd.InputError, match=rf"'w.C' is not in the {word}; there are .*w.B"):
            result["w.C"]
    with pytest.raises(sd.InputError) as refusal:
        system.rates({"z.z": 1.0})
    assert str(refusal.value).count("w.B") <= 1
