"""``symderiv plateau``: keys, digits, closed forms, refusals."""

import json
from functools import partial
from pathlib import Path

import pytest
import sympy as sp
from support.commands import refused, symderiv

run = partial(symderiv, "plateau")
MOMENTS = ("--T1", "1.3", "--D1", "0.2", "--T2", "2.5", "--D2", "-0.3")


def test_json_has_the_promised_keys_and_digits() -> None:
    code, out, err = run("--units", 3, "--learning-rate", "0.1", *MOMENTS, "--digits", 30, "--json")
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert {
        *("R", "Q", "generalization_error", "unstable_eigenvalue", "escape_time", "eigenvalues"),
        *("closed_forms", "matrices"),
    } <= set(record)
    values = {
        "M": 3,
        "T": sp.Rational(13, 10),
        "D": sp.Rational(1, 5),
        "T2": sp.Rational(5, 2),
        "D2": -sp.Rational(3, 10),
        "eta": sp.Rational(1, 10),
    }
    for name in ("R", "Q", "generalization_error", "unstable_eigenvalue", "escape_time"):
        number = sp.N(sp.sympify(record["closed_forms"][name], locals=values), 40)
        assert abs(sp.Float(record[name], 40) / number - 1) < sp.Float("1e-29", 40)
        digits = record[name].partition("e")[0].replace(".", "").replace("-", "").lstrip("0")
        assert len(digits) == 30


def test_the_spectrum_can_be_drawn(tmp_path: Path) -> None:
    figure = tmp_path / "spectrum.svg"
    power_law = ("--units", 3, "--distinct-eigenvalues", 4, "--exponent", 1)
    code, _, err = run(*power_law, "--plot", figure)
    assert (code, err) == (0, "")
    assert "<svg" in figure.read_text(encoding="utf-8")
    code, _, err = run(*power_law, "--plot", tmp_path / "spectrum.txt")
    assert code == 2
    assert "--plot" in err


def test_students_that_drift_apart_have_a_second_plateau() -> None:
    """relu: the plateau with Q > C is lower, and its escape is slower."""
    law = ("--distinct-eigenvalues", 4, "--exponent", "0.5", "--learning-rate", "0.2")
    _, out, _ = run("--units", 3, "--activation", "relu", *law, "--json")
    record = json.loads(out)
    apart = record["spread_plateau"]
    assert apart["Q"] > apart["C"] > 0
    assert apart["generalization_error"] < record["generalization_error"]
    assert 0 < apart["unstable_eigenvalue"] < record["unstable_eigenvalue"]
    assert record["warnings"]


def test_the_full_flow_is_added_on_demand_and_its_bound_is_named() -> None:
    isotropic = ("--T1", 1, "--D1", 0, "--T2", 1, "--D2", 0)
    _, out, _ = run("--units", 2, *isotropic, "--learning-rate", "0.5", "--full", "--json")
    record = json.loads(out)
    assert record["full_flow"]["Q"] > record["Q"] > record["full_flow"]["C"]
    line = refused("plateau", "--units", 2, *isotropic, "--learning-rate", 40)
    assert "--learning-rate: 40 is too large: the full flow has a stationary" in line


def test_cost_and_digits_do_not_depend_on_the_number_of_units() -> None:
    code, out, err = run("--units", 10**9, "--T1", 1, "--D1", 0, "--T2", 1, "--D2", 0, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["escape_time"] == pytest.approx(2e18 * 3.14159265358979, rel=1e-5)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--units", 1, *MOMENTS), "--units"),
        (("--units", 3, *MOMENTS[:4]), "--T2: is missing"),
        (("--units", 3, *MOMENTS, "--exponent", 1), "--exponent"),
        (("--units", 3, "--exponent", 1), "--distinct-eigenvalues"),
        (("--units", 3, "--distinct-eigenvalues", 4), "--exponent"),
        (("--units", 3, "--distinct-eigenvalues", 0, "--exponent", 1), "--distinct-eigenvalues"),
        (("--units", 3, "--distinct-eigenvalues", 4, "--exponent", -1), "--exponent"),
        (("--units", 3, "--T1", -1, *MOMENTS[2:]), "--T1"),
        (("--units", 3, "--T1", "1", "--D1", "2", "--T2", 1, "--D2", 0), "here between -1 and 2"),
        (("--units", 3, "--T1", "1", "--D1", "-1", "--T2", 1, "--D2", 0), "--D1"),
        (("--units", 3, "--T1", "1", "--D1", "0", "--T2", 1, "--D2", 7), "--D2"),
        (("--units", 3, *MOMENTS, "--learning-rate", 0), "--learning-rate"),
        (("--units", 3, *MOMENTS, "--learning-rate", "x"), "--learning-rate"),
        (("--units", 3, *MOMENTS, "--learning-rate", "nan"), "--learning-rate"),
        (("--units", 3, "--T1", "oo", *MOMENTS[2:]), "--T1"),
        (("--units", 3, *MOMENTS, "--activation", "sin(x)/x"), "no closed form"),
        (("--units", 3, *MOMENTS, "--digits", 0), "--digits"),
        (("--units", 3, *MOMENTS, "--activation", "quadratic"), "--distinct-eigenvalues"),
        (("--units", 3, *MOMENTS, "--activation", "linear", "--full"), "--full"),
        (("--units", 3, *MOMENTS, "--activation", "sign"), "E[delta(s)**2] diverges"),
    ],
)
def test_bad_input_is_one_line_that_names_the_bound(
    arguments: tuple[object, ...], named: str
) -> None:
    assert named in refused("plateau", *arguments)
