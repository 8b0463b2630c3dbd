"""The stub of arguments is that of the records, and type checkers read it as calls behave."""

import inspect
import re

from symderiv.api.problem import Problem
from symderiv.api.taken_stub import STUB, stub_text, write_stub
from symderiv.keys.study_tables import Time
from symderiv.problem.key_names import key_of


def test_the_stub_is_written_from_the_records() -> None:
    assert STUB.read_text(encoding="utf-8") == stub_text(), "run: symderiv generate --checked-in"
    assert not write_stub(check=True)


def test_the_stub_has_every_key_that_solve_and_problems_take() -> None:
    tables, names = _tables()
    assert names["SolveKeys"] >= Time.model_fields.keys() - {"values"} | {"alpha", "until"}
    own = {"activation", "students", "teachers", "inputs", "tasks", "time", "simulation"}
    assert names["ProblemKeys"] == inspect.signature(Problem).parameters.keys() - own
    assert "batch: int | None" in tables["ProblemKeys"]
    assert 'normalise: Literal["none", "gradient", "sphere"]' in tables["ProblemKeys"]


def test_grids_take_every_key_of_problems_and_of_inputs_by_its_name() -> None:
    _, names = _tables()
    own = {"activation", "students", "teachers", "inputs", "tasks"}
    assert names["GridKeys"] >= names["ProblemKeys"] | own | {"exponent", "dimension", "separation"}
    assert names["TimedGridKeys"] == Time.model_fields.keys() - {"method"}
    for call, table in (("ensemble", "Ensemble"), ("sweep", "Sweep"), ("map", "Map")):
        shown = inspect.signature(getattr(Problem, call)).parameters.keys()
        assert shown >= names[f"{table}Keys"], call
    assert {"end", "alpha"} <= names["EnsembleKeys"]
    assert {"workers", "fresh"} <= names["SweepKeys"]
    assert {"resolution", "check"} <= names["MapKeys"]
    for name in names["GridKeys"]:
        assert key_of(name)


def _tables() -> tuple[dict[str, str], dict[str, set[str]]]:
    """The classes of the stub by name, and the names in each."""
    tables = dict(re.findall(r"^class (\w+)\(.*?:\n(.*?)(?=^class|\Z)", stub_text(), re.M | re.S))
    return tables, {n: set(re.findall(r"^    (\w+): ", text, re.M)) for n, text in tables.items()}
