"""One resolution of the names of keys, for every call that takes some."""

from pathlib import Path
from typing import Any

import pytest

import symderiv as sd
from symderiv.problem.key_names import by_key, key_of, study_key


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("learning_rate", "training.learning_rate"),
        ("training.learning_rate", "training.learning_rate"),
        ("students", "network.students"),
        ("seed", "initial.seed"),
        ("inputs.seed", "data.seed"),
        ("exponent", "data.exponent"),
        ("inputs.exponent", "data.exponent"),
        ("end", "time.end"),
        ("simulation.end", "simulation.end"),
        ("runs", "simulation.runs"),
    ],
)
def test_a_name_stands_for_one_key(name: str, key: str) -> None:
    assert study_key(name) == key


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("learnin_rate", "did you mean learning_rate?"),
        ("lr", "did you mean learning_rate?"),
        ("data.expnent", "did you mean exponent?"),
        ("network.learning_rate", "did you mean learning_rate?"),
        ("method", "could mean simulation.method and time.method"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(sd.InputError, match=r"is not the name of a key|could mean") as caught:
        study_key(name)
    assert hint in str(caught.value)
    assert caught.value.argument == name


def test_tables_are_names_too_and_one_key_is_given_once() -> None:
    assert key_of("inputs") == "data"
    assert by_key({"learning_rate": 1.0, "tasks": []}) == {
        "training.learning_rate": 1.0,
        "task": [],
    }
    with pytest.raises(sd.InputError, match="given twice"):
        by_key({"learning_rate": 1.0, "training.learning_rate": 2.0})


def test_every_call_takes_short_and_full_names(tmp_path: Path) -> None:
    problem = sd.Problem(
        "linear", students=1, teachers=1, learning_rate=0.5, inputs=sd.PowerLaw(2, exponent=1.0)
    ).replace(dimension=100)
    assert problem.replace(**{"training.learning_rate": 0.3}).learning_rate == 0.3
    assert problem.replace(exponent=0.5) == problem.replace(**{"data.exponent": 0.5})
    rates = [0.2, 0.4]
    for name in ("learning_rate", "training.learning_rate"):
        grid = problem.grid(**{name: rates})
        assert [each.learning_rate for each in grid] == rates
        lists: dict[str, Any] = {name: rates}
        runs = problem.ensemble(**lists, end=1, points=2)
        assert runs.sizes[name] == 2
        swept = problem.replace(time={"end": 1.0, "points": 2}).sweep(
            {name: rates}, output=tmp_path / f"{name}.zarr", workers=0, progress=False
        )
        assert dict(swept.to_xarray().sizes)["learning_rate"] == 2
        found = problem.replace(time={"end": 1.0, "points": 9}).map(
            "final_error",
            over={name: (0.1, 0.2), "exponent": (0.5, 1.0)},
            resolution=2,
            coarse=2,
            progress=False,
        )
        assert found.keys == ("training.learning_rate", "data.exponent")
    text = problem.to_toml() + "[time]\nend = 1.0\n[sweep]\nlearning_rate = [0.2, 0.4]\n"
    read = sd.Problem.from_toml(text)
    assert [each.learning_rate for each in read.grid()] == rates
