"""Sweeps and maps of systems: the store, the points and the resuming of sweeps of studies."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.system import statements

import symderiv as sd
from symderiv.foundation.errors import InputError
from symderiv.sweeps import system_grid
from symderiv.sweeps.box_results import compute
from symderiv.sweeps.run_grid import layout_of
from symderiv.system import system_ensembles

TIMES = {"alpha": [0.0, 1.0, 5.0]}
START: dict[str, Any] = {**statements.gram({"w": 2, "B": 1}, 2), "v": [0.4, 1.0]}


@pytest.fixture(scope="module")
def committee() -> sd.System:
    P = sd.System()
    x, eta = P.inputs("x"), P.parameter("eta", 0.7)
    w, B, v = P.vectors("w", 2), P.vectors("B", 1, fixed=True), P.scalars("v", 2)
    loss = ((v * (w @ x)).sum() - (B @ x).sum()) ** 2 / 2
    P.descend(loss, {w: eta, v: 0.4})
    P.observe(error=loss)
    return P


@pytest.mark.turns(2)
def test_a_store_holds_single_runs_and_the_statement(committee: Any, tmp_path: Path) -> None:
    over = {"eta": [0.1, 0.8], "initial.v": [[0.4, 1.0], [1.0, 1.0]]}
    sweep = committee.sweep(over, initial=START, output=tmp_path / "s.zarr", **TIMES)
    assert (sweep.completed, sweep.skipped) == (4, 0)
    data = sweep.to_xarray()
    assert data["w.B"].dims == ("eta", "initial.v", "alpha", "w_unit", "B_unit")
    start = START | {"v": [1.0, 1.0]}
    run = committee.solve(initial=start, eta=0.8, **TIMES)
    for name in ("w.w", "w.B", "v", "error"):
        np.testing.assert_allclose(data[name].values[1, 1], run[name], rtol=1e-8, atol=1e-12)
    kept = json.loads(data.attrs["study"])
    file = tmp_path / "kept.json"
    file.write_text(json.dumps(kept["system"]))
    again = sd.open(file).solve(initial=start, eta=0.8, **TIMES)
    np.testing.assert_array_equal(again["w.w"], run["w.w"])


def test_a_point_is_computed_once_also_when_a_sweep_is_widened(
    committee: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = []
    integrate = system_grid.integrate_points

    def watched(points: Any, *others: Any) -> Any:
        counted.append(len(points))
        return integrate(points, *others)

    monkeypatch.setattr(system_grid, "integrate_points", watched)
    given = {"initial": START, "output": tmp_path / "s.zarr", **TIMES}
    committee.sweep({"eta": [0.1, 0.7]}, **given)
    assert committee.sweep({"eta": [0.7, 0.1]}, **given).skipped == 2
    # the value that the start has along the new key is known
    wider = committee.sweep({"eta": [0.3], "initial.v": [[0.4, 1.0], [1.0, 1.0]]}, **given)
    assert (wider.skipped, wider.points, sum(counted)) == (2, 6, 6)
    whole = committee.sweep(wider.keys, **{**given, "output": tmp_path / "whole.zarr"})
    np.testing.assert_array_equal(whole["w.w"].values, wider["w.w"].values)


def test_a_store_of_another_statement_is_refused(committee: Any, tmp_path: Path) -> None:
    given = {"initial": START, "output": tmp_path / "s.zarr", **TIMES}
    committee.sweep({"eta": [0.1]}, **given)
    other = statements.student_teacher("linear", K=2, M=1)
    with pytest.raises(InputError, match=r"the output holds a sweep with system\.statement = "):
        other.sweep({"eta": [0.1]}, **given)
    with pytest.raises(InputError, match=r"a sweep with initial\.v = \[0\.4, 1\.0\], not"):
        committee.sweep({"eta": [0.1]}, **{**given, "initial": START | {"v": [0.4, 2.0]}})
    assert other.sweep({"eta": [0.1]}, force=True, **given).skipped == 0


def test_a_part_of_the_grid_travels_as_its_statement(committee: Any) -> None:
    wanted = system_ensembles.Wanted(np.array([0.0, 1.0]))
    swept = system_grid.SweptSystem(committee, START, {}, wanted)
    grid = swept.grid({"eta": [0.1, 0.5, 0.9]}, lambda task, fraction: None)
    layout = layout_of(grid)
    here = compute(grid, layout, np.array([1, 2]))
    system_grid._swept.cache_clear()
    part = pickle.loads(pickle.dumps(grid.part((slice(1, 3),))))
    there = compute(part, layout.sizes_only(), np.arange(2), threads=1)
    for name in ("w.w", "error", "point_hash", "status"):
        np.testing.assert_array_equal(there.arrays[name], here.arrays[name])


def test_what_cannot_be_swept_is_refused_before_anything_is_computed(
    committee: Any, tmp_path: Path
) -> None:
    given = {"initial": START, "output": tmp_path / "s.zarr", **TIMES}
    with pytest.raises(
        InputError, match=r"rate: is not a name that can vary; choose one of eta, initial"
    ):
        committee.sweep({"rate": [0.1]}, **given)
    with pytest.raises(InputError, match="names a value twice"):
        committee.sweep({"eta": [0.1, 0.1]}, **given)
    with pytest.raises(InputError, match=r"has the shape|reshape|broadcast"):
        committee.sweep({"initial.w.w": [[1.0, 2.0, 3.0]]}, **given)
    assert not (tmp_path / "s.zarr").exists()


def test_a_map_is_solved_where_it_changes(committee: Any) -> None:
    found = committee.map(
        lambda alpha, error: "less" if error[-1] < 0.03 else "more",
        kinds=True,
        over={"eta": (0.1, 2.0), "initial.v": (0.2, 1.0)},
        initial=START,
        resolution=8,
        coarse=2,
        **TIMES,
    )
    assert set(found.kinds) == {"less", "more"}
    assert found.runs < found.full_grid
    values = found.to_xarray()
    run = committee.solve(initial=START | {"v": [0.2, 0.2]}, eta=2.0, **TIMES)
    corner = str(values["<lambda>"].values[-1, 0])
    assert corner == ("less" if run["error"][-1] < 0.03 else "more")
    with pytest.raises(InputError, match="'loss' is not one of error"):
        committee.map("status", over={}, initial=START, observable="loss", **TIMES)


def test_equal_runs_have_equal_hashes_and_others_have_not(committee: Any) -> None:
    def hashes(over: Any, **wanted: Any) -> list[str]:
        times = system_ensembles.Wanted(np.array([0.0, 1.0]), **wanted)
        swept = system_grid.SweptSystem(committee, START, {}, times)
        grid = swept.grid(over, lambda task, fraction: None)
        found: list[str] = grid.hashes(np.arange(len(grid))).tolist()
        return found

    one = hashes({"eta": [0.1, 1]})
    # the value of a key that is not swept over is that of the start, and 1 is 1.0
    both = hashes({"initial.v": [[0.4, 1.0], [0.5, 1.0]], "eta": [1.0, 0.1]})
    assert one == [both[1], both[0]]
    assert len(set(both)) == 4
    assert set(one).isdisjoint(hashes({"eta": [0.1, 1]}, relative_tolerance=1e-6))
