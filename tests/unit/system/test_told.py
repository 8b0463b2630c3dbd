"""What a system tells of its derivation, and that no term of an update is dropped."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp
from unit.system import statements

import symderiv as sd
from symderiv.errors import SymderivError
from symderiv.system import census as census_of

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


@pytest.mark.parametrize("name", ["autoencoder", "differences"])
def test_a_census_without_one_of_its_terms_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    P, _ = ALL[name]()
    closed = P.solver.closed
    whole = census_of.census(closed)
    carrying = [n for n, term in enumerate(whole) if term.drift]
    original = census_of._terms
    for left_out in carrying[:4]:

        def fewer(*given: Any, out: int = left_out) -> Any:
            return (term for n, term in enumerate(original(*given)) if n != out)

        monkeypatch.setattr(census_of, "_terms", fewer)
        with pytest.raises(SymderivError, match="does not add up"):
            census_of.census(closed)


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


def test_conditions_follow_the_statement() -> None:
    plain = " ".join(statements.student_teacher().conditions)
    game = " ".join(statements.reinforcement()[0].conditions)
    free = " ".join(statements.components()[0].conditions)
    spectral = " ".join(statements.student_teacher(model=sd.Spectrum([2.0, 0.5])).conditions)
    assert "jump" in game
    assert "episode" in game
    assert "jump" not in plain
    assert "episode" not in plain
    assert "orthonormal" in free
    assert "eigenspaces" in spectral
    assert "eigenspaces" not in plain


def test_a_term_without_mean_is_named_with_its_reason() -> None:
    P = sd.System()
    x, z = P.inputs("x"), P.inputs("z")
    w, u = P.vectors("w"), P.scalars("u")
    P.update({w: sp.Rational(1, 2) * z - (w @ x) * x, u: (w @ x) ** 3})
    terms = {str(t.term): t for t in P.equations.census}
    assert "noise only" in terms["1/2"].reason
    assert "mean vanishes" in next(t.reason for t in terms.values() if t.target == u)
