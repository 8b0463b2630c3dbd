"""The stub of arguments is that of the records, and type checkers read it as calls behave."""

import inspect
import re

from symderiv.api.problem import Problem
from symderiv.api.taken_stub import STUB, stub_text, write_stub
from symderiv.keys.study_tables import Time


def test_the_stub_is_written_from_the_records() -> None:
    assert STUB.read_text(encoding="utf-8") == stub_text(), "run: symderiv generate --checked-in"
    assert not write_stub(check=True)


def test_the_stub_has_every_key_that_solve_and_problems_take() -> None:
    tables = dict(re.findall(r"^class (\w+)\(.*?:\n(.*?)(?=^class|\Z)", stub_text(), re.M | re.S))
    names = {name: set(re.findall(r"^    (\w+): ", text, re.M)) for name, text in tables.items()}
    assert names["SolveKeys"] >= Time.model_fields.keys() - {"values"} | {"alpha", "until"}
    own = {"activation", "students", "teachers", "inputs", "tasks", "time", "simulation"}
    assert names["ProblemKeys"] == inspect.signature(Problem).parameters.keys() - own
    assert "batch: int | None" in tables["ProblemKeys"]
    assert 'normalise: Literal["none", "gradient", "sphere"]' in tables["ProblemKeys"]
