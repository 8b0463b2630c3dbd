"""Equations as SymPy expressions and as a function that SciPy integrates."""

import pickle

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import symderiv as sd
from symderiv.foundation.errors import InputError

WHEN = [1.0, 5.0, 20.0]
PLAIN = sd.Problem("erf", students=2, teachers=2, learning_rate=0.5, seed=3)
PROBLEMS = {
    "plain": PLAIN,
    "eigenvalues": PLAIN.replace(inputs=sd.PowerLaw(4, exponent=0.5, dimension=200)),
    "second layer": PLAIN.replace(train_second_layer=True, second_layer_learning_rate=0.3),
    "biases": PLAIN.replace(
        activation="linear", student_biases=0.1, train_biases=True, bias_learning_rate=0.2
    ),
}


@pytest.mark.days(2)
@pytest.mark.parametrize("which", PROBLEMS)
def test_scipy_finds_the_run_that_solve_finds(which: str) -> None:
    problem = PROBLEMS[which]
    f = problem.rhs()
    assert len(f.names) == f.initial.size
    found = solve_ivp(f, (0, WHEN[-1]), f.initial, "DOP853", WHEN, rtol=1e-10, atol=1e-13)
    run = problem.solve(alpha=WHEN)
    arrays = f.unpack(found.y)
    for name in ("Q", "R", "v", "student_overlap", "cross_overlap"):
        np.testing.assert_allclose(arrays[name], getattr(run, name), rtol=1e-6, atol=1e-9)
    if which == "biases":
        np.testing.assert_allclose(arrays["b"], run.b, rtol=1e-6)


def test_entries_have_the_names_of_their_places() -> None:
    f = PROBLEMS["eigenvalues"].rhs()
    arrays = f.unpack(f.initial)
    for name, value in zip(f.names, f.initial, strict=True):
        field, _, place = name.rstrip("]").partition("[")
        assert arrays[field][tuple(int(n) - 1 for n in place.split(","))] == value
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again(0, f.initial), f(0, f.initial))


def test_states_are_packed_and_others_refused() -> None:
    f = PLAIN.rhs()
    T = PLAIN.solve(end=1).T
    Q, R = np.diag([0.5, 0.7]), np.array([[0.1, 0.0], [0.2, -0.1]])
    y = f.pack({"Q": Q, "R": R, "T": T})
    found = f.unpack(y)
    np.testing.assert_allclose(found["Q"], Q)
    np.testing.assert_allclose(found["R"], R)
    rates = PLAIN.rates(Q=Q, R=R, T=T)
    np.testing.assert_allclose(f.unpack(f(0, y))["R"], rates.dR, rtol=1e-13)
    with pytest.raises(InputError, match="other eigenvalues, teachers"):
        f.pack({"Q": Q, "R": R, "T": np.eye(2)})
    with pytest.raises(InputError, match="entries along its first axis"):
        f.unpack(np.zeros(3))
    with pytest.raises(InputError, match="more than the state"):
        PLAIN.replace(schedule="1/(1 + alpha)").rhs()


def test_one_equation_has_a_name_and_a_value() -> None:
    equations = PLAIN.equations
    assert equations["Q"] is equations["dQ"]
    assert equations["error"].left == r"\epsilon_g"
    assert {"dQ", "dR", "error", "A", "B", "Gamma"} <= set(equations.to_sympy())
    with pytest.raises(InputError, match="is not one of dQ, dR, error"):
        equations["S"]


def test_symbols_say_the_rates_of_a_linear_unit() -> None:
    """A linear unit by hand: dR/dα = η(T − R), dQ/dα = 2η(R − Q) + η²(Q − 2R + T)."""
    problem = sd.Problem("linear", students=1, teachers=1, learning_rate=0.3)
    found = problem.equations.to_sympy()
    numbers = {"Q": 0.4, "R": 0.3, "T": 1.0}
    values = {n: _number(found, found[n], numbers, 0.3) for n in ("dQ", "dR", "error")}
    assert values["dR"] == pytest.approx(0.3 * (1.0 - 0.3))
    assert values["dQ"] == pytest.approx(0.6 * (0.3 - 0.4) + 0.09 * (0.4 - 0.6 + 1.0))
    assert values["error"] == pytest.approx((0.4 - 0.6 + 1.0) / 2)


def _number(found: dict[str, sp.Expr], value: sp.Expr, numbers: dict[str, float], eta: float):
    """The number of an expression for one student, one teacher, unit weights and g(x) = x."""

    def name(part: sp.Basic) -> str:
        return part.func.__name__

    def overlap(first: sp.Expr, second: sp.Expr) -> float:
        return numbers[{"xx": "Q", "xy": "R", "yx": "R", "yy": "T"}[f"{first.base}{second.base}"]]

    for _ in range(3):
        value = value.replace(lambda e: isinstance(e, sp.Sum), lambda e: e.function)
        value = value.replace(
            lambda e: isinstance(e, sp.Indexed) and str(e.base) in found,
            lambda e: found[str(e.base)],
        )
    slopes = {0: None, 1: 1.0, 2: 0.0}
    value = value.replace(
        lambda e: "Activation" in name(e),
        lambda e: sp.Float(slopes[e.args[0]]) if e.args[0] > 0 else e,
    )
    value = value.replace(lambda e: name(e) == "Average", lambda e: e.args[0])
    value = value.replace(lambda e: name(e) == "I_2", lambda e: overlap(*e.args))
    value = value.replace(lambda e: name(e) == "I_4", lambda e: overlap(*e.args[2:]))
    value = value.replace(lambda e: name(e) == "KroneckerDelta", lambda e: sp.S.One)
    value = value.replace(
        lambda e: isinstance(e, sp.Indexed), lambda e: sp.Float(numbers.get(str(e.base), 1.0))
    )
    return float(value.subs(dict.fromkeys(value.free_symbols, eta)))


def test_notebooks_typeset_checks_and_exports() -> None:
    text = r"\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(2+C_{11})(1+C_{22})}}"
    wrong = sd.check("i2", text, "erf")
    page = wrong._repr_html_()
    # the statement and the correct form; only the first has the wrong root
    assert page.count("<math") == 2
    assert "fails" in page
    assert wrong._repr_latex_().startswith(r"$\displaystyle ")
    source = PLAIN.export("latex")
    assert source._repr_html_() is None
    assert source._repr_latex_().startswith(r"\begin{align*}")


def test_an_export_shows_its_text() -> None:
    source = PLAIN.export("c")
    shown = repr(source)
    first = next(line for line in source.to_source().splitlines() if line.strip())
    assert first[:60] in shown
    assert f"all {source.lines} lines" in shown
    page = source._repr_html_()
    assert page is not None
    assert "<pre><code>" in page
    assert "right_hand_side" in page
    # LaTeX is typeset instead
    assert PLAIN.export("latex")._repr_html_() is None
