"""The command ``symderiv asymptotics``."""

import json

import pytest
from support.commands import refused, symderiv

SMALL = ["--units", "2", "--distinct-eigenvalues", "8", "--exponent", "1"]


def run(*arguments):
    return symderiv("asymptotics", *arguments)


def test_json_has_the_promised_keys_and_all_rates(tmp_path):
    figure = tmp_path / "a.svg"
    done = run(*SMALL, "--learning-rate", "0.1", "--json", "--plot", str(figure))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["rates"]) == 4 * 8
    assert sum(len(group["rates"]) for group in found["groups"]) == 4 * 8
    assert {"matrices", "generalization_error", "exponent", "critical_learning_rate"} <= set(found)
    assert [len(found["matrices"][name]) for name in "GHF"] == [4, 4, 4]
    assert found["stable"]
    assert figure.stat().st_size > 1000


def test_full_order_reports_instability_with_a_negative_rate():
    done = run(*SMALL, "--learning-rate", "6", "--full", "--alpha", "0,1")
    assert done.returncode == 0, done.stderr
    assert "unstable" in done.stdout
    assert "η² terms" in done.stdout


def test_an_unstable_linearisation_has_no_late_error_and_no_warning():
    words = (*SMALL, "--learning-rate", "9", "--full", "--alpha", "1,100,1000")
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "unstable: η = 9 is not below it" in done.stdout
    assert "α =" not in done.stdout.split("unstable")[1]
    found = json.loads(run(*words, "--json").stdout)
    assert found["generalization_error"] is None
    assert not found["stable"]
    assert "deviations grow" in refused("asymptotics", *words, "--plot", "never.svg")


def test_a_rate_above_the_bound_is_said_to_be_so_without_the_quadratic_terms():
    assert "η = 9 is not below it" in run(*SMALL, "--learning-rate", "9").stdout
    assert "not below" not in run(*SMALL, "--learning-rate", "1").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--exponent", "-1"], "--exponent"),
        (["--units", "1"], "--units: 1 is below 2"),
        (["--D1", "1"], "--D1: 1 is outside (-1, 1)"),
        (["--T1", "-2"], "--T1"),
        (["--alpha", "1,x"], "--alpha"),
        (["--alpha", "1,nan"], "--alpha"),
        (["--learning-rate", "inf"], "--learning-rate"),
        (["--student-std", "nan"], "--student-std"),
        (["--learning-rate", "0"], "--learning-rate"),
        (["--activation", "relu"], "--activation"),
    ],
)
def test_bad_input_is_one_line_that_names_the_option(arguments, message):
    assert message in refused("asymptotics", *SMALL, *arguments)
