"""Formulas for expectations without a closed form: refuted, or right to so many digits.

The right formulas follow from symmetry and Stein's lemma, by hand: s(x) = 1/(1 + e^-x) is 1/2 plus
an odd function, so E[s] = 1/2 and E[s''] = 0.
"""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.commands import symderiv

import symderiv as sd
from symderiv.foundation.errors import DivergentError, ToleranceError

pytestmark = pytest.mark.turns(6)


RIGHT: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("sigmoid(x)", r"\frac12"), {}),
    (("x*softplus(x)", r"\frac{C_{11}}{2}"), {}),
    (("i2", r"\tfrac12 C_{uv}"), {"activations": ["silu", "linear"]}),
    (("i3", "c23/2"), {"activations": ["softplus", "linear"]}),
    (("softplus(x)*y-softplus(-x)*y", "c12"), {}),
    (("abs(x)/(1+abs(x))+1/(1+abs(x))", "1"), {}),
    (("sin(x)/x", r"\sqrt{\frac{\pi}{2 C_{11}}}\operatorname{erf}\sqrt{C_{11}/2}"), {}),
    (("softplus(x)-softplus(-x)", "0"), {}),
    (("tanh(x)*y", "0"), {"covariance": [["q", 0], [0, "r"]]}),
    (("sigmoid(x)", "1/2"), {"covariance": [[3]]}),
]


@pytest.mark.parametrize(("arguments", "keywords"), RIGHT, ids=lambda v: str(v)[:30])
def test_a_right_formula_holds_to_the_digits_reached(
    arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    found = sd.check(*arguments, **keywords)
    assert found.verdict == "holds", found.to_text()
    assert found.correct_form is None
    # an odd function has exactly the mean zero: no digits to count
    assert found.digits is None if arguments[1] == "0" else found.digits >= 14
    assert "quadrature" in found.to_dict()["method"]
    assert "FLINT" in found.to_text()
    if found.digits is not None:
        assert f"to {found.digits} digits" in found.to_text()


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        (("sigmoid(x)", r"\frac12+10^{-12}"), {}),
        (("x*softplus(x)", "c11/2+c11**2/10**9"), {}),
        (("i2", "c12/2"), {"activations": ["linear", "softplus"], "suggest": None}),
        (("i2", "c12/(1+c11)"), {"activation": "tanh"}),
        (("i3", "c23/2+c12*c13/10"), {"activations": ["softplus", "linear"]}),
        (
            ("i2", r"\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}"),
            {"activation": "tanh"},
        ),
        (("tanh(x)*tanh(y)", "1/10"), {"covariance": [[1, "1/3"], ["1/3", 1]]}),
    ],
    ids=str,
)
def test_a_wrong_formula_is_refuted_by_both_values(
    arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    if keywords.pop("suggest", "") is None:
        # softplus has an even part, of which v = linear sees nothing: this one is right
        assert sd.check(*arguments, **keywords).holds
        return
    found = sd.check(*arguments, **keywords)
    assert found.verdict == "fails"
    example = found.counterexample
    middle, _, bound = example.expectation.partition(" ± ")
    assert abs(Fraction(example.formula) - Fraction(middle)) > Fraction(bound or 0)


def test_the_value_of_the_counterexample_is_that_of_another_quadrature() -> None:
    found = sd.check("i2", "c12/(1+c11)", "tanh")
    example = found.counterexample
    (a, b), (_, c) = np.array(example.point.covariance, dtype=float)
    # the trapezoid rule on a grid that is fine for doubles
    s = np.arange(-9, 9, 0.05)
    root, slope, rest = np.sqrt(a), b / np.sqrt(a), np.sqrt(c - b * b / a)
    weight = np.exp(-(s**2) / 2) * 0.05 / np.sqrt(2 * np.pi)
    table = np.tanh(slope * s[:, None] + rest * s[None, :])
    value = weight @ (np.tanh(root * s) * (table @ weight))
    assert abs(value - float(example.expectation.partition(" ")[0])) < 1e-11
    assert abs(float(example.formula) - b / (1 + a)) < 1e-14


def test_a_factor_is_suggested() -> None:
    assert sd.check("x*softplus(x)", "c11").found.suggestion == (
        "the formula is 2 times the expectation"
    )
    assert "1.0000000002" in sd.check("sigmoid(x)", "0.5000000001").found.suggestion


def test_four_fields_are_decided_too() -> None:
    right = sd.check("i4", "C_{34}/2", activations=["softplus", "linear", "linear", "linear"])
    assert right.holds
    assert right.digits >= 4
    # one covariance: each takes seconds
    covariance = [
        [1, "1/3", "1/4", "1/5"],
        ["1/3", 1, "1/6", "1/4"],
        ["1/4", "1/6", 1, "1/3"],
        ["1/5", "1/4", "1/3", 1],
    ]
    isserlis = "1/9+1/16+1/30"
    wrong = sd.check("tanh(x)*tanh(y)*tanh(z)*tanh(w)", isserlis, covariance=covariance)
    assert wrong.verdict == "fails"


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(DivergentError, match="not integrable"):
        sd.check("cos(x)/x", "1")
    with pytest.raises(ToleranceError, match="at 0 covariances only"):
        sd.check("1/sqrt(abs(x))", "1", covariance=[[0]])


def test_the_command_prints_verdict_and_digits() -> None:
    arguments = ["check", "i2", "--activations", "silu,linear", "--formula", r"\frac{C_{12}}{2}"]
    shown = symderiv(*arguments)
    assert shown.returncode == 0
    assert "holds" in shown.stdout
    record = json.loads(symderiv(*arguments, "--json").stdout)
    assert record["correct_form"] is None
    assert record["digits"] >= 14
    wrong = symderiv(*arguments[:-1], "c12/3", "--json")
    assert wrong.returncode == 1
    assert json.loads(wrong.stdout)["counterexample"]["expectation"]
