"""The command check: verdicts, exit codes, what is printed back, and what is refused."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.commands import refused, symderiv

I2 = r"\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}"
KEYS = {"verdict", "max_relative_error", "counterexample", "correct_form", "statement", "formula"}


run = partial(symderiv, "check")


def record(*arguments: str, code: int = 0) -> dict[str, Any]:
    ended, out, err = run(*arguments, "--json")
    assert (ended, err) == (code, "")
    (line,) = out.splitlines()
    found = json.loads(line)
    assert found.keys() >= KEYS
    return dict(found)


def test_a_right_formula_holds_and_the_statement_is_printed_back() -> None:
    found = record("i2", "--activation", "erf", "--formula", I2)
    assert found["verdict"] == "holds"
    assert found["counterexample"] is None
    assert found["max_relative_error"] < 1e-25
    assert found["symbolic_identity"] is True
    assert found["statement_text"].startswith("E[g(u)*g(v)] = ")
    assert "g(x) = erf(x/sqrt(2))" in found["statement_text"]
    assert r"\mathbb{E}" in found["statement"]
    assert sum(kind["total"] for kind in found["points"]) >= 20


def test_a_wrong_formula_exits_with_one_and_shows_both_values() -> None:
    found = record("i2", "--activation", "erf", "--formula", "2*" + "asin(c12)/pi", code=1)
    assert found["verdict"] == "fails"
    example = found["counterexample"]
    assert example["formula"] != example["expectation"]
    assert len(example["expectation"].replace("-", "").replace("0.", "")) >= 30
    assert found["correct_form"] == "2*asin(c12/(sqrt(c11 + 1)*sqrt(c22 + 1)))/pi"
    # the form named right is right
    again = record("i2", "--activation", "erf", "--formula", found["correct_form"])
    assert again["verdict"] == "holds"
    latex = record("i2", "--activation", "erf", "--formula", found["correct_form_latex"])
    assert latex["verdict"] == "holds"


def test_the_text_output_names_the_failure() -> None:
    code, out, err = run("i2", "--activation", "erf", "--formula", "4/pi*asin(c12/(1+c11))")
    assert (code, err) == (1, "")
    labels = ("verdict", "first failure", "covariance", "correct form", "equal at")
    assert all(label in out for label in labels)
    code, out, _ = run("i2", "--activation", "erf", "--formula", I2)
    assert code == 0
    assert "tidies to zero" in out


def test_definitions_stand_in_the_formula_or_beside_it() -> None:
    root = r"\frac{2}{\pi}\arcsin\frac{C_{uv}}{\sqrt{A_1 A_2}}"
    inside = record("i2", "--activation", "erf", "--formula", f"A_1=1+C_11;A_2=1+C_{{22}};{root}")
    words = ("--where", "A_1=1+C_{11}", "--where", "A_2 = 1+c22")
    beside = record("i2", "--activation", "erf", "--formula", root, *words)
    assert inside["verdict"] == beside["verdict"] == "holds"
    assert beside["definitions"] == {"A1": "c11 + 1", "A2": "c22 + 1"}


def test_any_expectation_with_symbols_of_ones_own() -> None:
    orthant = r"\frac14+\frac{\arcsin(r)}{2\pi}"
    covariance = '[[1,"r"],["r",1]]'
    expr = "Heaviside(x)*Heaviside(y)"
    assert record(expr, "--covariance", covariance, "--formula", orthant)["verdict"] == "holds"
    # an entry may be named by its place
    entry = orthant.replace("r)", "C_{12})")
    assert record(expr, "--covariance", covariance, "--formula", entry)["verdict"] == "holds"
    third = record(expr, "--covariance", '[[1,"1/2"],["1/2",1]]', "--formula", r"\frac13")
    assert third["verdict"] == "holds"
    assert record("x1**2*x2**2", "--formula", "c11*c22+2*C_{12}^2")["verdict"] == "holds"
    assert record("x**4", "--formula", "-3*c11**2", code=1)["suggestion"]


def test_one_activation_per_slot() -> None:
    found = record(
        "i2", "--activations", "erf,linear", "--formula", r"\sqrt{2/\pi}c12/\sqrt{1+c11}"
    )
    assert found["verdict"] == "holds"


@pytest.mark.parametrize(
    ("arguments", "piece"),
    [
        (("i2", "--activation", "erf", "--formula", r"\frac{1}{C_{13}}"), "'C_{13}'"),
        (("i2", "--activation", "erf", "--formula", "__import__('os')"), "--formula"),
        (("i2", "--activation", "erf", "--formula", ""), "empty"),
        (("i2", "--formula", "1"), "--activation"),
        (("i2", "--activation", "nonsense(x)", "--formula", "1"), "nonsense"),
        (("x*y", "--activation", "erf", "--formula", "1"), "--activation: is allowed with"),
        (("x*y", "--covariance", "[[1]]", "--formula", "1"), "covariance has only 1 field"),
        (("x*y", "--covariance", "[[1,2],[2,1]]", "--formula", "1"), "not positive semidefinite"),
        (("x*y", "--covariance", "[[1", "--formula", "1"), "--covariance: is not JSON"),
        (("1/x", "--formula", "1"), ""),
        (("i2", "--activation", "erf"), "--formula"),
        (("i2", "--activation", "erf", "--formula", "x", "--where", "y"), "NAME = FORMULA"),
        (("x*y", "--covariance", '[[-1,"r"],["r",1]]', "--formula", "r"), "covariance"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments: tuple[str, ...], piece: str) -> None:
    assert piece in refused("check", *arguments)


@pytest.mark.turns(6)
def test_the_example_of_the_help_runs() -> None:
    program = [str(Path(sys.executable).with_name("symderiv")), "check"]
    shown = subprocess.run([*program, "--help"], capture_output=True, text=True, check=True)
    assert I2 in shown.stdout.replace("\n", "")
    example = ["i2", "--activation", "erf", "--formula", I2]
    ended = subprocess.run([*program, *example], capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert "holds" in ended.stdout
