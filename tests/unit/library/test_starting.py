"""Templates of studies and their schema."""

import tomllib
from pathlib import Path

import jsonschema
import pytest

import symderiv as sd
from symderiv.api.starting import QUESTIONS, study_from_template, study_schema, templates


@pytest.mark.parametrize("name", templates())
def test_every_template_is_a_study_that_its_schema_accepts(name: str) -> None:
    text = study_from_template(name).study
    problem = sd.Problem.from_toml(text, timed=True)
    assert problem.to_dict()["network"]["students"] >= 1
    jsonschema.validate(tomllib.loads(text), study_schema())


def test_what_a_study_refuses_the_schema_refuses() -> None:
    tables = tomllib.loads(study_from_template("two-units").study)
    for table, key, value in (
        ("network", "studnets", 2),
        ("network", "students", 0),
        ("training", "learning_rate", -1.0),
        ("data", "model", "gaussian"),
    ):
        wrong = {**tables, table: {**tables[table], key: value}}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, study_schema())


def test_answers_stand_where_the_template_had_its_own(tmp_path: Path) -> None:
    answers = dict(
        zip((q.words for q in QUESTIONS), ("relu", "3", "1", "64", "0.25", "7.5"), strict=True)
    )
    found = study_from_template(
        "two-units", tmp_path / "study.toml", ask=lambda words, given: answers[words]
    )
    tables = tomllib.loads((tmp_path / "study.toml").read_text(encoding="utf-8"))
    assert tables["network"]["activation"] == "relu"
    assert (tables["network"]["students"], tables["network"]["teachers"]) == (3, 1)
    assert (tables["data"]["dimension"], tables["time"]["end"]) == (64, 7.5)
    assert found.study.count("#") == study_from_template("two-units").study.count("#")
    with pytest.raises(sd.InputError, match="exists already"):
        study_from_template("two-units", tmp_path / "study.toml")


def test_an_answer_that_is_no_number_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "study.toml"
    with pytest.raises(sd.InputError):
        study_from_template("two-units", target, ask=lambda words, given: "two, please")
    assert not target.exists()


def test_every_command_names_a_page_of_the_manual_that_is_there() -> None:
    from symderiv.cli import _COMMANDS

    manual = Path(__file__).parents[3] / "docs" / "manual"
    for _, page in _COMMANDS.values():
        assert [each for each in manual.glob(f"{page}.*") if each.suffix in (".md", ".ipynb")], page
