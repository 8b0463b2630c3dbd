"""Values that ``solve``, ``simulate`` and ``study`` take instead of those of the study file."""

from pathlib import Path

import numpy as np
import pytest
from support.commands import refused
from support.commands import symderiv as run

import symderiv as sd
from symderiv.api.arguments.argument_names import typed_changes

STUDY = """
[network]
activation = "linear"
students = 1
teachers = 1
[data]
model = "isotropic"
dimension = 50
[training]
learning_rate = 0.5
[initial]
student_std = 0.1
draw = "mean"
[simulation]
runs = 2
end = 3.0
[time]
end = 4.0
points = 5
[sweep]
"training.learning_rate" = [0.5, 1.0]
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.toml"
    path.write_text(STUDY)
    return path


def test_a_run_has_the_values_that_were_set(study: Path) -> None:
    words = ("--set", "learning_rate=0.25", "--end", "2", "--set", "data.dimension=60")
    assert run("solve", study, *words, "--output", "a.nc").returncode == 0
    found = sd.open("a.nc")
    # E = E(0) exp(-(2η - η²) α) for one linear student: the rate of η = 1/4
    rate = np.log(found.generalization_error[0] / found.generalization_error[-1]) / (
        found.alpha[-1] - found.alpha[0]
    )
    assert rate == pytest.approx(2 * 0.25 - 0.25**2, rel=1e-6)
    assert found.alpha[-1] == 2.0


def test_the_end_is_that_of_simulations_too(study: Path) -> None:
    ended = run(
        "simulate", study, "--end", "1", "--set", "runs=3", "--set", "learning_rate=1", "--json"
    )
    assert (ended.json["alpha_end"], ended.json["runs"]) == (1.0, 3)


def test_a_key_that_is_set_is_not_swept(study: Path) -> None:
    assert len(sd.Problem.from_toml(study).grid()) == 2
    changed = sd.Problem.from_toml(study, changes=typed_changes(["learning_rate=0.3"]))
    assert [one.learning_rate for one in changed.grid()] == [0.3]


def test_times_replace_an_end_and_an_end_replaces_times(study: Path) -> None:
    listed = sd.Problem.from_toml(study, changes=typed_changes(["time.values=[0, 1, 2.5]"]))
    assert (listed.time.values, listed.time.end) == ([0, 1, 2.5], None)
    study.write_text(STUDY.replace("end = 4.0\npoints = 5", "values = [0.0, 1.0]"))
    ended = sd.Problem.from_toml(study, changes=typed_changes([], end=3.0))
    assert (ended.time.values, ended.time.end) == (None, 3.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "learning_rat=1"), "learning_rat: is not the name of a key; did you mean"),
        (("--set", "learning_rate"), "--set: 'learning_rate' must have the form key=value"),
        (("--set", "learning_rate=-1"), "training.learning_rate: should be greater"),
        (("--set", "method=vectors"), "simulation.method and time.method"),
        (
            ("--set", "time.values=[1, 2]", "--set", "time.points=3"),
            "time.values: is given together",
        ),
        (("--set", "time.end=3", "--end", "4"), "--end: is given twice"),
        (("--end", "0"), "time.end"),
    ],
)
def test_what_cannot_be_set_is_said_in_one_line(
    study: Path, words: tuple[str, ...], said: str
) -> None:
    for command in ("solve", "simulate", "study"):
        assert said in refused(command, study, *words)


def test_a_study_without_times_ends_where_the_default_says(study: Path) -> None:
    text = STUDY.partition("[time]")[0].replace("end = 3.0", "")
    study.write_text(text)
    done = run("solve", study, "--set", "learning_rate=1", "--output", "a.nc")
    assert "student_std" not in done.stdout
    assert "by default" in done.stdout
    assert "end = 500" in done.stdout
    assert sd.open("a.nc").alpha[-1] == 500.0
