"""Checkpoints: a resumed run is the undisturbed one; what is not whole or not ours is not used."""

import os
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from support import small_systems as systems

from symderiv.experiment.studies.simulating import simulate
from symderiv.foundation.errors import StoppedError
from symderiv.integrate.flows import flat_run
from symderiv.integrate.flows.flat_run import FlatProblem, StepLimits, integrate_flat
from symderiv.integrate.rules.solving import solve
from symderiv.problem.study import load_study, parse_study
from symderiv.storage.checkpoint import Checkpoint, difference

STUDY = """
[network]
activation = "erf"
students = 2
teachers = 2
train_second_layer = true
[data]
model = "power-law"
dimension = 40
distinct_eigenvalues = 2
exponent = 0.5
[training]
learning_rate = 0.5
label_noise = 0.1
[initial]
student_std = 0.1
[simulation]
runs = 3
method = "{method}"
[time]
end = {end}
points = 9
"""


def text(method: str = "auto", end: float = 100.0) -> str:
    return STUDY.format(method=method, end=end)


class Stops:
    """Asks to stop after a number of questions."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def flat(checkpoint: Checkpoint | None = None, relative: float = 1e-10):
    problem = FlatProblem(
        systems.oscillation,
        np.array([2.0, 0.0, 1.0]),
        np.ones(3, dtype=np.int64),
        np.ones(11),
        np.array([0.0, 1.0, 7.7, 40.0]),
    )
    return integrate_flat(problem, StepLimits(relative, 1e-12, 1e-8), checkpoint=checkpoint)


def assert_equal(first, second) -> None:
    one, other = asdict(first), asdict(second)
    one.pop("wall_seconds", None)
    other.pop("wall_seconds", None)
    np.testing.assert_equal(one, other)


def test_an_integration_stopped_after_every_few_steps_is_the_undisturbed_one(tmp_path, monkeypatch):
    whole = flat()
    monkeypatch.setattr(flat_run, "_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(flat_run, "_FIRST_SLICE", 0.0)
    lives = 0
    while True:
        checkpoint = Checkpoint(tmp_path / "c", every=1e9, stop=Stops(2))
        checkpoint.open({"a": "b"})
        result = flat(checkpoint)
        lives += 1
        if not checkpoint.stopped:
            break
        assert result.cause == "interrupted"
    assert lives > 3
    assert_equal(result, whole)


@pytest.mark.parametrize("questions", [0, 3])
def test_a_run_goes_on_though_another_one_was_written_after_it_had_stopped(
    questions, tmp_path, monkeypatch
):
    monkeypatch.setattr(flat_run, "_FIRST_SLICE", 3.0)
    monkeypatch.setattr(flat_run, "_SLICE_SECONDS", 0.0)
    stopped = Checkpoint(tmp_path / "c", every=1e9, stop=Stops(questions))
    stopped.open({"a": "b"})
    assert flat(stopped).cause == flat(stopped, 1e-9).cause == "interrupted"
    again = Checkpoint(tmp_path / "c", every=1e9)
    again.open({"a": "b"})
    for relative in (1e-10, 1e-9):
        found = flat(again, relative)
        assert found.cause == "done"
        assert_equal(found, flat(relative=relative))


def test_a_study_stopped_in_each_of_its_integrations_is_the_undisturbed_one(tmp_path, monkeypatch):
    monkeypatch.setattr(flat_run, "_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(flat_run, "_FIRST_SLICE", 0.0)
    study = parse_study(text())
    whole = solve(study, check="always")
    notices: list[str] = []
    lives = 0
    while True:
        checkpoint = Checkpoint(tmp_path / "c", every=0.0, stop=Stops(12), notice=notices.append)
        result = solve(study, check="always", checkpoint=checkpoint)
        lives += 1
        if not checkpoint.stopped:
            break
    assert lives > 4
    assert len(notices) == lives - 1
    assert all("resuming at alpha = " in line for line in notices)
    assert_equal(result, whole)
    checkpoint.remove()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("method", ["vectors", "gram"])
def test_simulated_runs_stopped_many_times_are_the_undisturbed_ones(method, tmp_path):
    study = parse_study(text(method, 4000.0))
    whole = simulate(study)
    lives = 0
    while True:
        checkpoint = Checkpoint(tmp_path / "c", every=0.0, stop=Stops(2))
        result = simulate(study, checkpoint=checkpoint, workers=1 + lives % 3)
        lives += 1
        if not checkpoint.stopped:
            break
        assert result.cause == "interrupted"
    # how much a run does between two questions depends on the machine
    assert lives >= 2
    assert_equal(result, whole)


def kept(folder: Path, study: str) -> Path:
    """A checkpoint of a solve that was stopped."""
    path = folder / "run.checkpoint"
    checkpoint = Checkpoint(path, every=0.0, stop=Stops(1))
    solve(parse_study(study), checkpoint=checkpoint)
    assert checkpoint.stopped
    return path


def test_a_checkpoint_of_another_study_is_put_aside_and_the_change_is_named(tmp_path):
    path = kept(tmp_path, text())
    before = path.read_bytes()
    notices: list[str] = []
    changed = parse_study(text().replace("learning_rate = 0.5", "learning_rate = 0.4"))
    result = solve(changed, checkpoint=Checkpoint(path, notice=notices.append))
    assert_equal(result, solve(changed))
    (line,) = notices
    assert "training.learning_rate was 0.5, is 0.4" in line
    assert "run.checkpoint.old" in line
    assert (tmp_path / "run.checkpoint.old").read_bytes() == before
    assert not path.exists()


def test_differences_are_said_in_words():
    now = {"study": "[a]\nb = 1\n", "solver module": "0" * 64, "symderiv": "1", "runs": "4"}
    assert difference(now, now) == ""
    for name, then, words in (
        ("study", "[a]\nb = 1\nc = 2\n", "a.c was 2, is not given"),
        ("study", "[a]\nb = 2\nc = 2\n", "a.b was 2, is 1, and a.c changed too"),
        ("solver module", "1" * 64, "the solver module is another one"),
        ("symderiv", "0", "symderiv was 0, is 1"),
        ("runs", "8", "runs was 8, is 4"),
    ):
        assert difference({**now, name: then}, now) == words


def test_nothing_is_written_before_there_is_something_to_keep(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", every=0.0)
    checkpoint.open({"study": "x"})
    assert not checkpoint.write()
    assert os.listdir(tmp_path) == []
    checkpoint.keep("a", {"numbers": np.arange(3.0)}, "alpha = 1")
    assert checkpoint.write()
    again = Checkpoint(tmp_path / "c", notice=[].append)
    again.open({"study": "x"})
    np.testing.assert_array_equal(again.entry("a")["numbers"], np.arange(3.0))
    assert again.entry("b") is None


def test_a_fresh_start_removes_the_checkpoint(tmp_path):
    path = kept(tmp_path, text())
    notices: list[str] = []
    study = parse_study(text())
    solve(study, checkpoint=Checkpoint(path, fresh=True, notice=notices.append))
    assert notices == []
    assert not path.exists()


def test_a_damaged_checkpoint_is_told_and_not_used(tmp_path):
    path = kept(tmp_path, text(end=1.0))
    content = path.read_bytes()
    damaged = [content[:size] for size in range(0, len(content), 97)]
    for position in range(0, len(content), 101):
        flipped = bytearray(content)
        flipped[position] ^= 1
        damaged.append(bytes(flipped))
    for bad in damaged:
        path.write_bytes(bad)
        notices: list[str] = []
        checkpoint = Checkpoint(path, notice=notices.append)
        checkpoint.open({"study": ""})
        assert notices == [f"{path} is damaged and is not used; starting over"]
    study = parse_study(text())
    assert_equal(solve(study, checkpoint=Checkpoint(path)), solve(study))


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_run(tmp_path, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(flat_run, "_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(flat_run, "_FIRST_SLICE", 0.0)
    study = parse_study(text())
    notices: list[str] = []
    checkpoint = Checkpoint(tmp_path / "c", every=0.0, notice=notices.append)
    assert solve(study, checkpoint=checkpoint).cause == "done"
    (line,) = notices
    assert "No space left on device" in line
    assert "goes on without" in line
    assert os.listdir(tmp_path) == []


def test_the_time_of_earlier_lives_is_counted(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c")
    checkpoint.open({})
    checkpoint._before = 100.0
    checkpoint.keep("key", {"a": np.arange(3)}, "alpha = 1")
    assert checkpoint.write()
    again = Checkpoint(tmp_path / "c")
    again.open({})
    assert 100.0 <= again.seconds < 200.0
    np.testing.assert_array_equal(again.entry("key")["a"], np.arange(3))


@pytest.mark.days(2)
@pytest.mark.parametrize(
    ("kind", "task", "end", "kept"),
    [("run", "solving", 30.0, 2), ("sim", "simulating", 4000.0, 4)],
)
def test_a_study_keeps_its_finished_cases_until_all_is_done(
    tmp_path, monkeypatch, kind, task, end, kept
):
    from symderiv.show.pages import job

    if kind == "run":
        # only where an integration is stopped; a file is written for each slice
        monkeypatch.setattr(flat_run, "_SLICE_SECONDS", 0.0)
        monkeypatch.setattr(flat_run, "_FIRST_SLICE", 0.0)
    monkeypatch.setattr(job, "_derivation", lambda *_: None)
    monkeypatch.setattr(job._Report, "write", lambda *_, simulated: ([], []))
    path = tmp_path / "s.toml"
    path.write_text(text(end=end) + '[sweep]\n"training.learning_rate" = [0.5, 0.4]\n')
    job.run_study(load_study(path), tmp_path / "whole")
    notices: list[str] = []

    def checkpoints(file: Path) -> Checkpoint:
        # the integration or simulation of the second case is stopped in the first life
        last = file.name.startswith(f"{kind}-") and file.name.endswith("0.4.nc")
        stop = Stops(2 if last and not notices else 10**9)
        return Checkpoint(
            file.with_name(f"{file.name}.checkpoint"), every=0.0, stop=stop, notice=notices.append
        )

    with pytest.raises(StoppedError, match=rf"{task} .*0\.4.*interrupted"):
        job.run_study(load_study(path), tmp_path / "killed", checkpoints=checkpoints)
    assert len(list((tmp_path / "killed").glob("*.checkpoint"))) == kept
    notices.append("second life")
    result = job.run_study(load_study(path), tmp_path / "killed", checkpoints=checkpoints)
    assert len(notices) == 1 + kept
    assert len(result.files) == 4
    assert not list((tmp_path / "killed").glob("*.checkpoint"))
    from symderiv.storage.run_files import read_run

    for file in (tmp_path / "whole").glob("*.nc"):
        first, second = read_run(file)[0], read_run(tmp_path / "killed" / file.name)[0]
        np.testing.assert_equal(second, first)
