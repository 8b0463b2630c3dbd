"""What a system tells of its derivation, and that no term of an update is dropped."""

from typing import Any

import pytest
import sympy as sp
from unit.system import statements

import symderiv as sd
from symderiv.foundation.errors import SymderivError
from symderiv.statement.stated_motion import Average
from symderiv.system import census as census_of
from symderiv.system.means.product_means import ProductMeans

ALL = {
    "autoencoder": statements.autoencoder,
    "reinforcement": statements.reinforcement,
    "components": statements.components,
    "differences": statements.differences,
}


@pytest.mark.parametrize("name", ALL)
def test_the_census_adds_up_and_names_every_term(name: str) -> None:
    P, _ = ALL[name]()
    terms = P.equations.census
    targets = {str(getattr(t.target, "name", t.target)) for t in terms}
    moving = {v.name for v in P.statement.vectors if v in P.solver.closed.drift}
    assert targets == moving
    assert all(bool(t.drift) != bool(t.reason) for t in terms)


def _on_a_sphere() -> tuple[sd.System, Any]:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: (B @ x) * x + (w @ x) ** 3 * x})
    P.constrain(w, "sphere")
    return P, None


def _without_closed_means() -> tuple[sd.System, Any]:
    P = sd.System()
    x, w, B = P.inputs("x", length=2), P.vectors("w"), P.vectors("B", fixed=True)
    z = w @ x
    share = 1 / (1 + sp.exp(z[1] - z[0] + w.dot(B)))
    P.descend((share * z[0] - B @ x[0]) ** 2 / 2, {w: P.parameter("eta", 0.4)})
    return P, None


@pytest.mark.parametrize(
    "state", [statements.autoencoder, statements.differences, _on_a_sphere, _without_closed_means]
)
def test_a_census_without_one_of_its_terms_is_refused(
    state: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # how well means are integrated does not matter, and is looked for in seconds
    monkeypatch.setattr(ProductMeans, "error", 0.0)
    closed = state()[0].solver.closed
    whole = census_of.census(closed)
    open_ones = any(rate.has(Average) for term in whole for rate in term.drift.values())
    assert open_ones == (state is _without_closed_means)
    carrying = [n for n, term in enumerate(whole) if term.drift]
    original = census_of._terms
    for left_out in carrying[:4]:

        def fewer(*given: Any, out: int = left_out) -> Any:
            return (term for n, term in enumerate(original(*given)) if n != out)

        monkeypatch.setattr(census_of, "_terms", fewer)
        with pytest.raises(SymderivError, match="does not add up"):
            census_of.census(closed)


@pytest.mark.turns(6)
def test_equations_are_told_in_words_latex_and_html() -> None:
    P = statements.student_teacher(K=2, M=2)
    told = P.equations
    text = told.to_text()
    for title in ("What is stated", "One step", "The motion", "Their means", "The census", "Cond"):
        assert title in text
    assert r"\frac{\mathrm{d} Q_{w_{1} B_{2}}}{\mathrm{d}\alpha}" in told.to_latex()
    assert "<math" in told._repr_html_()
    assert max(map(len, text.splitlines())) <= 100
    assert P.explain("w.B").startswith("The motion of w.B")
    state = statements.gram({"w": 2, "B": 2}, 2) | {"v": [0.4, 1.0]}
    assert "Rate at the state" in P.explain("v", state)


def test_a_term_without_mean_is_named_with_its_reason() -> None:
    P = sd.System()
    x, z = P.inputs("x"), P.inputs("z")
    w, u = P.vectors("w"), P.scalars("u")
    P.update({w: sp.Rational(1, 2) * z - (w @ x) * x, u: (w @ x) ** 3})
    terms = {str(t.term): t for t in P.equations.census}
    assert "noise only" in terms["1/2"].reason
    assert "mean vanishes" in next(t.reason for t in terms.values() if t.target == u)


def _moving_in_every_way() -> sd.System:
    """An ascent with a spectrum, noise from other tokens, decay along B and a sphere."""
    P = sd.System()
    x, z = P.inputs("x", sd.Spectrum([2.0, 0.5])), P.inputs("z", length=2)
    w, B, u = P.vectors("w", 2), P.vectors("B", fixed=True), P.scalars("u", 2)
    eta = P.parameter("eta", sp.Rational(1, 2))
    P.ascend((w @ x)[0] * (B @ x) * u[0], {w[0]: eta, u[0]: 3})
    P.update({w[1]: (w[0] @ z[0]) * z[1] - B / 2, u[1]: -u[1]})
    P.constrain(w[1], "sphere")
    return P


def test_equations_are_those_that_follow_by_hand() -> None:
    """Δw₁ = η u₁ (B·x) x, Δw₂ = (w₁·z₁) z₂ − B/2 brought back to its length."""
    back = (
        r"\left(\frac{Q_{w_{2} B}}{2} - \frac{\left\langle "
        r"\left(h^{z_{1}}_{w_{1}}\right)^{2} \right\rangle}{2}\right)"
    )
    wanted = {
        r"Q_{w_{1} w_{1}}": r"2 C^{x}_{w_{1} B} \eta u_{1} + \bar\rho_{x} \left\langle \eta^{2} "
        r"\left(h^{x}_{B}\right)^{2} u_{1}^{2} \right\rangle",
        r"Q_{w_{1} w_{2}}": r"C^{x}_{w_{2} B} \eta u_{1} - \frac{Q_{w_{1} B}}{2} + "
        rf"\frac{{Q_{{w_{{1}} w_{{2}}}} {back}}}{{Q_{{w_{{2}} w_{{2}}}}}}",
        r"Q_{w_{2} w_{2}}": "0",
        r"Q_{w_{1} B}": r"C^{x}_{B B} \eta u_{1}",
        r"Q_{w_{2} B}": r"- \frac{Q_{B B}}{2} + "
        rf"\frac{{Q_{{w_{{2}} B}} {back}}}{{Q_{{w_{{2}} w_{{2}}}}}}",
        r"u_{1}": r"\left\langle 3 h^{x}_{B} h^{x}_{w_{1}} \right\rangle",
        r"u_{2}": "- u_{2}",
    }
    lines = [
        rf"\frac{{\mathrm{{d}} {name}}}{{\mathrm{{d}}\alpha}} = {rate}"
        for name, rate in wanted.items()
    ]
    shown = _moving_in_every_way().equations
    assert shown._repr_latex_() == (r"$$\begin{gathered}" + r"\\".join(lines) + r"\end{gathered}$$")
    assert "w.w, w.B, B.B, u:" in repr(shown)


def _steps(P: sd.System, section: str) -> list[tuple[str, str, str]]:
    (found,) = (s for s in P.equations.derivation.sections if s.key == section)
    return [(step.statement, step.before, step.after) for step in found.steps]


def test_what_was_said_is_told_line_by_line() -> None:
    words, before, after = zip(*_steps(_moving_in_every_way(), "statement"), strict=True)
    assert words[0] == "Fresh Gaussian inputs x, Spectrum(eigenvalues=[2.0, 0.5])."
    assert words[1] == "Fresh Gaussian inputs z, 2 tokens, Isotropic()."
    assert [line.count(r"\rho_a") for line in after[:2]] == [1, 0]
    assert words[2] == (r"Ascend the loss by $w_{1}$ at the rate $\eta$, $u_{1}$ at the rate $3$.")
    assert after[2] == "h^{x}_{B} h^{x}_{w_{1}} u_{1}"
    assert (before[3], after[3]) == (
        r"\sqrt N\, \Delta w_{2}",
        r"h^{z_{1}}_{w_{1}} z_{2} - \frac{1}{2} \frac{B}{\sqrt N}",
    )
    assert (before[4], after[4]) == (r"N\, \Delta u_{2}", "- u_{2}")
    assert words[5] == "After each step the lengths of w2 are what they were."
    assert "Descend the loss" in _steps(statements.student_teacher(K=1), "statement")[1][0]
    assert "3 independent examples" in _steps(statements.reinforcement()[0], "statement")[0][0]
    assert "W1, W2 are made orthonormal" in _steps(statements.components()[0], "statement")[-1][0]


def test_a_step_is_told_by_its_factors_and_rules() -> None:
    (section,) = (
        s for s in _moving_in_every_way().equations.derivation.sections if s.key == "step"
    )
    assert {step.before: step.after for step in section.steps} == {
        "F_{w_{1}, x}": r"\eta h^{x}_{B} u_{1}",
        "F_{w_{2}, z_{2}}": "h^{z_{1}}_{w_{1}}",
        "G_{w_{2} B}": r"- \frac{1}{2}",
        "g_{u_{1}}": "3 h^{x}_{B} h^{x}_{w_{1}}",
        "g_{u_{2}}": "- u_{2}",
    }
    rules = {step.before: step.rule for step in section.steps}
    assert (rules["F_{w_{1}, x}"], rules["F_{w_{2}, z_{2}}"]) == ("gradient", "update")


def test_the_census_is_told_with_what_each_term_moves() -> None:
    words = [statement for statement, _, _ in _steps(_moving_in_every_way(), "census")]
    assert words[0] == "A term of the change of w1 along x: it moves it along B."
    assert words[1].startswith("A term of the change of w2 along z2 without drift: no field")
    assert words[2] == "A term of the change of w2 along B: it moves it along B."
    assert words[3] == "A term of the change of u1: it moves it."


def test_means_are_told_in_full() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.update({w: (sp.erf(B @ x) + sp.tanh(w @ x)) * (w @ x) * x})
    told = {before: (words, after) for words, before, after in _steps(P, "means")}
    means = P.solver.closed.means
    assert len(told) == len([*means.functions, *means.joints.names, *means.products.names])
    open_ones = [pair for before, pair in told.items() if not before.startswith("I")]
    assert any(r"\tanh" in after and "quadrature" in words for words, after in open_ones)
    for number, function in enumerate(means.functions.values(), 1):
        arguments = ", ".join(map(sp.latex, function.arguments))
        words, after = told[f"I_{{{number}}}({arguments})"]
        assert "closed form" in words
        # intermediate terms are written out
        assert not any(sp.latex(symbol) in after for symbol, _ in function.definitions)


def test_an_order_parameter_is_explained_with_its_rate() -> None:
    P = _moving_in_every_way()
    state = {"w.w": [[1, 0.2], [0.2, 1]], "w.B": [0.1, 0.2], "B.B": 1, "u": [0.1, 0.2]}
    told = P.explain("u", state)
    # two classes of equal weights and the mean eigenvalue 5/4
    assert "[ 0.375 -0.2  ]" in told
    assert "Rate at" not in P.explain("u")
    assert P.explain("w.B").count("[Stein]") == 2
    with pytest.raises(sd.InputError, match="not an order parameter"):
        P.explain("B.w")


def test_each_condition_stands_where_it_is_assumed() -> None:
    smooth = statements.student_teacher(K=1, M=1)
    _ = smooth.solver
    tokens = statements.differences()[0]
    said = {
        "jump": [statements.reinforcement()[0]],
        "3 examples": [statements.reinforcement()[0]],
        "coordinate by coordinate": [tokens],
        "sphere": [_moving_in_every_way()],
        "of x have common eigenspaces": [_moving_in_every_way()],
        "orthonormal: w_a": [statements.components()[0]],
    }
    every = [smooth, tokens, _moving_in_every_way()]
    every += [statements.reinforcement()[0], statements.components()[0]]
    for words, wanted in said.items():
        having = [any(words in c for c in P.conditions) for P in every]
        assert sum(having) == len(wanted), words
        assert any(words in c for c in wanted[0].conditions)
    still = sd.System()
    still.inputs("x")
    u = still.scalars("u")
    still.update({u: -u})
    assert len(still.conditions) == 2
    assert all("squared norm" in " ".join(P.conditions) for P in every)
