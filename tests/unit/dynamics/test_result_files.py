"""RUN.nc and SIM.nc: dimensions and attributes as promised, written whole or not at all."""

import os
from dataclasses import replace

import h5netcdf
import numpy as np
import pytest
import xarray as xr
from support import small_systems as systems
from support.studies import toml

import symderiv
from symderiv.experiment.studies.simulating import simulate
from symderiv.experiment.studies.simulation import write_simulation
from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.seals import sealed
from symderiv.integrate.flows.trajectory import write_run
from symderiv.integrate.rules.solving import solve
from symderiv.problem.state import State
from symderiv.problem.study import parse_study
from symderiv.storage.run_files import read_run

STUDY = toml(
    network={"activation": "erf", "students": 3, "teachers": 2},
    data={"model": "power-law", "dimension": 120, "distinct_eigenvalues": 4, "exponent": 1.0},
    training={"learning_rate": 0.4},
    initial={"student_std": 0.2},
    time={"end": 3.0, "points": 5},
    simulation={"runs": 3},
)


@pytest.fixture(scope="module")
def trajectory():
    return solve(parse_study(STUDY))


@pytest.fixture(scope="module")
def simulated():
    return simulate(parse_study(STUDY))


def test_a_run_file_opens_in_xarray_with_the_promised_names(trajectory, tmp_path):
    path = write_run(tmp_path / "RUN.nc", trajectory)
    with xr.open_dataset(path) as data:
        assert dict(data.sizes) == {
            "alpha": 5,
            "student": 3,
            "student_2": 3,
            "teacher": 2,
            "teacher_2": 2,
            "mode": 4,
        }
        assert data["Q"].dims == ("alpha", "student", "student_2")
        assert data["R"].dims == ("alpha", "student", "teacher")
        assert data["T"].dims == ("teacher", "teacher_2")
        assert data["v"].dims == ("alpha", "student")
        assert data["generalization_error"].dims == ("alpha",)
        for name in ("Q", "R", "T", "v", "generalization_error", "alpha", "cross_overlap"):
            np.testing.assert_array_equal(data[name].values, getattr(trajectory, name))
        state = trajectory.initial
        for name in ("eigenvalue", "weight", "teacher_overlap"):
            np.testing.assert_array_equal(data[name].values, getattr(state, name))
        attributes = data.attrs
        assert parse_study(attributes["study"]).text == trajectory.study_text
        assert attributes["symderiv_version"] == symderiv.__version__
        assert attributes["solver_module_sha256"] == trajectory.kernel_sha256
        assert attributes["tolerance_reached"] == trajectory.tolerance_reached
        assert attributes["end"] == "done"
        assert attributes["steps"] == trajectory.steps
        assert attributes["rhs_evaluations"] == trajectory.rhs_evaluations
        assert attributes["wall_seconds"] > 0
    assert os.listdir(tmp_path) == ["RUN.nc"]


def test_reading_gives_back_what_was_written(trajectory, tmp_path):
    path = write_run(tmp_path / "RUN.nc", trajectory, attributes={"note": "α and β"})
    variables, attributes = read_run(path)
    np.testing.assert_array_equal(variables["Q"], trajectory.Q)
    assert attributes["note"] == "α and β"
    assert attributes["alpha_end"] == 3.0
    with pytest.raises(InputError, match=r"none\.nc"):
        read_run(tmp_path / "none.nc")
    (tmp_path / "text.nc").write_text("text")
    with pytest.raises(InputError, match="not a complete result of symderiv"):
        read_run(tmp_path / "text.nc")


def test_the_overlaps_per_eigenvalue_can_be_left_out(trajectory, tmp_path):
    variables, _ = read_run(write_run(tmp_path / "RUN.nc", trajectory, per_mode=False))
    assert "student_overlap" not in variables
    assert "eigenvalue" in variables


def test_a_run_says_where_it_ends_and_how_its_error_was_found(trajectory):
    said = trajectory.to_dict()
    assert said["generalization_error_end"] == trajectory.generalization_error[-1]
    assert said["alpha_end"] == trajectory.alpha[-1] == 3.0
    assert said["tolerance_reached"] == trajectory.tolerance_reached
    rows = dict(trajectory._summary().rows)
    method, asked = trajectory.tolerance_method, trajectory.relative_tolerance
    reached = f"{trajectory.tolerance_reached:.1e} of {asked:g} asked for"
    assert rows["tolerance"] == f"{reached} ({method})"
    assert {"activation", "units", "alpha", "generalization_error", "work"} <= set(rows)
    nothing = replace(trajectory, generalization_error=np.empty(0))
    assert nothing.to_dict()["generalization_error_end"] is None
    assert "generalization_error" not in dict(nothing._summary().rows)


def test_a_simulation_file_holds_means_errors_and_runs(simulated, tmp_path):
    path = write_simulation(tmp_path / "SIM.nc", simulated)
    with xr.open_dataset(path) as data:
        assert data.sizes["run"] == 3
        for name in ("Q", "R", "v", "generalization_error"):
            runs = data[f"{name}_run"]
            np.testing.assert_allclose(runs.mean("run"), data[name], rtol=1e-13, atol=1e-16)
            error = runs.std("run", ddof=1) / 3**0.5
            np.testing.assert_allclose(
                error, data[f"{name}_standard_error"], rtol=1e-10, atol=1e-16
            )
            assert data[name].dims == data[f"{name}_standard_error"].dims
        np.testing.assert_array_equal(data["examples"], simulated.examples)
        assert data.attrs["runs"] == 3
        assert data.attrs["dimension"] == 120
        assert data.attrs["method"] == simulated.method == "gram"


@pytest.mark.parametrize(
    ("stage", "old"),
    [("fsync", None), ("link", None), ("fsync", b"an older"), ("replace", b"an older")],
)
def test_a_write_that_fails_in_the_middle_leaves_the_folder_as_it_was(
    trajectory, tmp_path, monkeypatch, stage, old
):
    path = tmp_path / "RUN.nc"
    if old is not None:
        old = sealed(old, "nc")
        path.write_bytes(old)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, stage, fail)
    with pytest.raises(SymderivError, match=r"RUN\.nc: cannot be written: No space left") as caught:
        write_run(path, trajectory)
    assert not isinstance(caught.value, InputError)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ([] if old is None else ["RUN.nc"])
    if old is not None:
        assert path.read_bytes() == old


def test_an_interrupt_during_the_write_leaves_no_file(trajectory, tmp_path, monkeypatch):
    original = h5netcdf.File.create_variable

    def interrupted(self, name, *args, **options):
        if name == "R":
            raise KeyboardInterrupt
        return original(self, name, *args, **options)

    monkeypatch.setattr(h5netcdf.File, "create_variable", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_run(tmp_path / "RUN.nc", trajectory)
    assert os.listdir(tmp_path) == []


def test_folders_that_do_not_exist_are_made(trajectory, tmp_path):
    path = write_run(tmp_path / "none" / "yet" / "RUN.nc", trajectory)
    assert read_run(path)[1]["alpha_end"] == 3.0
    with pytest.raises(InputError, match=r"a part of it is a file, not a folder"):
        write_run(path / "RUN.nc", trajectory)


def test_result_files_have_ordinary_permissions(trajectory, tmp_path):
    mask = os.umask(0o022)
    try:
        path = write_run(tmp_path / "RUN.nc", trajectory)
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_run_that_ended_early_is_written_with_its_cause(tmp_path):
    one = np.ones(1)
    zero = np.zeros((1, 1, 1))
    State(one, one, zero + 1, zero, zero + 1, np.ones((1, 1)), one, one).save(
        tmp_path / "state.npz"
    )
    for times, rows in (([0.0, 0.5, 3.0], 2), ([1.5, 3.0], 0)):
        study = parse_study(systems.STUDY.format(values=times), base=tmp_path)
        result = solve(study, kernel=systems.as_kernel(systems.not_a_number_at_one))
        path = write_run(tmp_path / "RUN.nc", result)
        with xr.open_dataset(path) as data:
            assert data.sizes["alpha"] == rows
            assert data.attrs["end"] == "not-a-number"
            assert data.attrs["alpha_end"] == pytest.approx(1.0, abs=0.3)
            assert "alpha" in data.attrs["message"]


def test_a_study_with_many_times_fits_into_the_attributes(tmp_path):
    values = [0.001 * index for index in range(12_000)]
    text = STUDY.replace("end = 3.0\npoints = 5", f"values = {values}")
    result = solve(parse_study(text))
    _, attributes = read_run(write_run(tmp_path / "RUN.nc", result))
    assert parse_study(attributes["study"]).time.values == values
