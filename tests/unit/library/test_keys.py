"""One record for each key of a study: what is made from it, and the signatures that repeat it."""

import inspect
import re
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import ValidationError

import symderiv as sd
from symderiv.api.arguments.argument_names import argument_of
from symderiv.api.problem import Problem
from symderiv.api.starting import study_schema
from symderiv.foundation.errors import InputError
from symderiv.keys.checked import NotNegative, Positive, Table
from symderiv.keys.key_records import Key, accepted
from symderiv.keys.study_tables import TABLES, all_records
from symderiv.problem.input_model import InputModel
from symderiv.problem.key_names import STATED, key_of
from symderiv.problem.task_table import Task

PUBLIC = [getattr(sd, name) for name in sd.__all__]
MODELS = [each for each in PUBLIC if inspect.isclass(each) and issubclass(each, InputModel)]
KEYS = {f"{table}.{name}": record for table, name, record in all_records()}


@pytest.mark.parametrize(
    "table", [*TABLES.values(), Task, *MODELS], ids=lambda table: table.__name__
)
def test_every_key_has_a_record_that_is_shown_with_its_docstring(table: type[Table]) -> None:
    assert table.model_fields.keys() - table.RECORDS.keys() <= {"model"}
    words = " ".join((table.__doc__ or "").split())
    for name, record in table.RECORDS.items():
        assert record.meaning
        assert not record.meaning.endswith(".")
        assert f" {name}: {record.words} (" in words


def test_what_records_name_are_keys() -> None:
    for key, record in KEYS.items():
        table = key.partition(".")[0]
        same = {f"{table}.{name}" for name in (*record.instead_of, record.needs) if name}
        others = {each for each in (record.only_with, *record.apart) if each}
        assert same | others <= KEYS.keys() | {"task"}
    assert set(Task.RECORDS["data"].apart) <= KEYS.keys()


@pytest.mark.parametrize(
    ("call", "table", "left_out"),
    [
        (Problem, "network", ()),
        (Problem, "training", ()),
        (Problem, "initial", ()),
        (Problem.solve, "time", ()),
        (Problem.ensemble, "time", ("method", "compression")),
        (Problem.simulate, "simulation", ("end",)),
    ],
)
def test_signatures_show_the_keys_of_tables(
    call: object, table: str, left_out: tuple[str, ...]
) -> None:
    found = inspect.signature(call).parameters  # type: ignore[arg-type]
    for key, field in TABLES[table].model_fields.items():
        name = argument_of(f"{table}.{key}")
        if key in left_out:
            continue
        if field.is_required():
            assert found[name].default is inspect.Parameter.empty, name
        else:
            # None: left out
            assert found[name].default in (field.default, None), name
        if get_origin(field.annotation) is Literal:
            words = {
                word for each in get_args(field.annotation) for word in re.findall(r"\w+", each)
            }
            assert words <= set(re.findall(r"\w+", str(found[name].annotation))), name


@pytest.mark.parametrize("method", ["solve", "fluctuations", "simulate"])
def test_arguments_that_a_signature_does_not_show_are_refused(method: str) -> None:
    problem = sd.Problem("linear", students=1, teachers=1)
    with pytest.raises(InputError, match=f"not an argument of Problem.{method}; did you mean end"):
        getattr(problem, method)(ends=2.0)


def test_the_signature_that_is_shown_has_every_key_and_the_docstring_says_its_range() -> None:
    shown = inspect.signature(sd.Problem).parameters
    words = " ".join(inspect.getdoc(sd.Problem).split())
    for name in (name for table in STATED for name in TABLES[table].model_fields):
        assert name in shown
        assert key_of(name).endswith(f".{name}")
        assert f" {name}: " in words
    assert "keep: dropout: the probability" in words
    assert "(number > 0, ≤ 1; 1.0 when left out)" in words
    assert "(integer ≥ 1, ≤ 100000; 4 when left out)" in " ".join(
        sd.Problem.simulate.__doc__.split()
    )


def test_the_schema_says_what_keys_mean() -> None:
    schema = study_schema()["$defs"]
    assert schema["Training"]["properties"]["momentum"]["description"].startswith(
        "β; momentum: V ← βV"
    )
    assert "`evaluation_scale`" in schema["Training"]["properties"]["keep"]["description"]
    assert schema["Covariance"]["properties"]["file"]["type"] == "string"


def test_a_new_key_needs_nothing_but_its_record() -> None:
    class Made(Table):
        """Made up.

        Args:
            [made]
        """

        size: Annotated[NotNegative, Key("s", acts="equations")] = 0.0
        rate: Annotated[Positive | None, Key("γ", instead_of=("size",), needs="weight")] = None
        weight: Annotated[float | None, Key("w")] = None

    assert Made(rate=1.0, weight=2.0).idle() == ("size",)
    # a default of a rule that is written out takes it back
    assert Made(rate=1.0, weight=2.0, size=0.0).rate == 1.0
    with pytest.raises(ValidationError, match="given together with size"):
        Made(rate=1.0, weight=2.0, size=0.5)
    with pytest.raises(ValidationError, match="is missing; rate needs it"):
        Made(rate=1.0)


def test_types_and_ranges_in_words() -> None:
    assert accepted(list[list[float]]) == "list of lists of numbers"
    assert accepted(float | list[float] | str | None) == "number, list of numbers or text"
    assert accepted(Positive) == "number > 0"


def test_dropout_is_another_way_to_write_keep() -> None:
    units: dict[str, Any] = {"students": 2, "teachers": 1}
    problem = sd.Problem("erf", **units, dropout=0.2)
    assert problem == sd.Problem("erf", **units, keep=0.8)
    assert (problem.keep, problem.dropout) == (0.8, 0.2)
    # copies, grids and sweeps replace either by the other
    assert problem.replace(dropout=0.3).keep == 0.7
    assert problem.replace(keep=0.5).dropout == 0.5
    assert [each.keep for each in problem.grid(dropout=[0.0, 0.25])] == [1.0, 0.75]
    assert sd.Problem.from_toml(problem.to_toml()) == problem
    study = "[network]\nactivation = 'erf'\nstudents = 2\nteachers = 1\n[training]\n"
    assert sd.Problem.from_toml(study + "dropout = 0.2") == problem
    changed = sd.Problem.from_toml(study + "keep = 0.5", changes={"dropout": 0.2})
    assert changed == problem
    for both in (
        lambda: sd.Problem("erf", **units, dropout=0.1, keep=0.9),
        lambda: sd.Problem.from_toml(study + "dropout = 0.1\nkeep = 0.9"),
        lambda: problem.replace(dropout=0.1, keep=0.9),
    ):
        with pytest.raises(sd.InputError, match="given together with keep") as caught:
            both()
        assert caught.value.argument.endswith("dropout")
    # at Q = 0 a linear unit moves by η E[keep y²]
    linear = sd.Problem("linear", students=1, teachers=1, learning_rate=0.5, dropout=0.25)
    found = linear.rates(Q=[[0.0]], R=[[0.0]], T=[[1.0]])
    assert found.dR[0, 0] == pytest.approx(0.75 * 0.5)
