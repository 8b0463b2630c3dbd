"""Sweeps survive: what is whole is kept, what is damaged or missing is computed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symderiv.dynamics.studies.study import Study
from symderiv.errors import InputError
from symderiv.library.opening import open_file
from symderiv.sweeps.store_lock import sole_writer
from symderiv.sweeps.sweep import run_sweep
from symderiv.sweeps.sweep_result import Sweep

OVER: dict[str, Any] = {
    "training.learning_rate": [0.1, 0.2, 4.0, 0.3],
    "initial.seed": list(range(5)),
}


def numbers(sweep: Sweep) -> dict[str, np.ndarray]:
    """All that a sweep holds, but the times that it took."""
    data = sweep.to_xarray().drop_vars("wall_seconds").load()
    texts = {name: np.array(data[name].values.tolist()) for name in ("status", "point_hash")}
    return {str(name): data[name].values for name in data.variables} | texts


def assert_same(one: Sweep, other: Sweep) -> None:
    first, second = numbers(one), numbers(other)
    assert first.keys() == second.keys()
    for name, values in first.items():
        assert values.dtype == second[name].dtype, name
        assert values.tobytes() == second[name].tobytes(), name


def test_a_sweep_is_a_dataset_whose_dimensions_are_its_keys(
    study: Study, tmp_path: Path, computed: list[Study]
) -> None:
    sweep = run_sweep(study, OVER, tmp_path / "s.zarr")
    assert (sweep.points, sweep.completed, sweep.failed, sweep.skipped) == (20, 15, 5, 0)
    assert sweep.failure() == "5 of 20 points did not reach their end (5 cone-left)"
    data = sweep.to_xarray()
    assert data["Q"].dims == ("learning_rate", "seed", "alpha", "student", "student_2")
    np.testing.assert_array_equal(data["alpha"], study.alpha)
    error = data["generalization_error"].sel(learning_rate=0.2, seed=3)
    np.testing.assert_array_equal(error, np.exp(-0.2 * study.alpha))
    assert (data["status"].sel(learning_rate=4.0) == "cone-left").all()
    assert data["steps"].dtype == np.int64
    again = open_file(tmp_path / "s.zarr")
    assert isinstance(again, Sweep)
    assert (again.points, again.completed, again.failed) == (20, 15, 5)
    whole = again.to_netcdf(tmp_path / "s.nc")
    import xarray

    with xarray.open_dataset(whole, engine="h5netcdf") as read:
        np.testing.assert_array_equal(read["R"], data["R"])
        assert read["status"].sel(learning_rate=4.0, seed=0) == "cone-left"


def test_a_point_is_computed_once_also_when_a_sweep_is_widened(
    study: Study, tmp_path: Path, computed: list[Study]
) -> None:
    run_sweep(study, OVER, tmp_path / "s.zarr")
    assert len(computed) == 20
    assert run_sweep(study, OVER, tmp_path / "s.zarr").skipped == 20
    assert len(computed) == 20
    wider = {"training.learning_rate": [0.15, 0.2], "initial.seed": list(range(6))}
    sweep = run_sweep(study, wider, tmp_path / "s.zarr")
    assert sweep.skipped == 20
    assert len({one.text for one in computed}) == len(computed) == 5 * 6
    whole = {"training.learning_rate": [0.1, 0.2, 4.0, 0.3, 0.15], "initial.seed": list(range(6))}
    assert_same(sweep, run_sweep(study, whole, tmp_path / "whole.zarr"))
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("count", [7, 40])
def test_whoever_is_killed_goes_on_to_the_same_numbers(
    study: Study,
    tmp_path: Path,
    computed: list[Study],
    interrupting: Callable[[int], None],
    count: int,
) -> None:
    whole = run_sweep(study, OVER, tmp_path / "whole.zarr")
    # the coordinates of a new store are written first
    run_sweep(study, OVER | {"initial.seed": [0]}, tmp_path / "s.zarr")
    interrupting(count)
    with pytest.raises(RuntimeError, match="killed"):
        run_sweep(study, OVER, tmp_path / "s.zarr")
    interrupting(-1)
    # what is not there yet is nothing, not a number of steps or an end
    unfinished = Sweep.at(tmp_path / "s.zarr")
    assert set(unfinished.statuses) <= {"done", "cone-left"}
    before = len(computed)
    sweep = run_sweep(study, OVER, tmp_path / "s.zarr")
    assert_same(sweep, whole)
    assert len(computed) - before + sweep.skipped == 20


def test_damage_is_found_and_computed_again(
    study: Study, tmp_path: Path, computed: list[Study]
) -> None:
    whole = run_sweep(study, OVER, tmp_path / "whole.zarr")
    source = np.random.default_rng(3)
    files = [p for p in (tmp_path / "whole.zarr").rglob("*.*") if p.is_file()]
    parts = sorted(p for p in files if p.parent.name in ("Q", "status", "boxes"))
    for one in source.choice(len(parts), 3, replace=False):
        name = parts[one].relative_to(tmp_path / "whole.zarr")
        shutil.copytree(tmp_path / "whole.zarr", tmp_path / "s.zarr")
        content = bytearray((tmp_path / "s.zarr" / name).read_bytes())
        if source.random() < 0.4 or not content:
            content = content[: len(content) // 2]
        else:
            content[source.integers(len(content))] ^= int(source.integers(1, 256))
        (tmp_path / "s.zarr" / name).write_bytes(content)
        notices: list[str] = []
        before = len(computed)
        sweep = run_sweep(study, OVER, tmp_path / "s.zarr", notice=notices.append)
        assert_same(sweep, whole)
        # a changed byte need not change what is read: a header may have room
        assert len(computed) - before in (0, 5), name
        assert bool(notices) == (len(computed) > before)
        shutil.rmtree(tmp_path / "s.zarr")


def test_points_that_could_not_start_are_tried_again(
    study: Study, tmp_path: Path, computed: list[Study]
) -> None:
    over = {"training.label_noise": [0.0, 6.0, 7.0]}
    for _ in range(2):
        sweep = run_sweep(study, over, tmp_path / "s.zarr")
        assert sweep.statuses == {"done": 1, "failed": 2}
        assert sweep.errors == {
            "label_noise=6.0": "too much noise",
            "label_noise=7.0": "too much noise",
        }
    assert len(computed) == 5


def test_keys_that_change_shapes_are_padded_and_nothing_is_interpolated(
    study: Study, tmp_path: Path, computed: list[Study]
) -> None:
    over = {"network.students": [1, 3], "time.end": [5.0, 20.0], "time.points": [3, 4]}
    data = run_sweep(study, over, tmp_path / "s.zarr").to_xarray()
    assert data["Q"].dims == (*("students", "end", "points", "time_index", "student", "student_2"),)
    assert data["alpha"].dims == ("end", "points", "time_index")
    one = data.sel(students=1, end=20.0, points=3)
    alpha = study.changed({"time.end": 20.0, "time.points": 3}).alpha
    np.testing.assert_array_equal(one["alpha"], [*alpha, np.nan])
    assert np.isfinite(one["Q"].values).sum() == 3
    assert np.isfinite(data.sel(students=3, end=5.0, points=4)["Q"].values).sum() == 4 * 9


def test_another_study_is_not_written_over(
    study: Study, tmp_path: Path, computed: list[Study]
) -> None:
    path = tmp_path / "s.zarr"
    run_sweep(study, OVER, path)
    other = study.changed({"training.label_noise": 0.3})
    with pytest.raises(InputError, match=r"training\.label_noise = 0\.1, not 0\.3.*--force"):
        run_sweep(other, OVER, path)
    assert run_sweep(other, OVER, path, force=True).skipped == 0
    assert run_sweep(other, OVER, path, fresh=True).skipped == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").touch()
    for force in (False, True):
        with pytest.raises(InputError, match="is not the store of a sweep"):
            run_sweep(study, OVER, tmp_path / "mine", force=force)
    assert (tmp_path / "mine" / "precious").exists()


def test_two_do_not_write_one_store(study: Study, tmp_path: Path, computed: list[Study]) -> None:
    # from before it is there
    with (
        sole_writer(tmp_path / "s.zarr"),
        pytest.raises(InputError, match="another process writes this sweep"),
    ):
        run_sweep(study, OVER, tmp_path / "s.zarr")
    run_sweep(study, OVER, tmp_path / "s.zarr")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["", "..", "x" * 250, "α" * 120])
def test_a_store_needs_a_name_that_leaves_room_beside_it(
    study: Study, tmp_path: Path, computed: list[Study], name: str
) -> None:
    path = tmp_path / "new" / name if name else Path()
    with pytest.raises(InputError, match="name"):
        run_sweep(study, {"initial.seed": [1, 2]}, path, workers=0)
    assert not computed
    assert not (tmp_path / "new").exists()


def test_a_sweep_that_nobody_can_compute_is_not_begun(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Dask scheduler"):
        run_sweep(study, {"initial.seed": [1, 2]}, tmp_path / "s.zarr", scheduler="nowhere")
    assert not (tmp_path / "s.zarr").exists()
