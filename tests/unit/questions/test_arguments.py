"""What the questions take: numbers of every kind, and what is refused with which name."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from symderiv.api.questions.law import read_law
from symderiv.formula.exact_entries import EntryReader
from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.named_arguments import public


def entry(value: Any) -> sp.Expr:
    return EntryReader().entry(value, "covariance", "[0][0]")


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (1, "1"),
        (0.1, "1/10"),
        (-2.5e-7, "-1/4000000"),
        (5e-324, "5/" + "1" + "0" * 324),
        ("0.11", "11/100"),
        ("1/3", "1/3"),
        ("sqrt(2)", "sqrt(2)"),
        (Fraction(1, 3), "1/3"),
        (Fraction(0.1), "3602879701896397/36028797018963968"),
        (Decimal("0.1"), "1/10"),
        (np.float64(0.1), "1/10"),
        (np.float32(0.1), "1/10"),
        (np.float16(0.1), "1/10"),
        (np.int64(3), "3"),
        (np.uint8(200), "200"),
        (np.array(0.25), "1/4"),
        (sp.Float(0.1), "1/10"),
        (sp.Float("0.1", 40), "1/10"),
        (sp.Float("1e-12", 15), "1/1000000000000"),
        (sp.Rational(2, 7), "2/7"),
        (sp.pi, "pi"),
        (sp.Float(0.3) * sp.sqrt(2), "3*sqrt(2)/10"),
        (mpmath.mpf("0.1"), "1/10"),
    ],
    ids=repr,
)
def test_a_number_is_what_is_printed_for_it(value: Any, exact: str) -> None:
    assert str(entry(value)) == exact.replace(" ", "") or entry(value) == sp.Rational(exact)


NOT_A_NUMBER = [
    *("nan", "NaN", "-nan", "inf", "-inf", "+inf", "Infinity", "oo", "-oo", "zoo", "2*oo", "nan+1"),
    *("1e400", "None", "null", "true", "Sin", "EXP", "Pi", "PI", "e", "I", "i", "tan", "asin", ""),
    *("x1", "y", "1/0", "sqrt(-1)", "1 2", 1e400, -math.inf, math.nan, np.nan, np.float32("inf")),
    *(sp.nan, sp.oo, -sp.oo, sp.zoo, sp.I, sp.Symbol("nan"), sp.Symbol("oo"), sp.Symbol("x1")),
    *(sp.Symbol("k", imaginary=True), sp.true, Decimal("NaN"), Decimal("-Infinity")),
    *(Decimal("1e5000"), 10**400, 10**100000, mpmath.inf, mpmath.nan, mpmath.mpf("nan"), 1j),
    *(np.complex128(1), True, np.True_, None, b"1", object(), [1], {"a": 1}, np.ma.masked),
]


@pytest.mark.parametrize("value", NOT_A_NUMBER, ids=lambda v: type(v).__name__)
def test_what_is_no_number_is_refused_with_its_place(value: Any) -> None:
    for name, arguments in {
        "covariance[0][1]": ([[1, value], [value, 1]], None),
        "mean[1]": ([[1, 0], [0, 1]], [0, value]),
    }.items():
        with pytest.raises(InputError) as caught:
            sd.mean("x*y", *arguments)
        message = str(caught.value)
        assert message.startswith(f"{name}: "), message
        assert "\n" not in message
        assert len(message) < 300
        assert caught.value.argument == name.partition("[")[0]


@pytest.mark.parametrize(
    "digits", [0, -1, 1001, 10**30, 1.5, 15.0, math.nan, "nan", "x", None, True]
)
def test_digits_are_a_whole_number(digits: Any) -> None:
    with pytest.raises(InputError) as caught:
        sd.mean("x", [[1]], digits=digits)
    assert caught.value.argument == "digits"


def test_arrays_matrices_and_lists_are_the_same_law() -> None:
    rows = [[1.0, 0.5], [0.5, 2.0]]
    given = [
        rows,
        tuple(map(tuple, rows)),
        np.array(rows),
        np.array(rows, dtype=np.float32),
        sp.Matrix([[1, sp.Rational(1, 2)], [sp.Rational(1, 2), 2]]),
        np.array(rows, object),
        [np.array(row) for row in rows],
    ]
    laws = [
        read_law(covariance, mean)
        for covariance in given
        for mean in (
            [0.25, 1],
            np.array([0.25, 1]),
            sp.Matrix([sp.Rational(1, 4), 1]),
            np.array([[0.25], [1]]),
        )
    ]
    assert len({(law.covariance, law.mean) for law in laws}) == 1


@pytest.mark.parametrize(
    "covariance",
    [
        *(1, "abc", [], [[]], [1], [[1, 2]], [[1, 0], [0]], np.ones((2, 3)), np.ones((2, 2, 2))),
        *(np.float64(1.0), None, [[1, 2], [2, 1]], [[1, 0.2], [0.3, 1]], [[0, 1], [1, 1]], {}),
        *(np.eye(50), [[-1]]),
    ],
    ids=lambda v: ascii(str(v)[:15]),
)
def test_what_is_no_covariance_is_refused_by_name(covariance: Any) -> None:
    with pytest.raises(InputError) as caught:
        sd.mean("x", covariance)
    assert caught.value.argument == "covariance"


def test_answers_are_in_the_symbols_that_were_given() -> None:
    q, c = sp.symbols("q c")  # of no known sign
    r = sp.Symbol("r", positive=True)
    found = sd.i2("erf", "relu", [[q, c], [c, r]])
    assert found.closed_form.free_symbols == {q, c}
    assert sp.simplify(found.closed_form - c / sp.sqrt(2 * sp.pi * (1 + q))) == 0
    mixed = sd.mean("abs(x)*y**2", [[q, 0], ["0", "s"]])
    assert mixed.closed_form.free_symbols == {q, sp.Symbol("s", positive=True)}


def test_two_symbols_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match=r"covariance\[0\]\[1\]: two different symbols"):
        sd.mean("x*y", [[sp.Symbol("c"), sp.Symbol("c", real=True)], [0, 1]])


def test_functions_are_texts_or_sympy_expressions() -> None:
    x, y, t = sp.symbols("x y t")
    law = [[1, 0.5], [0.5, 2]]
    assert sd.mean(sp.erf(x) * y, law).to_dict() == sd.mean("erf(x)*y", law).to_dict()
    half = sd.i2(sp.erf(t / 2), covariance=law)
    assert half.value == sd.i2("erf(x/2)", covariance=law).value
    assert sd.i2(sd.activation("erf")).closed_form == sd.i2("erf", "erf").closed_form
    assert sd.i2(0.5 * t, covariance=law).closed_form == sp.Rational(1, 8)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: sd.mean("x*q", [[1]]), "expression"),
        (lambda: sd.mean(sp.Symbol("q"), [[1]]), "expression"),
        (lambda: sd.mean(sp.oo, [[1]]), "expression"),
        (lambda: sd.mean("x2", [[1]]), "expression"),
        (lambda: sd.mean(None, [[1]]), "expression"),
        (lambda: sd.i2("nothing"), "g"),
        (lambda: sd.i2("erf", "x^2"), "h"),
        (lambda: sd.i2(None), "g"),
        (lambda: sd.i2("erf", np.eye(2)), "h"),
        (lambda: sd.i4("erf", "erf"), "k"),
        (lambda: sd.i3("erf", covariance=[[1]]), "covariance"),
        (lambda: sd.i2(sp.Symbol("a") * sp.Symbol("x")), "g"),
        (lambda: sd.integral("i5", "erf"), "which"),
        (lambda: sd.integral("i2"), "activation"),
        (lambda: sd.integral("i2", activations="erf"), "activations"),
        (lambda: sd.integral("i2", activations=3), "activations"),
        (lambda: sd.mean("x", [[1]], mean=[1, 2]), "mean"),
        (lambda: sd.mean("x", [[1]], mean=3), "mean"),
        (lambda: sd.check("i2", "1"), "activation"),
        (lambda: sd.check("i2", "1+", "erf"), "formula"),
        (lambda: sd.check("x*q", "1"), "what"),
        (lambda: sd.check("x", "1", "erf"), "activation"),
        (lambda: sd.check("x", "1", covariance=[["nan"]]), "covariance"),
    ],
)
def test_errors_name_their_argument(call: Any, argument: str) -> None:
    with pytest.raises(SymderivError) as caught:
        call()
    assert caught.value.argument == argument, caught.value
    assert str(caught.value).startswith(argument)


PROBLEM = sd.Problem("erf", students=2, teachers=2, learning_rate=0.5, inputs=sd.Isotropic(100))


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: PROBLEM.fixed_points(starts="3"), "starts: must be a whole number, not '3'"),
        (lambda: PROBLEM.fixed_points(starts=[]), "starts: must be a whole number, not []"),
        (lambda: PROBLEM.fixed_points(follow=["eta"]), "follow: ['eta'] is not a dictionary such"),
        (lambda: PROBLEM.fixed_points(follow={"learning_rate": 3}), "3 is not two numbers such"),
        (lambda: PROBLEM.best("learning_rate", between="12"), "between: '12' is not two numbers"),
        (
            lambda: PROBLEM.best("learning_rate", between=(2, 1)),
            "2 and 1 are not finite numbers, the",
        ),
        (lambda: PROBLEM.plateau(digits=2.5), "digits: must be a whole number, not 2.5"),
        (lambda: PROBLEM.plateau(digits=np.eye(2)), "digits: must be a whole number, not array("),
        (lambda: PROBLEM.solve(end=1, sensitivities=[1]), "must be a list of texts, not [1]"),
        (lambda: PROBLEM.solve(end=1, points=2).save(3), "path: must be a path, not 3"),
        (lambda: PROBLEM.map(3, seed=[1, 2], end=[1, 2]), "quantity: 3 is not one of final_error"),
        (lambda: PROBLEM.solve(end=1, events=3), "events: must be a list, not 3"),
        (
            lambda: PROBLEM.simulate(end=1, workers=0),
            "workers: must be a whole number of at least 1",
        ),
        (lambda: PROBLEM.simulate(end=1, workers=10**9), "workers: must be at most 1000, not"),
        (
            lambda: PROBLEM.ensemble(seed=range(300), end=1, threads=10**9),
            "threads: must be at most 1000, not",
        ),
        (lambda: PROBLEM.solve(end=1, initial="none.npz"), "initial: none.npz: No such file"),
    ],
)
def test_arguments_of_another_type_are_answered_in_a_line(call: Any, line: str) -> None:
    with pytest.raises(InputError) as refusal:
        call()
    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_error_that_no_argument_explains_is_not_hidden() -> None:
    @public
    def called(number: "int" = 1) -> None:
        raise TypeError(f"a defect at {number}")

    with pytest.raises(TypeError, match="a defect at 1"):
        called()
    with pytest.raises(InputError, match=r"number: must be a whole number, not 'a'"):
        called("a")  # type: ignore[arg-type]
