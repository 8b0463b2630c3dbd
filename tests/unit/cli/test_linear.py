"""The command ``symderiv linear``: keys, errors in one line, and numbers worked out by hand."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import refused, symderiv

from symderiv.foundation.errors import InputError

DIGITS = Path(__file__).parents[3] / "examples" / "digits-covariance.npz"
POWER_LAW = ["--distinct-eigenvalues", "5", "--exponent", "0.5", "--student-std", "0.5"]


linear = partial(symderiv, "linear")


def test_json_has_the_keys_of_the_interface() -> None:
    result = linear(*POWER_LAW, "--learning-rate", 0.8, "--alpha", "0,1,20", "--json").json
    assert {
        *("rates", "weights", "generalization_error", "small_learning_rate"),
        *("integral_approximation", "window", "digits_used"),
    } <= set(result)
    assert len(result["rates"]) == len(result["weights"]) == 5
    assert min(result["rates"]) > 0.0
    assert sum(result["weights"]) == pytest.approx(1.0, abs=1e-14)
    assert set(result["window"]) == {"lower", "upper"}
    late = result["small_learning_rate"][2] - result["integral_approximation"][2]
    assert abs(late) <= result["integral_error_bound"][2]
    assert result["integral_error_estimate"][2] == pytest.approx(late, rel=0.1)


@pytest.mark.parametrize("method", ["secular", "companion", "moments"])
def test_trained_directions_leave_the_rest_in_doubles_with_many_digits_and_at_n(
    method: str,
) -> None:
    words = (*POWER_LAW, "--learning-rate", 0.01, "--trainable", 2, "--json")
    double = linear(*words, "--alpha", "0,7,1e9", "--dimension", 50).json
    digits = linear(*words, "--alpha", "0,7", "--digits", 25, "--method", method).json
    ranks = np.arange(1, 6) ** -1.5
    frozen = 0.5 * 1.25 * ranks[2:].sum() / ranks.sum()
    assert double["small_learning_rate"][2] == pytest.approx(frozen, rel=1e-12)
    assert double["finite_dimension"] == pytest.approx(double["generalization_error"], rel=1e-5)
    assert len(double["rates"]) == 2
    for name in ("rates", "weights", "generalization_error", "small_learning_rate"):
        assert {type(value) for value in double[name]} == {float}
        assert {type(value) for value in digits[name]} == {str}
        assert [float(text) for text in digits[name]] == pytest.approx(double[name][:2], rel=1e-13)
    assert digits["digits_used"] > 25 <= digits["agreement_digits"]
    other = linear(*words, "--alpha", 0, "--basis", "random").json
    assert other["final_error"] > double["final_error"]


def test_the_covariance_of_a_file_in_both_bases(tmp_path: Path) -> None:
    options = ("--covariance", DIGITS, "--learning-rate", 0.01, "--alpha", "0,1", "--json")
    whole = linear(*options).json
    part = linear(*options, "--trainable", 20).json
    inputs = linear(*options, "--trainable", 20, "--basis", "input").json
    mean = float(np.trace(np.load(DIGITS)["covariance"])) / 64
    for result in (whole, part, inputs):
        assert result["generalization_error"][0] == pytest.approx(0.5 * mean, rel=1e-10)
        assert result["window"] is None
    assert part["final_error"] < inputs["final_error"]
    np.save(tmp_path / "bad.npy", np.ones((2, 3, 4)))
    words = ("--covariance", tmp_path / "bad.npy", "--learning-rate", 1, "--alpha", 1)
    assert "--covariance: bad.npy" in refused("linear", *words)


def test_the_text_and_the_figure(tmp_path: Path) -> None:
    figure = tmp_path / "error.svg"
    shown = linear(
        *POWER_LAW, "--learning-rate", 0.8, "--alpha", "1,10", "--dimension", 50, "--plot", figure
    )
    assert shown.returncode == 0
    assert "stable for η < 2" in shown.stdout
    assert "exact mean of SGD" in shown.stdout
    assert shown.stdout.splitlines()[-2].split()[0] == "10"
    assert shown.stdout.splitlines()[-1] == f"wrote {figure}"
    assert figure.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--learning-rate": 2.0}, "--learning-rate: 2 is not below the stability limit 2 "),
        ({"--learning-rate": -1}, "--learning-rate: -1.0 is not a positive number"),
        ({"--learning-rate": "nan"}, "--learning-rate: must be a number, not nan"),
        ({"--distinct-eigenvalues": 0}, "--distinct-eigenvalues: 0 is below 1"),
        ({"--distinct-eigenvalues": 10**10}, "--distinct-eigenvalues: 10000000000 are more than"),
        ({"--learning-rate": 1e-200}, "--learning-rate: 1e-200 is below 1e-100"),
        ({"--exponent": 300}, "--distinct-eigenvalues: the smallest is below 1e-60"),
        ({"--exponent": 0}, "--exponent: 0.0 is not a positive number"),
        ({"--exponent": None}, "--exponent: is missing"),
        ({"--student-std": -1}, "--student-std"),
        ({"--alpha": "1,x"}, "--alpha: '1,x'"),
        ({"--alpha": "-1"}, "--alpha: -1.0"),
        ({"--alpha": "inf"}, "--alpha: inf"),
        ({"--trainable": 6}, "--trainable: 6 is not between 1 and the 5"),
        ({"--dimension": 12}, "--dimension: 12 is not a multiple"),
        ({"--basis": "input"}, "--basis: input needs a covariance"),
        ({"--covariance": DIGITS}, "--exponent: is given together with covariance"),
        ({"--plot": "figure.txt"}, "--plot 'figure.txt'"),
    ],
)
def test_bad_input_is_one_line_that_names_the_option(
    changed: dict[str, object], message: str
) -> None:
    options: dict[str, object] = {
        "--distinct-eigenvalues": 5,
        "--exponent": 0.5,
        "--student-std": 0.5,
        "--learning-rate": 0.8,
        "--alpha": "1",
    } | changed
    words = [word for key, value in options.items() if value is not None for word in (key, value)]
    assert message in refused("linear", *words)


@pytest.mark.parametrize("name", ["digits", "working_digits"])
@pytest.mark.parametrize("value", [-1, 0, 10**9])
def test_digits_that_nobody_computes_with_are_refused_before_anything(
    name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import symderiv as sd
    from symderiv.analysis.linear import error_curve

    monkeypatch.setattr(error_curve, "generalization_error", None)
    options: Any = {name: value}
    with pytest.raises(InputError) as told:
        sd.linear(distinct_eigenvalues=8, exponent=1, learning_rate=0.5, alpha=[1.0], **options)
    assert told.value.argument == name
