"""Sweeps survive: what is whole is kept, what is damaged or missing is computed again."""

import warnings
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.quick_integrations import integrated
from support.store_writers import writes_at_once

from symderiv.api.opening import open_file
from symderiv.foundation.errors import InputError
from symderiv.integrate.ensemble import Chunk
from symderiv.problem.study import Study
from symderiv.sweeps import study_grid
from symderiv.sweeps.files.sealed_files import sole_writer
from symderiv.sweeps.files.store import Store
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
    assert_numbers(numbers(one), numbers(other))


def assert_numbers(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
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


@pytest.mark.turns(6)
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


def test_damage_is_refused_when_opened_and_mended_when_gone_on_with(
    study: Study, tmp_path: Path, computed: list[Study]
) -> None:
    path = tmp_path / "s.zarr"
    whole = numbers(run_sweep(study, OVER, path))
    for name, said in (
        ("Q/c/1/0/0/0/0", "the points from learning_rate=0.2, seed=0 to learning_rate=0.2, seed=4"),
        ("status/c/3/0", "the points from learning_rate=0.3, seed=0 to learning_rate=0.3, seed=4"),
        ("learning_rate/c/0", "the values of learning_rate"),
        ("Q/zarr.json", "the metadata of Q"),
        (".symderiv/boxes/1.json", "learning_rate=0.2, seed=4: its record is missing"),
        ("zarr.json", "of the description of the store"),
    ):
        (path / name).unlink()
        with pytest.raises(InputError, match=said) as refused:
            numbers(Sweep.at(path))
        assert "\n" not in str(refused.value)
        notices: list[str] = []
        before = len(computed)
        assert_numbers(whole, numbers(run_sweep(study, OVER, path, notice=notices.append)))
        assert len(computed) - before == (5 if "the points" in said or "boxes" in name else 0)
        assert len(notices) == 1
        assert_numbers(whole, numbers(Sweep.at(path)))


def test_plain_xarray_verifies_chunks_and_takes_none_for_a_number(
    study: Study, tmp_path: Path, computed: list[Study]
) -> None:
    import xarray

    path = tmp_path / "s.zarr"
    run_sweep(study, OVER, path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = xarray.open_zarr(str(path), chunks=None)
    assert data["status"].sel(learning_rate=0.2, seed=0) == "done"
    for name in ("steps", "R", "status"):
        (chunk,) = (file for file in (path / name / "c" / "1").rglob("0") if file.is_file())
        content = bytearray(chunk.read_bytes())
        content[len(content) // 2] ^= 1
        chunk.write_bytes(content)
        with pytest.raises(ValueError, match="checksum"):
            xarray.open_zarr(str(path), chunks=None)[name].load()
        chunk.unlink()
    there = xarray.open_zarr(str(path), chunks=None).sel(learning_rate=0.2)
    assert (there["steps"] == -1).all()
    assert np.isnan(there["R"]).all()
    assert (there["status"] == "").all()


def test_an_interrupt_keeps_every_point_that_has_ended(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[Study] = []

    def some(points: list[Study], **options: Any) -> Chunk:
        chunk = integrated(points)
        room = 7 - len(ended)
        ended.extend(points[:room])
        chunk.status[room:] = "interrupted"
        chunk.Q[room:] = 0.5
        return chunk

    monkeypatch.setattr(study_grid, "integrate_chunk", some)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(study, OVER, tmp_path / "s.zarr")
    assert len(ended) == 7  # a box and two points of the next one
    left = Sweep.at(tmp_path / "s.zarr")
    assert sum(left.statuses.values()) == 7
    assert np.isnan(left["Q"].sel(learning_rate=0.2, seed=2)).all()

    def rest(points: list[Study], **options: Any) -> Chunk:
        ended.extend(points)
        return integrated(points)

    monkeypatch.setattr(study_grid, "integrate_chunk", rest)
    sweep = run_sweep(study, OVER, tmp_path / "s.zarr")
    assert (sweep.skipped, len(ended)) == (7, 20)
    assert_same(sweep, run_sweep(study, OVER, tmp_path / "whole.zarr"))


def test_an_interrupt_while_a_box_is_written_costs_nothing(
    study: Study, tmp_path: Path, computed: list[Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = Store.write, []

    def interrupted(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        write(*arguments)

    monkeypatch.setattr(Store, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(study, OVER, tmp_path / "s.zarr")
    assert sum(Sweep.at(tmp_path / "s.zarr").statuses.values()) == len(computed) == 10


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    "more",
    [
        {"initial.student_std": [0.1, 0.2]},
        {"network.students": [3, 2]},
        {"time.end": [10.0, 20.0]},
        # the value of the study is added
        {"training.label_noise": [0.2]},
    ],
)
def test_a_store_takes_new_keys(
    study: Study, tmp_path: Path, computed: list[Study], more: dict[str, Any]
) -> None:
    path = tmp_path / "s.zarr"
    run_sweep(study, OVER, path)
    sweep = run_sweep(study, {**OVER, **more}, path)
    assert (sweep.skipped, sweep.points, len(computed)) == (20, 40, 40)
    assert list(sweep.keys) == [*OVER, *more]
    whole = run_sweep(study, sweep.keys, tmp_path / "whole.zarr")
    assert_same(sweep, whole)
    # fewer keys than the store has: those left out have the value of the study
    assert run_sweep(study, {"initial.seed": [1, 7]}, path).skipped == 40


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
        pytest.raises(InputError, match="another process is writing this sweep"),
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
        run_sweep(study, {"initial.seed": [1, 2]}, path, where=0)
    assert not computed
    assert not (tmp_path / "new").exists()


def test_a_sweep_that_nobody_can_compute_is_not_begun(study: Study, tmp_path: Path) -> None:
    import dask
    import distributed

    with pytest.raises(InputError, match="no Dask scheduler"):
        run_sweep(study, {"initial.seed": [1, 2]}, tmp_path / "s.zarr", where="nowhere")
    assert not (tmp_path / "s.zarr").exists()
    # a client that is left would be asked whatever else Dask computes, and forks wait for its end
    with pytest.raises(ValueError, match="No client"):
        distributed.default_client()
    assert dask.config.get("scheduler", None) is None


def test_of_six_processes_on_one_store_those_that_write_nothing_say_why(
    study: Study, tmp_path: Path
) -> None:
    """Some begin it, others go on with it or widen it, all at once, again and again."""
    turns, path = 4, tmp_path / "s.zarr"
    # each is a fork of a fresh interpreter, which has no threads
    fresh = get_context("forkserver")
    fresh.set_forkserver_preload(["symderiv.sweeps.sweep"])
    lists = [
        [OVER | {"initial.seed": list(range(5 + number % 3 + turn))} for turn in range(turns)]
        for number in range(6)
    ]
    together, told = fresh.Barrier(len(lists)), fresh.Queue()
    writers = [
        fresh.Process(target=writes_at_once, args=(study.text, each, path, together, told))
        for each in lists
    ]
    for writer in writers:
        writer.start()
    said = [told.get(timeout=60) for _ in range(turns * len(lists))]
    for writer in writers:
        writer.join()
    assert all(not one or "another process is writing this sweep" in one for one in said)
    assert said.count("") >= turns
    found = Sweep.at(path)
    assert sum(found.statuses.values()) == found.points >= 4 * 5
    assert [one.name for one in tmp_path.iterdir()] == ["s.zarr"]
