"""Formulas that must be refused, quickly, with one line and nothing but a FormulaError."""

import contextlib
import time

import pytest
import sympy as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.hostile_formulas import NOT_FORMULAS, TOO_LARGE

from symderiv.formula import activation, evaluate_scalar, parse_formula
from symderiv.foundation.errors import FormulaError

#: Generous for a loaded machine; everything here takes milliseconds.
SECONDS = 5.0


def read_or_refuse(text: str) -> sp.Expr | str:
    """The expression, or the message of the refusal; anything else is a failure."""
    start = time.process_time()
    try:
        result = parse_formula(text, ["x", "y", "z"])
        # what is accepted must also be cheap to print and to ask about
        assert str(result)
        assert result.free_symbols <= set(sp.symbols("x y z", real=True))
    except FormulaError as error:
        result = str(error)
        assert result
        assert len(result) < 500
        assert result.isascii()
        assert result.isprintable()
    assert time.process_time() - start < SECONDS
    return result


@pytest.mark.parametrize("text", list(NOT_FORMULAS), ids=ascii)
def test_what_is_no_formula_is_refused_by_name(text: str) -> None:
    with pytest.raises(FormulaError, match=NOT_FORMULAS[text]):
        parse_formula(text, ["x", "y", "z"])
    assert isinstance(read_or_refuse(text), str)


@pytest.mark.parametrize("text", TOO_LARGE, ids=lambda t: ascii(t[:25]))
def test_what_grows_beyond_bounds_is_refused_quickly(text: str) -> None:
    assert isinstance(read_or_refuse(text), str)


LARGE_BUT_FINE = [
    "+".join(["x"] * 999),
    "(x+y+z+1)**100",
    "+".join(f"0.12345678901234567*x**{k}" for k in range(40)),
    "gelu(gelu(gelu(gelu(gelu(gelu(x))))))",
    "sqrt(" * 25 + "x" + ")" * 25,
    "tanh(" * 25 + "x" + ")" * 25,
    "Abs(x+y*sin(x)+" * 24 + "1" + ")" * 24,
    "Max(" * 24 + "x" + "".join(f",x+y*{i})" for i in range(24)),
    "exp(x+" * 24 + "1" + ")" * 24,
    "log(1+" * 24 + "x**2" + ")" * 24,
    "cos(pi*" + "9" * 300 + "/7)",
    "(" + "7" * 150 + ")**(1/97)",
    "*".join(f"({p}+x)**(1/{q})" for p in range(2, 12) for q in range(2, 12)),
    "sign(sqrt(2)+sqrt(3)-sqrt(5+2*sqrt(6)))",
    "1e-400*x",
    "9" * 999,
]


@pytest.mark.parametrize("text", LARGE_BUT_FINE, ids=lambda t: ascii(t[:25]))
def test_what_is_large_but_bounded_is_read_quickly(text: str) -> None:
    assert isinstance(read_or_refuse(text), sp.Expr)


WORDS = """** // 1e9 0.1 10**6 9**9 pi E sqrt( exp( log( Max( abs( sign( gelu( erf( tanh(
    DiracDelta( lambda _ __x 1j"""


_PIECES = st.sampled_from([*"xyz()+-*/,^. 0129", *WORDS.split()])


def _grammar() -> st.SearchStrategy[str]:
    """Well-formed formulas with nasty numbers, so that bounds and SymPy are reached."""
    numbers = ["0", "1", "2", "1/3", "0.5", "99", "1e6", "10**20", "1e300", "1e-300", "-7", "pi"]
    leaves = st.one_of(st.sampled_from(["x", "y", "z"]), st.sampled_from(numbers))
    functions = ["exp", "log", "sqrt", "abs", "sign", "sin", "tanh", "erf", "gelu", "Heaviside"]

    def grown(child: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(child, st.sampled_from(["+", "-", "*", "/", "**"]), child).map(
                lambda t: f"({t[0]}){t[1]}({t[2]})"
            ),
            st.tuples(st.sampled_from(functions), child).map(lambda t: f"{t[0]}({t[1]})"),
            st.tuples(child, child).map(lambda t: f"Max({t[0]},{t[1]})"),
        )

    return st.recursive(leaves, grown, max_leaves=10)


@given(st.one_of(st.text(max_size=60), st.lists(_PIECES, max_size=30).map("".join), _grammar()))
@settings(max_examples=1200, deadline=None)
@example("Max(log(x),0)")
@example("sign(1/x)**(1/2)")
def test_arbitrary_text_is_read_or_refused(text: str) -> None:
    read_or_refuse(text)
    for attempt in (
        lambda: evaluate_scalar(text, {"x": 3, "y": -0.25, "z": 0}),
        lambda: activation(text).expression,
    ):
        start = time.process_time()
        with contextlib.suppress(FormulaError):
            attempt()
        assert time.process_time() - start < SECONDS


@pytest.mark.parametrize("value", [None, 3, b"x", ["x"], 1.5])
def test_what_is_not_text_is_refused(value: str) -> None:
    with pytest.raises(FormulaError, match="must be text"):
        parse_formula(value, ["x"])
