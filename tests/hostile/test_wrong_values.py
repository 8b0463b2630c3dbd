"""Every public call of Python refuses wrong values: one line, with the argument, at once."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from hostile.calls import PAPER
from hostile.python_calls import FAMILIES
from hostile.wrong_values import START, faults, problem, system, trajectory

#: Public names that are results, errors or records, which nobody calls.
MADE_BY_CALLS = {
    *("Activation", "Equations", "Expectation", "Forgetting", "FormulaCheck", "InputError"),
    *("LateLearning", "LearningDerivation", "LinearCurve", "Localisation", "NotClosed", "Plateau"),
    *("Rates", "Simulation", "State", "StudyMap", "Sweep", "SymderivError", "ToleranceError"),
    *("Trajectory", "Verdicts", "__version__"),
}
#: Models of files, whose arguments are arrays of any shape; and what is written another way.
ELSEWHERE = {"Generator", "Problem", "System"}
#: Methods whose arguments are those of another call, or keys.
OF_OTHERS = {"asymptotics", "grid", "timed", "ascend"}


def _called() -> set[str]:
    names = {name for family in FAMILIES.values() for name in family()}
    return {name.partition(" ")[0] for name in names}


def test_every_public_call_is_in_the_table() -> None:
    called = _called()
    public = set(sd.__all__) - MADE_BY_CALLS - ELSEWHERE
    assert public - called == set()
    for cls in (sd.Problem, sd.System):
        methods = {
            name
            for name, each in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_") and len(inspect.signature(each).parameters) > 1
        }
        assert methods - OF_OTHERS - called == set(), cls


@pytest.mark.parametrize("family", FAMILIES)
def test_wrong_values_are_refused_in_one_line_that_says_where(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(PAPER)
    before = {*tmp_path.iterdir()}
    found = {name: said for name, call in FAMILIES[family]().items() if (said := faults(call))}
    assert found == {}
    assert {*tmp_path.iterdir()} == before


def test_the_campaign_notices_what_is_accepted_late_or_said_badly() -> None:
    from hostile.wrong_values import WrongCall

    def refusing(said: str, argument: str | None = None) -> Any:
        def call(points: Any) -> None:
            raise sd.InputError(said, argument=argument)

        return call

    def failing(points: Any) -> None:
        raise TypeError(points)

    def late(points: Any) -> None:
        sum(range(4_000_000))
        raise sd.InputError("is wrong", argument="points")

    kinds = {"points": "whole"}
    few = [("points", -1)]
    assert faults(WrongCall(refusing("is wrong", "points"), {}, kinds)) == []
    for call in (lambda points: None, failing, refusing("is wrong"), refusing("points" * 99)):
        assert len(faults(WrongCall(call, {}, kinds), wrong=few)) == 1
    assert len(faults(WrongCall(late, {}, kinds), 0.01, few)) == 1


@pytest.mark.parametrize("name", ["nope", "learning_rates", "end_"])
@pytest.mark.parametrize("value", [None, 1.0])
def test_names_that_no_call_has_are_refused_with_any_value(name: str, value: Any) -> None:
    keys = {"activation": "erf", "students": 2, "teachers": 2, "learning_rate": 0.5}
    for call in (
        lambda: sd.Problem(**keys, **{name: value}),
        lambda: problem().replace(**{name: value}),
        lambda: problem().solve(end=1, **{name: value}),
        lambda: sd.derive("erf", **{name: value}),
        lambda: sd.generate("erf", "own", **{name: value}),
        lambda: sd.mean("x", [[1]], **{name: value}),
        lambda: sd.Isotropic(**{name: value}),
        lambda: sd.OneStep(n=10, **{name: value}),
        lambda: system().rates(START, **{name: value}),
        lambda: system().vectors("A", **{name: value}),
    ):
        with pytest.raises(sd.SymderivError, match=name):
            call()


def test_a_number_that_is_none_is_not_left_out() -> None:
    # these keys are None when left out, and NaN was as if they were
    for key in ("batch", "batch_ratio", "momentum_rate", "second_layer_learning_rate", "schedule"):
        with pytest.raises(sd.InputError, match=key):
            sd.Problem("erf", students=2, teachers=2, **{key: np.nan})
    with pytest.raises(sd.InputError, match="activation"):
        sd.Problem("erf", students=2, teachers=2, teacher_activation=np.nan)
    with pytest.raises(sd.InputError, match="complete: must be a number or None, not nan"):
        problem().fixed_points(complete=np.nan)
    with pytest.raises(sd.InputError, match="formula is empty"):
        sd.Problem("erf", students=2, teachers=2, teacher_activation="")


def test_the_file_of_a_result_is_refused_before_the_run(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.nc"
    theirs.write_text("not of symderiv")
    told: list[str] = []
    for call in (problem().solve, problem().simulate):
        with pytest.raises(sd.InputError, match=r"theirs\.nc"):
            call(end=10.0, output=theirs, progress=lambda task, fraction: told.append(task))
    assert told == []
    assert theirs.read_text() == "not of symderiv"


def test_functions_of_sympy_and_numpy_of_several_fields_say_what_to_write() -> None:
    P = sd.System()
    h = P.vectors("w", 3) @ P.inputs("x")
    for call in (sp.erf, sp.tanh, sp.Heaviside, sp.sqrt, np.tanh, np.exp):
        with pytest.raises(sd.InputError, match=r'sd\.activation\("tanh"\)\(w @ x\)'):
            call(h)
    for factor in (sp.Integer(2), sp.Rational(1, 2), sp.Symbol("a"), sp.pi, 2, 0.5, sp.erf(h[0])):
        for result in (factor * h, h * factor, factor + h, factor - h, h / factor, factor / h):
            assert result.shape == (3,)
        assert (factor * h)[1] == factor * h[1]
        assert (factor / h)[2] == factor / h[2]


def test_a_text_given_to_an_activation_is_not_evaluated(tmp_path: Path) -> None:
    there = tmp_path / "made"
    with pytest.raises(sd.InputError, match=r"not .__import__"):
        sd.activation("erf")(f"__import__('pathlib').Path({str(there)!r}).touch()")
    assert not there.exists()


def test_unpacked_vectors_can_be_packed_again() -> None:
    spectrum = sd.Spectrum([2.0, 0.5], dimension=100)
    keys: dict[str, Any] = {"train_second_layer": True, "second_layer_learning_rate": 0.1}
    stated = sd.Problem("erf", students=3, teachers=2, learning_rate=0.5, inputs=spectrum, **keys)
    rhs = stated.rhs()
    y = rhs.initial * np.linspace(1.0, 1.1, rhs.initial.size)
    again = rhs.pack(rhs.unpack(y))
    np.testing.assert_array_equal(again, y)
    arrays = rhs.unpack(y)
    with pytest.raises(sd.InputError, match="Q: differs"):
        rhs.pack(arrays | {"Q": 2 * arrays["Q"]})
    with pytest.raises(sd.InputError, match="student_overlap: does not have the shape"):
        rhs.pack(arrays | {"student_overlap": arrays["student_overlap"][0]})


@pytest.mark.parametrize("given", [3, 2.5, True, [1, 2], [[1, 0]], [[1, 0], [0]], "abc", {1: 2}])
def test_a_correlation_that_is_no_matrix_of_tokens_is_refused(given: Any) -> None:
    with pytest.raises(sd.InputError, match="correlation: must be 2 x 2 numbers"):
        sd.System().inputs("x", length=2, correlation=given)


def test_numbers_that_are_too_large_are_refused_in_one_line() -> None:
    for name in ("T1", "D1"):
        with pytest.raises(sd.InputError, match=f"{name}: is too large"):
            sd.late(units=2, distinct_eigenvalues=2, exponent=1.0, **{name: "1e400"})
    with pytest.raises(sd.InputError, match=r"runs: 10{10} runs of 2 points would take"):
        system().simulate(20, runs=10**10, end=1.0, points=2, initial=START)
    with pytest.raises(sd.InputError, match="points: must be a whole number from 1 to 1000000"):
        trajectory().extend(4.0, points=10**30)
