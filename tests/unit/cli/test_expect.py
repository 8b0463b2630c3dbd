"""The commands expect and integral: what they print, and what they refuse."""

import json
import random
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import python, refused
from support.commands import symderiv as run

from symderiv.api.questions import batch as batches
from symderiv.foundation.errors import NotYetError

KEYS = {"closed_form", "latex", "value", "error_bound", "certified", "method", "steps"}
IDENTITY = "[[1,0],[0,1]]"


def answer(*arguments: str) -> dict[str, Any]:
    """The JSON object printed, and the promise that nothing else is printed with it."""
    result = run(*arguments, "--json")
    assert result.returncode == 0, result
    assert result.stderr == ""
    (line,) = result.stdout.splitlines()
    record = json.loads(line)
    assert record.keys() >= KEYS
    assert record["formula"]
    return dict(record)


# -- expect --------------------------------------------------------------------------------


def test_a_value_that_cannot_be_enclosed_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise NotYetError("no enclosure of f")

    monkeypatch.setattr("symderiv.precision.balls.enclosure.certified_value", fails)
    record = answer("expect", "erf(x)**2", "--covariance", "[[1]]")
    assert record["certified"] is False
    assert record["method"] == "closed-form (not certified: no enclosure of f)"
    assert float(record["value"]) > 0


def test_json_numbers_are_exact_decimals() -> None:
    decimals = answer("expect", "x*y", "--covariance", "[[1,0.1],[0.1,2]]")
    texts = answer("expect", "x*y", "--covariance", '[["1","1/10"],["0.10","2e0"]]')
    assert decimals["closed_form"] == texts["closed_form"] == "1/10"
    long = "0.1234567890123456789012345678901234567890"
    record = answer("expect", "x*y", "--covariance", f"[[1,{long}],[{long},1]]", "--digits", "40")
    assert record["value"] == long


def test_a_symbol_alone_on_the_diagonal_is_positive() -> None:
    record = answer("expect", "abs(x)", "--covariance", '[["q"]]')
    assert record["closed_form"] == "sqrt(2)*sqrt(q)/sqrt(pi)"


def test_the_first_four_fields_have_two_names() -> None:
    covariance = "[[1,0.5,0,0.1],[0.5,1,0.2,0],[0,0.2,1,0.3],[0.1,0,0.3,1]]"
    by_letter = answer("expect", "x*y**2*z*w**2", "--covariance", covariance)
    by_number = answer("expect", "x1*x2**2*x3*x4**2", "--covariance", covariance)
    assert by_letter == by_number
    assert by_letter["formula"] == "x1*x2**2*x3*x4**2"


def test_a_missing_mean_is_zero() -> None:
    without = answer("expect", "x*y", "--covariance", "[[1,0.5],[0.5,1]]")
    zero = answer("expect", "x*y", "--covariance", "[[1,0.5],[0.5,1]]", "--mean", "[0,0]")
    shifted = answer("expect", "x*y", "--covariance", "[[1,0.5],[0.5,1]]", "--mean", '["1/3",2]')
    assert without == zero
    assert shifted["closed_form"] == "7/6"
    assert shifted["mean"] == ["1/3", "2"]


def test_a_formula_may_begin_with_a_minus_sign() -> None:
    assert answer("expect", "-x*y", "--covariance", "[[1,0.5],[0.5,1]]")["closed_form"] == "-1/2"


def test_steps_are_rules_with_statements_and_formulas() -> None:
    record = answer("expect", "erf(x)*y", "--covariance", "[[1,0.5],[0.5,1]]")
    assert record["steps"]
    for step in record["steps"]:
        assert step.keys() == {"rule", "statement", "latex"}
        assert all(isinstance(text, str) and text for text in step.values())


def test_the_text_output_shows_formula_value_and_steps() -> None:
    result = run("expect", "erf(x)*y", "--covariance", "[[1,0.5],[0.5,1]]", "--mean", "[0,1]")
    assert result.returncode == 0
    assert "x2*erf(x1)" in result.stdout
    assert "[[1, 1/2], [1/2, 1]]" in result.stdout
    assert "mean" in result.stdout
    assert "Derivation" in result.stdout
    value = answer(*("expect", "erf(x)*y", "--covariance", "[[1,0.5],[0.5,1]]", "--mean", "[0,1]"))[
        "value"
    ]
    assert value in result.stdout


@pytest.mark.parametrize(
    ("formula", "covariance", "named"),
    [
        ("x*z", IDENTITY, "field z"),
        ("x3", IDENTITY, "field x3"),
        ("x0", IDENTITY, "'x0'"),
        ("x*u", IDENTITY, "'u'"),
        ("x^2", IDENTITY, "**"),
        ("__import__(x)", IDENTITY, "EXPR"),
        ("9**9**9", IDENTITY, "EXPR"),
        ("tanh(x*y)", IDENTITY, "tanh(x1*x2)"),
        ("exp(x**2/4)*tanh(x)", IDENTITY, "exp(x**2/4)"),
        ("x", "[[1,0.5],[0.5]]", "--covariance: is not square"),
        ("x", "[[1,0.5]]", "--covariance: is not square"),
        ("x", "[[1,0.5],[0.4,1]]", "--covariance: is not symmetric"),
        ("x", "[[NaN]]", "NaN"),
        ("x", "[[Infinity]]", "Infinity"),
        ("x", "[[1e99999]]", "--covariance[0][0]"),
        ("x", '[["1/0"]]', "--covariance[0][0]"),
        ("x", '[["x1"]]', "--covariance[0][0]: x1"),
        ("x", "[[null]]", "--covariance[0][0]"),
        ("x", "[[true]]", "--covariance[0][0]"),
        ("x", '[[{"a":1}]]', "--covariance[0][0]"),
        ("x", "[[c11]]", "--covariance: is not JSON"),
        ("x", "[[1]", "--covariance: is not JSON"),
        ("x", "", "--covariance: is not JSON"),
        ("x", "1", "--covariance: must be"),
        ("x", "[]", "--covariance: must be"),
        ("x", "[[]]", "--covariance[0]: must be"),
        ("x", "[1]", "--covariance[0]: must be"),
        ("x", "[" * 100_000, "--covariance: is nested"),
        ("x", f"[[{'9' * 100_000}]]", "--covariance[0][0]"),
        ("x", json.dumps([[0] * 50] * 50), "--covariance: has 50"),
    ],
    ids=lambda text: ascii(text[:30]),
)
def test_bad_input_is_refused_in_one_line(formula: str, covariance: str, named: str) -> None:
    message = refused("expect", formula, "--covariance", covariance)
    assert named in message
    assert len(message) < 500


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--mean", "[0]"], "--mean"),
        (["--mean", "0"], "--mean"),
        (["--mean", '[0,"y"]'], "--mean[1]"),
        (["--mean", "[0,NaN]"], "--mean"),
        (["--mean", '[0,"oo"]'], "--mean[1]"),
        (["--digits", "0"], "--digits"),
        (["--digits", "-3"], "--digits"),
        (["--digits", "ten"], "--digits"),
        (["--digits", "1e3"], "--digits"),
        (["--digits", "1000000"], "--digits"),
        (["--digits", "9" * 5000], "--digits"),
    ],
    ids=lambda value: ascii(str(value)[:30]),
)
def test_bad_options_are_refused_in_one_line(options: list[str], named: str) -> None:
    assert named in refused("expect", "x*y", "--covariance", IDENTITY, *options)


def test_what_is_missing_is_named() -> None:
    assert "--covariance: is missing" in refused("expect", "x")
    assert "EXPR" in refused("expect")
    assert "not both" in refused("expect", "x", "--batch", "-")


def test_an_unexpected_failure_is_one_line_and_returncode_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*arguments: object) -> None:
        raise RecursionError("maximum recursion\ndepth exceeded")

    monkeypatch.setattr(batches, "answer", fails)
    assert "RecursionError" in refused("expect", "x", "--covariance", IDENTITY, code=1)


# -- integral ------------------------------------------------------------------------------


def test_activations_are_given_one_per_slot() -> None:
    options = ("--covariance", "[[1,0.5],[0.5,1]]")
    record = answer("integral", "i2", "--activations", "erf,Max(x,0)", *options)
    assert record["activations"] == ["erf(x/sqrt(2))", "Max(x,0)"]
    assert record["formula"] == "E[g1(u)*g2(v)], g1(x) = erf(x/sqrt(2)), g2(x) = Max(x,0)"
    relu = answer("integral", "i2", "--activations", "erf, relu", *options)
    assert relu["value"] == record["value"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["i5", "--activation", "erf"], "i2, i3, i4"),
        (["i2"], "--activation"),
        (["i2", "--activation", "erf", "--activations", "erf,erf"], "--activation"),
        (["i2", "--activation", "foo"], "unknown activation 'foo'"),
        (["i2", "--activation", "y"], "--activation"),
        (["i2", "--activation", "x^2"], "--activation"),
        (["i3", "--activations", "erf,erf,erf"], "2 entries"),
        (["i4", "--activations", "erf,,erf,erf"], "--activations"),
        (["i3", "--activation", "erf", "--covariance", "[[1]]"], "--covariance: must be 3 x 3"),
        (["i2", "--activation", "erf", "--covariance", "[[1,2],[2,1]]"], "--covariance"),
        ([], "i2, i3 or i4"),
    ],
)
def test_a_bad_integral_is_refused_in_one_line(arguments: list[str], named: str) -> None:
    assert named in refused("integral", *arguments)


# -- without a closed form -----------------------------------------------------------------


def test_i3_leaves_the_linear_field_to_conditioning() -> None:
    covariance = '[[1,"1/2",0],["1/2",1,"1/4"],[0,"1/4",1]]'
    record = answer("integral", "i3", "--activation", "softplus", "--covariance", covariance)
    rules = [step["rule"] for step in record["steps"]]
    assert rules == ["conditioning", "normals", "quadrature", "enclosure"]
    assert record["certified"] is True


def test_without_numbers_there_are_steps_but_no_value() -> None:
    record = answer("integral", "i2", "--activation", "tanh")
    assert record["closed_form"] is None
    assert record["value"] is None
    assert record["certified"] is False
    assert "c11, c12, c22" in record["method"]


def test_a_batch_goes_on_after_a_value_that_was_too_expensive() -> None:
    lines = [
        '{"expr": "tanh(x)*atan(y)", "covariance": [[1,0.5],[0.5,1]], "digits": 12}',
        '{"expr": "tanh(x)", "covariance": [[1]], "mean": [0.5]}',
    ]
    with mock.patch("symderiv.precision.quadrature.numeric_mean.MAX_EVALUATIONS", 500):
        first, second = batch(*lines)
    assert "12 digits were asked for" in first["error"]
    assert second["certified"] is True
    assert second == answer("expect", "tanh(x)", "--covariance", "[[1]]", "--mean", "[0.5]")


# -- batches -------------------------------------------------------------------------------


def batch(*lines: str | bytes, arguments: tuple[str, ...] = ("expect",)) -> list[dict[str, Any]]:
    """The records that a batch prints, one per line."""
    text = b"".join((x.encode() if isinstance(x, str) else x) + b"\n" for x in lines)
    result = run(*arguments, "--batch", "-", stdin=text)
    assert result.returncode == 0, result
    assert result.stderr == ""
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(records) == len(lines)
    return records


def test_a_batch_answers_line_by_line_in_order_and_survives_bad_lines() -> None:
    good = '{"expr": "erf(x)*y", "covariance": [[1,0.5],[0.5,2]], "mean": [0,0], "digits": 20}'
    third = '{"integral": "i3", "activation": "erf", "covariance": [[1,0,0],[0,1,0.5],[0,0.5,1]]}'
    bad = [
        "",
        "not json",
        "[]",
        "3",
        "{}",
        '{"expr": "x"}',
        '{"expr": [3], "covariance": [[1]]}',
        '{"expr": "x", "covariance": [[1]], "covariance": [[2]]}',
        '{"expr": "x", "integral": "i2", "covariance": [[1]]}',
        '{"expr": "x", "covariance": [[1]], "meen": [0]}',
        '{"expr": "x", "covariance": [[1]], "digits": 1.5}',
        '{"expr": "x", "covariance": [[1]], "digits": true}',
        '{"expr": "x", "covariance": [[1]], "digits": null}',
        '{"expr": "x", "covariance": [[NaN]]}',
        '{"expr": "x", "covariance": [[-1]]}',
        '{"expr": "x*z", "covariance": [[1]]}',
        '{"expr": "tanh(x*x1**2*y)", "covariance": [[1, 0], [0, 1]]}',
        '{"integral": "i2", "activations": [[1], [2]]}',
        '{"integral": 2, "activation": "erf"}',
        '{"integral": "i2", "activation": ["erf"]}',
        "[" * 100_000,
        '{"expr": "' + "(" * 100_000 + '", "covariance": [[1]]}',
        '{"expr": "x", "covariance": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"expr": "\\ud800", "covariance": [[1]]}',
        b"\xff\xfe",
        b'{"expr": "x\x00", "covariance": [[1]]}',
    ]
    records = batch(good, *bad, third, good)
    assert "error" not in records[0]
    assert records[0] == records[-1]
    assert len(records[0]["value"].lstrip("0.")) == 20
    assert records[-2]["integral"] == "i3"
    for line, record in zip(bad, records[1:-2], strict=True):
        assert list(record) == ["error"], line[:80]
        assert "internal" not in record["error"], line[:80]
        assert "\n" not in record["error"]


def test_a_batch_record_is_the_json_of_the_command() -> None:
    (record,) = batch('{"expr": "sin(x)*y", "covariance": [[1, 0.1], [0.1, 1]], "digits": 25}')
    single = answer("expect", "sin(x)*y", "--covariance", "[[1,0.1],[0.1,1]]", "--digits", "25")
    assert record == single


def test_options_stand_in_for_keys_that_a_line_leaves_out() -> None:
    lines = ('{"covariance": [[1,0.5],[0.5,1]]}', '{"integral": "i2", "activation": "relu"}')
    arguments = ("integral", "i3", "--activation", "erf", "--digits", "7")
    first, second = batch(lines[0], lines[1], arguments=arguments)
    assert "must be 3 x 3" in first["error"]
    assert second["activations"] == ["x*Heaviside(x)"] * 2


def test_an_unexpected_failure_does_not_stop_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ['{"expr": "x", "covariance": [[1]]}'] * 3
    calls = iter([RecursionError("deep"), MemoryError(), ZeroDivisionError("why")])

    def fails(request: object) -> None:
        raise next(calls)

    monkeypatch.setattr(batches, "answer", fails)
    errors = [record["error"] for record in batch(*lines)]
    assert all(error.startswith("internal error: ") for error in errors)


@given(st.lists(st.binary(max_size=60).filter(lambda b: b"\n" not in b), max_size=5))
@settings(max_examples=50, deadline=None)
def test_arbitrary_bytes_never_stop_a_batch(lines: list[bytes]) -> None:
    assert all("error" in record for record in batch(*lines))


def test_arbitrary_requests_never_stop_a_batch() -> None:
    rng = random.Random(7)
    junk = ["x", "9**9**9", "", None, 3, 1.5, True, [], [[1]], [["c"]], {"a": []}, "i2", "erf", -1]
    keys = ["expr", "integral", "activation", "activations", "covariance", "mean", "digits", "no"]
    lines = []
    for _ in range(150):
        chosen = rng.sample(keys, rng.randint(0, 5))
        lines.append(json.dumps({key: rng.choice(junk) for key in chosen}))
    for line, record in zip(lines, batch(*lines), strict=True):
        assert "internal" not in record.get("error", ""), (7, line)


def test_a_batch_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"
    assert "--batch" in refused("expect", "--batch", str(missing))
    assert "--batch" in refused("integral", "--batch", str(tmp_path))
    assert "--batch" in refused("integral", "--batch", "a\0b")


# -- as a program --------------------------------------------------------------------------


def test_the_program_prints_json_alone_and_exits_with_zero() -> None:
    words = ("integral", "i2", "--activation", "linear", "--json")
    done = python("from symderiv.cli import main; main()", *words)
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["closed_form"] == "c12"


def test_a_batch_file_is_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text('{"expr": "x*y", "covariance": [[1,0.5],[0.5,1]]}\n\n{"integral": "i9"}')
    done = run("expect", "--batch", file)
    assert done.returncode == 0
    first, second, third = (json.loads(line) for line in done.stdout.splitlines())
    assert first["closed_form"] == "1/2"
    assert "error" in second
    assert "error" in third
